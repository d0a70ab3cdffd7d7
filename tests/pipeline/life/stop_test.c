#include "pipeline/life/runtime.h"

#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

const struct component *const component_table[] = {&scripted_source, &scripted_holder,
                                                   &scripted_sink, NULL};

#define TRACES(exporter)                                                                           \
    "receivers: {source: }\nprocessors: {holder: , holder/2: }\n"                                  \
    "exporters: {" exporter "}\n"                                                                  \
    "service:\n"                                                                                   \
    "  pipelines:\n"                                                                               \
    "    traces: {receivers: [source], processors: [holder/2, holder], exporters: [sink]}\n"

static struct given_runtime given;

static void offer(unsigned spans)
{
    struct answer answer;
    answer_init(&answer);
    source_offer("source", some_spans(0, spans, &given.runtime->budget), &answer);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
}

static struct outcome down(const struct batch *batch, unsigned nth)
{
    (void)batch;
    (void)nth;
    return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
}

static struct outcome down_thrice(const struct batch *batch, unsigned nth)
{
    return nth < 3 ? down(batch, nth) : OUTCOME_OK;
}

START_TEST(an_idle_runtime_stops_without_loss)
{
    given_start(&given, TRACES("sink: "));
    ck_assert(runtime_ready(given.runtime));
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_ptr_null(source_env("source"));
}
END_TEST

START_TEST(who_leaves_is_not_ready_and_takes_everything)
{
    given_start(&given, TRACES("sink: ") "  shutdown_delay: 90s\n");
    ck_assert_uint_eq(runtime_leave(given.runtime), 90 * NS_PER_S);
    ck_assert(!runtime_ready(given.runtime));
    offer(3);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
}
END_TEST

START_TEST(what_is_queued_is_delivered_before_the_end)
{
    given_start(&given, TRACES("sink: {sending_queue: {num_consumers: 1}}"));
    for (unsigned i = 0; i < 20; i++)
        offer(2);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 40);
}
END_TEST

START_TEST(what_processors_hold_is_handed_on_even_past_the_queues_size)
{
    holder_keeps(true);
    given_start(&given, TRACES("sink: {sending_queue: {queue_size: 1, num_consumers: 1}}"));
    for (unsigned i = 0; i < 9; i++)
        offer(1);
    ck_assert_uint_eq(sink_at(0)->begun, 0);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 9);
}
END_TEST

START_TEST(retries_go_on_until_the_deadline)
{
    given_start(&given, TRACES("sink: "));
    sink_at(0)->script = down_thrice;
    offer(5);
    sink_wait_count(sink_at(0), 1);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 5);
}
END_TEST

START_TEST(past_the_deadline_the_loss_is_reported)
{
    given_start(&given, TRACES("sink: "));
    sink_at(0)->script = down;
    offer(5);
    offer(6);
    ck_assert_uint_eq(given_stop(&given), 11);
    ck_assert_str_eq(given.report, "sink: 11 spans acknowledged but not delivered, 11 shutdown\n");
}
END_TEST

START_TEST(a_send_that_hangs_is_aborted_at_the_deadline)
{
    given_start(&given, TRACES("sink: "));
    sink_gate(sink_at(0), true);
    offer(5);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_uint_eq(given_stop(&given), 5);
    ck_assert(sink_at(0)->aborted);
}
END_TEST

START_TEST(a_hurried_stop_does_not_wait_for_the_deadline)
{
    volatile int hurry = 1;
    struct bytes report;
    given_start(&given, TRACES("sink: "));
    bytes_init(&report, 4096, NULL);
    sink_gate(sink_at(0), true);
    offer(5);
    sink_wait_begun(sink_at(0), 1);
    /* The clock does not advance: only the hurry ends this stop. */
    ck_assert_uint_eq(runtime_stop(given.runtime, &hurry, &report), 5);
    ck_assert(!runtime_ready(given.runtime));
    bytes_release(&report);
    runtime_free(given.runtime);
    settings_free(given.settings);
}
END_TEST

START_TEST(losses_of_the_whole_run_count)
{
    given_start(&given, TRACES("sink: {retry_on_failure: {enabled: false}}"));
    sink_at(0)->script = down;
    offer(3);
    sink_wait_count(sink_at(0), 1);
    ck_assert_uint_eq(given_stop(&given), 3);
    ck_assert_str_eq(given.report, "sink: 3 spans acknowledged but not delivered, 3 unavailable\n");
}
END_TEST

START_TEST(a_second_stop_does_nothing)
{
    given_start(&given, TRACES("sink: "));
    struct bytes report;
    bytes_init(&report, 4096, NULL);
    ck_assert_uint_eq(runtime_stop(given.runtime, NULL, &report), 0);
    ck_assert_uint_eq(runtime_stop(given.runtime, NULL, &report), 0);
    bytes_release(&report);
    runtime_free(given.runtime);
    settings_free(given.settings);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_idle_runtime_stops_without_loss,
        who_leaves_is_not_ready_and_takes_everything,
        what_is_queued_is_delivered_before_the_end,
        what_processors_hold_is_handed_on_even_past_the_queues_size,
        retries_go_on_until_the_deadline,
        past_the_deadline_the_loss_is_reported,
        a_send_that_hangs_is_aborted_at_the_deadline,
        a_hurried_stop_does_not_wait_for_the_deadline,
        losses_of_the_whole_run_count,
        a_second_stop_does_nothing,
        NULL,
    };
    return suite_run("stop", tests);
}
