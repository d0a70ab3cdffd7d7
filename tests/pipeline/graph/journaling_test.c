#include "pipeline/graph/journaling.h"

#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct component extension_journal, processor_correlation;
const struct component *const component_table[] = {&scripted_source,       &scripted_sink,
                                                   &scripted_holder,       &extension_journal,
                                                   &processor_correlation, NULL};

static struct given_runtime given;
static char directory[64];

/* A process that uses the directory. */
static void begin_with(const char *queue)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\n"
             "exporters: {sink: {retry_on_failure: {enabled: false}, sending_queue: {%s}}}\n"
             "extensions: {journal: {directory: '%s'}}\n"
             "service:\n  extensions: [journal]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n",
             queue, directory);
    given_start(&given, yaml);
}

static void begin(void)
{
    begin_with("");
}

static void make_directory(void)
{
    strcpy(directory, "/tmp/spanlink-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void remove_directory(void)
{
    DIR *list = opendir(directory);
    ck_assert_ptr_nonnull(list);
    for (struct dirent *file; (file = readdir(list));)
        unlinkat(dirfd(list), file->d_name, 0);
    closedir(list);
    rmdir(directory);
}

static void offer_to(const char *source, unsigned spans)
{
    struct answer answer;
    answer_init(&answer);
    source_offer(source, some_spans(0, spans, &given.runtime->budget), &answer);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
}

static void offer(unsigned spans)
{
    offer_to("source", spans);
}

static struct outcome fault;

static struct outcome refuse(const struct batch *batch, unsigned nth)
{
    (void)batch;
    (void)nth;
    return fault;
}

/* Whether data given up for a reason are offered again by the next process. */
static bool comes_again(enum verdict verdict, enum cause cause)
{
    make_directory();
    fault = outcome_of(verdict, cause, "no");
    sink_at(0)->script = refuse;
    begin();
    offer(7);
    while (meter_get(given_meter(&given, "sink"), METER_DROPPED, SIGNAL_TRACES) < 7)
        sched_yield(); /* what the stop leaves undecided is offered again anyway */
    given_stop(&given);
    sink_at(0)->script = NULL;
    sink_at(0)->delivered = 0;
    begin();
    struct journal_figures figures;
    journal_figures(given.runtime->journal, &figures);
    if (figures.live > 0)
        sink_wait_delivered(sink_at(0), 7);
    given_stop(&given);
    remove_directory();
    return sink_at(0)->delivered == 7;
}

START_TEST(what_was_given_up_for_want_of_memory_comes_again)
{
    ck_assert(comes_again(VERDICT_RETRY, CAUSE_MEMORY));
}
END_TEST

START_TEST(what_was_given_up_for_good_does_not)
{
    ck_assert(!comes_again(VERDICT_RETRY, CAUSE_UNAVAILABLE));
    ck_assert(!comes_again(VERDICT_REJECT, CAUSE_INVALID));
}
END_TEST

START_TEST(what_was_delivered_does_not)
{
    make_directory();
    begin();
    offer(3);
    sink_wait_delivered(sink_at(0), 3);
    given_stop(&given);
    begin();
    given_stop(&given);
    remove_directory();
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
}
END_TEST

static void begin_two(void)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "receivers: {source: , source/2: }\n"
             "exporters: {sink: {retry_on_failure: {enabled: false}}, sink/2: {slot: 1, "
             "retry_on_failure: {enabled: false}}}\n"
             "extensions: {journal: {directory: '%s'}}\n"
             "service:\n  extensions: [journal]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]},\n"
             "    traces/2: {receivers: [source/2], exporters: [sink/2]}}\n",
             directory);
    given_start(&given, yaml);
}

START_TEST(what_comes_again_goes_the_way_of_its_receiver)
{
    make_directory();
    fault = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "no");
    sink_at(0)->script = sink_at(1)->script = refuse;
    begin_two();
    offer_to("source", 3);
    offer_to("source/2", 4);
    sink_wait_count(sink_at(0), 1);
    sink_wait_count(sink_at(1), 1);
    given_stop(&given);
    sink_at(0)->script = sink_at(1)->script = NULL;
    begin_two();
    sink_wait_delivered(sink_at(0), 3);
    sink_wait_delivered(sink_at(1), 4);
    given_stop(&given);
    remove_directory();
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
    ck_assert_uint_eq(sink_at(1)->delivered, 4);
}
END_TEST

/* Otherwise a reload would wait for it, and its receiver could never be closed. */
START_TEST(a_request_that_was_answered_is_through)
{
    make_directory();
    begin();
    offer(3);
    gate_close(&given.runtime->gate);
    gate_open(&given.runtime->gate);
    while (source_env("source")->intakes[SIGNAL_TRACES]->pending)
        sched_yield(); /* it is counted out after its answer */
    sink_wait_delivered(sink_at(0), 3);
    given_stop(&given);
    remove_directory();
}
END_TEST

START_TEST(a_request_that_waited_for_room_is_written)
{
    struct answer answer;
    struct journal_figures figures;
    make_directory();
    begin_with("block_on_overflow: true, num_consumers: 1, queue_size: 1");
    sink_gate(sink_at(0), true);
    offer(3);
    sink_wait_begun(sink_at(0), 1);
    answer_init(&answer);
    source_offer("source", some_spans(0, 4, &given.runtime->budget), &answer);
    journal_figures(given.runtime->journal, &figures);
    ck_assert_uint_eq(figures.live, 1);
    ck_assert_uint_eq(answer.count, 0);
    sink_at(0)->script = refuse;
    fault = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "no");
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    sink_wait_count(sink_at(0), 2);
    given_stop(&given);
    sink_at(0)->script = NULL;
    begin();
    sink_wait_delivered(sink_at(0), 7);
    given_stop(&given);
    remove_directory();
    ck_assert_uint_eq(sink_at(0)->delivered, 7);
}
END_TEST

static void begin_both(const char *processors)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\n"
             "processors: {holder: }\n"
             "exporters: {sink: {retry_on_failure: {enabled: false}}, sink/2: {slot: 1, "
             "retry_on_failure: {enabled: false}}}\n"
             "extensions: {journal: {directory: '%s'}}\n"
             "service:\n  extensions: [journal]\n"
             "  pipelines: {traces: {receivers: [source], processors: [%s], exporters: [sink, "
             "sink/2]}}\n",
             directory, processors);
    given_start(&given, yaml);
}

/* One exporter delivers 3 spans, the other leaves them; then the next process delivers them. */
static void one_of_two_leaves_them(const char *processors, bool first_is_last)
{
    make_directory();
    fault = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "no");
    sink_at(1)->script = refuse;
    begin_both(processors);
    sink_gate(sink_at(0), first_is_last);
    offer(3);
    if (!*processors) /* else the stop hands them on */
        sink_wait_count(sink_at(1), 1);
    sink_gate(sink_at(0), false);
    given_stop(&given);
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
    holder_keeps(false);
    begin_both(processors);
    given_stop(&given);
    sink_at(1)->script = NULL;
    begin_both(processors);
    sink_wait_delivered(sink_at(1), 3);
    ck_assert_uint_eq(meter_get(given_meter(&given, "sink"), METER_SENT, SIGNAL_TRACES), 0);
    given_stop(&given);
    remove_directory();
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
    ck_assert_uint_eq(sink_at(1)->delivered, 3);
}

START_TEST(what_one_exporter_leaves_does_not_go_to_the_other_again)
{
    one_of_two_leaves_them("", false);
}
END_TEST

START_TEST(nor_if_the_other_was_the_last)
{
    one_of_two_leaves_them("", true);
}
END_TEST

START_TEST(nor_if_a_processor_held_it)
{
    holder_keeps(true);
    one_of_two_leaves_them("holder", false);
}
END_TEST

/* Clients wait for the backend, but not for what correlation holds. */
static void begin_awaited(void)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "receivers: {source: }\n"
             "processors: {correlation: }\n"
             "exporters: {sink: {retry_on_failure: {enabled: false}, sending_queue: {enabled: "
             "false}}}\n"
             "extensions: {journal: {directory: '%s'}}\n"
             "service:\n  extensions: [journal]\n"
             "  pipelines:\n"
             "    traces: {receivers: [source], processors: [correlation], exporters: [sink]}\n"
             "    profiles: {receivers: [source], processors: [correlation], exporters: [sink]}\n",
             directory);
    given_start(&given, yaml);
}

static struct outcome answer_to(struct batch *batch)
{
    struct answer answer;
    answer_init(&answer);
    source_offer("source", batch, &answer);
    return answer_wait(&answer);
}

static size_t live(void)
{
    struct journal_figures figures;
    journal_figures(given.runtime->journal, &figures);
    return figures.live;
}

START_TEST(what_is_held_is_on_disk_though_its_client_waits_for_the_rest)
{
    make_directory();
    begin_awaited();
    struct budget *budget = &given.runtime->budget;
    ck_assert_int_eq(answer_to(some_root_and_child(given.fake.wall, budget)).verdict, VERDICT_OK);
    ck_assert_uint_eq(sink_at(0)->delivered, 1);
    ck_assert_uint_eq(live(), 1);
    sink_at(0)->script = refuse;
    fault = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "no");
    given_stop(&given);
    sink_at(0)->script = NULL;
    begin_awaited();
    given_stop(&given); /* hands on what is held */
    begin_awaited();
    ck_assert_uint_eq(live(), 0);
    given_stop(&given);
    remove_directory();
    ck_assert_uint_eq(sink_at(0)->delivered, 3); /* the child again, as the request came again */
}
END_TEST

START_TEST(what_a_client_waited_for_is_not_kept)
{
    make_directory();
    begin_awaited();
    struct budget *budget = &given.runtime->budget;
    ck_assert_int_eq(answer_to(some_span(false, given.fake.wall, budget)).verdict, VERDICT_OK);
    fault = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "no");
    sink_at(0)->script = refuse;
    ck_assert_int_eq(answer_to(some_span(false, given.fake.wall, budget)).verdict, VERDICT_RETRY);
    while (live())
        sched_yield();
    given_stop(&given);
    remove_directory();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_was_given_up_for_want_of_memory_comes_again,
        what_was_given_up_for_good_does_not,
        what_was_delivered_does_not,
        what_comes_again_goes_the_way_of_its_receiver,
        a_request_that_was_answered_is_through,
        a_request_that_waited_for_room_is_written,
        what_one_exporter_leaves_does_not_go_to_the_other_again,
        nor_if_the_other_was_the_last,
        nor_if_a_processor_held_it,
        what_is_held_is_on_disk_though_its_client_waits_for_the_rest,
        what_a_client_waited_for_is_not_kept,
        NULL,
    };
    return suite_run("journaling", tests);
}
