#include "pipeline/intake.h"

#include "pipeline/graph/intake_run.h"
#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <sched.h>

extern const struct component processor_batch, processor_correlation;
const struct component *const component_table[] = {
    &scripted_source,       &scripted_opaque, &scripted_holder, &processor_batch,
    &processor_correlation, &scripted_sink,   &scripted_taker,  NULL};

#define TRACES                                                                                     \
    "service:\n"                                                                                   \
    "  pipelines:\n"                                                                               \
    "    traces: {receivers: [source], processors: [holder], exporters: [sink]}\n"
#define BASE "receivers: {source: }\nprocessors: {holder: }\n"

static struct given_runtime given;
static struct answer answer;

static struct outcome offer(unsigned spans)
{
    answer_init(&answer);
    source_offer("source", some_spans(0, spans, &given.runtime->budget), &answer);
    return answer_wait(&answer);
}

/* Offers without waiting for the answer. */
static void offer_only(unsigned spans)
{
    answer_init(&answer);
    source_offer("source", some_spans(0, spans, &given.runtime->budget), &answer);
}

START_TEST(what_is_accepted_is_answered_at_once_and_delivered)
{
    given_start(&given, BASE "exporters: {sink: }\n" TRACES);
    sink_gate(sink_at(0), true);
    ck_assert_int_eq(offer(3).verdict, VERDICT_OK);
    sink_gate(sink_at(0), false);
    sink_wait_delivered(sink_at(0), 3);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_str_eq(given.report, "");
}
END_TEST

START_TEST(a_full_queue_refuses_and_counts_what_is_under_way)
{
    given_start(&given, BASE "exporters: {sink: {sending_queue: {queue_size: 2}}}\n" TRACES);
    sink_gate(sink_at(0), true);
    ck_assert_int_eq(offer(1).verdict, VERDICT_OK);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_int_eq(offer(1).verdict, VERDICT_OK);
    struct outcome outcome = offer(1);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_FULL);
    ck_assert_uint_eq(outcome_retry_seconds(&outcome), RETRY_AFTER_S);
    sink_gate(sink_at(0), false);
    sink_wait_delivered(sink_at(0), 2);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 2);
}
END_TEST

/* A journal offers it again and again: it is not lost, and no client was refused. */
START_TEST(what_was_accepted_before_is_not_counted_when_the_queue_is_full)
{
    const enum gate_mode mode = GATE_OPEN;
    given_start(&given, BASE "exporters: {sink: {sending_queue: {queue_size: 1}}}\n" TRACES);
    struct intake *intake = source_env("source")->intakes[SIGNAL_TRACES];
    sink_gate(sink_at(0), true);
    ck_assert_int_eq(offer(1).verdict, VERDICT_OK);
    struct batch *batch = some_spans(0, 1, &given.runtime->budget);
    ck_assert(gate_enter(intake->gate, &mode));
    ck_assert_int_eq(intake_reserve(intake, batch).cause, CAUSE_FULL);
    gate_leave(intake->gate);
    ck_assert_uint_eq(meter_get(given_meter(&given, "sink"), METER_UNQUEUED, SIGNAL_TRACES), 0);
    ck_assert_int_eq(offer(1).cause, CAUSE_FULL);
    ck_assert_uint_eq(meter_get(given_meter(&given, "sink"), METER_UNQUEUED, SIGNAL_TRACES), 1);
    batch_unref(batch);
    sink_gate(sink_at(0), false);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(one_full_branch_and_no_branch_takes_it)
{
    given_start(&given, BASE "exporters: {sink: , sink/full: {slot: 1, sending_queue: "
                             "{queue_size: 1}}}\n"
                             "service:\n"
                             "  pipelines:\n"
                             "    traces: {receivers: [source], exporters: [sink]}\n"
                             "    traces/2: {receivers: [source], exporters: [sink/full]}\n");
    sink_gate(sink_at(1), true);
    ck_assert_int_eq(offer(1).verdict, VERDICT_OK);
    sink_wait_delivered(sink_at(0), 1);
    ck_assert_int_eq(offer(1).verdict, VERDICT_RETRY);
    sink_gate(sink_at(1), false);
    sink_wait_delivered(sink_at(1), 1);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 1);
    ck_assert_uint_eq(sink_at(1)->delivered, 1);
}
END_TEST

START_TEST(what_a_full_branch_refuses_leaves_its_places_and_memory_in_the_others)
{
    given_start(&given, BASE "exporters: {sink: {sending_queue: {queue_size: 1}}, sink/full: "
                             "{slot: 1, sending_queue: {queue_size: 1}}}\n"
                             "service:\n"
                             "  pipelines:\n"
                             "    traces: {receivers: [source], exporters: [sink]}\n"
                             "    traces/2: {receivers: [source], exporters: [sink/full]}\n");
    const struct budget *budget = &given.runtime->budget;
    sink_gate(sink_at(1), true);
    ck_assert_int_eq(offer(1).verdict, VERDICT_OK);
    sink_wait_delivered(sink_at(0), 1);
    sink_wait_begun(sink_at(1), 1);
    while (sender_pending(graph_find(&given.runtime->graph, COMPONENT_EXPORTER, "sink")->sender))
        sched_yield();
    size_t used = budget_used(budget);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(offer(1).cause, CAUSE_FULL);
    ck_assert_uint_eq(budget_used(budget), used);
    sink_gate(sink_at(1), false);
    sink_wait_delivered(sink_at(1), 1);
    while (offer(1).verdict != VERDICT_OK) /* until the first one's place is free */
        sched_yield();
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 2);
    ck_assert_uint_eq(sink_at(1)->delivered, 2);
}
END_TEST

START_TEST(two_ways_to_one_exporter_need_two_places)
{
    given_start(&given, BASE "exporters: {sink: {sending_queue: {queue_size: 1}}}\n"
                             "service:\n"
                             "  pipelines:\n"
                             "    traces: {receivers: [source], exporters: [sink]}\n"
                             "    traces/2: {receivers: [source], exporters: [sink]}\n");
    ck_assert_int_eq(offer(1).cause, CAUSE_FULL);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->begun, 0);
}
END_TEST

START_TEST(drop_oldest_accepts_and_counts_what_it_loses)
{
    given_start(&given, BASE "exporters: {sink: {sending_queue: {queue_size: 2, num_consumers: "
                             "1, on_full: drop_oldest}}}\n" TRACES);
    sink_gate(sink_at(0), true);
    ck_assert_int_eq(offer(1).verdict, VERDICT_OK);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_int_eq(offer(2).verdict, VERDICT_OK);
    ck_assert_int_eq(offer(4).verdict, VERDICT_OK);
    ck_assert_int_eq(offer(8).verdict, VERDICT_OK);
    sink_gate(sink_at(0), false);
    sink_wait_delivered(sink_at(0), 9);
    ck_assert_uint_eq(given_stop(&given), 6);
    ck_assert_str_eq(given.report, "sink: 6 spans acknowledged but not delivered, 6 queue full\n");
}
END_TEST

START_TEST(past_the_memory_budget_requests_are_refused)
{
    given_start(&given, BASE "exporters: {sink: }\n" TRACES);
    given.runtime->budget.limit = 100;
    struct outcome outcome = offer(10);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_MEMORY);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(a_request_is_refused_where_work_on_it_has_no_room)
{
    given_start(&given, BASE "exporters: {sink: }\n" TRACES);
    struct budget *budget = &given.runtime->budget;
    size_t almost_all = budget->limit - budget->reserve - 100;
    budget_force(budget, almost_all);
    ck_assert_int_eq(offer(10).verdict, VERDICT_RETRY);
    ck_assert_uint_eq(budget_used(budget), almost_all);
    budget_give(budget, almost_all);
    ck_assert_int_eq(offer(10).verdict, VERDICT_OK);
    sink_wait_delivered(sink_at(0), 10);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(without_a_queue_the_client_waits_for_the_backend)
{
    given_start(&given, BASE "exporters: {sink: {sending_queue: {enabled: false}}}\n" TRACES);
    sink_gate(sink_at(0), true);
    offer_only(2);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_uint_eq(answer.count, 0);
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

#define BATCHED                                                                                    \
    "receivers: {source: }\nprocessors: {batch: {timeout: 10s}}\n"                                 \
    "exporters: {sink: {sending_queue: {enabled: false}}}\n"                                       \
    "service:\n"                                                                                   \
    "  pipelines:\n"                                                                               \
    "    traces: {receivers: [source], processors: [batch], exporters: [sink]}\n"

START_TEST(what_a_batch_took_over_is_answered_and_merged_without_a_queue)
{
    given_start(&given, BATCHED);
    ck_assert_int_eq(offer(2).verdict, VERDICT_OK);
    ck_assert_int_eq(offer(3).verdict, VERDICT_OK);
    ck_assert_uint_eq(sink_at(0)->begun, 0);
    given_advance(&given, 10 * NS_PER_S);
    sink_wait_delivered(sink_at(0), 5);
    ck_assert_uint_eq(sink_at(0)->begun, 1);
    ck_assert_int_eq(offer(1).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0); /* delivers it */
    ck_assert_uint_eq(sink_at(0)->delivered, 6);
}
END_TEST

START_TEST(a_client_waits_for_the_pipeline_that_does_not_take_over)
{
    given_start(&given, BATCHED "    traces/2: {receivers: [source], exporters: [sink]}\n");
    sink_gate(sink_at(0), true);
    offer_only(2);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_uint_eq(answer.count, 0);
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK); /* the clock stands still */
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 4);
}
END_TEST

static struct outcome forbid(const struct batch *batch, unsigned nth)
{
    (void)batch;
    (void)nth;
    return outcome_of(VERDICT_REJECT, CAUSE_FORBIDDEN, "not you");
}

START_TEST(a_waiting_client_gets_the_backends_refusal)
{
    given_start(&given,
                BASE "exporters: {sink: {sending_queue: {wait_for_result: true}}}\n" TRACES);
    sink_at(0)->script = forbid;
    struct outcome outcome = offer(2);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_FORBIDDEN);
    ck_assert_str_eq(outcome.text, "not you");
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(what_a_batch_took_over_and_nobody_took_is_counted)
{
    given_start(&given, BATCHED);
    sink_at(0)->script = forbid;
    ck_assert_int_eq(offer(2).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 2);
}
END_TEST

#define HELD                                                                                       \
    "receivers: {source: }\nprocessors: {correlation: }\n"                                         \
    "exporters: {sink: {sending_queue: {wait_for_result: true}}}\n"                                \
    "service:\n"                                                                                   \
    "  pipelines:\n"                                                                               \
    "    traces: {receivers: [source], processors: [correlation], exporters: [sink]}\n"            \
    "    profiles: {receivers: [source], processors: [correlation], exporters: [sink]}\n"

/* No profile of its service ever comes. */
START_TEST(a_client_does_not_wait_for_what_is_held)
{
    given_start(&given, HELD);
    answer_init(&answer);
    source_offer("source", some_span(true, given.fake.wall, &given.runtime->budget), &answer);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    ck_assert_uint_eq(sink_at(0)->begun, 0);
    given_advance(&given, 60 * NS_PER_S);
    sink_wait_delivered(sink_at(0), 1);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(a_client_waits_for_the_rest_of_what_is_held)
{
    given_start(&given, HELD);
    sink_gate(sink_at(0), true);
    answer_init(&answer);
    source_offer("source", some_root_and_child(given.fake.wall, &given.runtime->budget), &answer);
    sink_wait_begun(sink_at(0), 1);
    ck_assert_uint_eq(answer.count, 0);
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    ck_assert_uint_eq(sink_at(0)->delivered, 1);
    sink_at(0)->script = forbid;
    source_offer("source", some_span(false, given.fake.wall, &given.runtime->budget), &answer);
    while (answer.count < 2)
        sched_yield();
    ck_assert_int_eq(answer.outcome.verdict, VERDICT_REJECT);
    ck_assert_uint_eq(given_stop(&given), 1); /* the root, which its client may have forgotten */
}
END_TEST

static struct outcome down(const struct batch *batch, unsigned nth)
{
    (void)batch;
    (void)nth;
    return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
}

START_TEST(a_waiting_client_is_told_to_retry_at_shutdown)
{
    given_start(&given, BASE "exporters: {sink: {sending_queue: {enabled: false}}}\n" TRACES);
    sink_at(0)->script = down;
    offer_only(2);
    sink_wait_count(sink_at(0), 1);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(answer.count, 1);
    ck_assert_int_eq(answer.outcome.verdict, VERDICT_RETRY);
}
END_TEST

static struct outcome down_once(const struct batch *batch, unsigned nth)
{
    (void)batch;
    return nth == 0 ? outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down") : OUTCOME_OK;
}

/* Advances the clock until the sink has begun this many sends: a worker parks a failed one shortly
 * after its answer. */
static void advance_until_begun(struct sink *sink, size_t begun)
{
    for (;;) {
        given_advance(&given, 10 * NS_PER_S);
        pthread_mutex_lock(&sink->lock);
        bool enough = sink->begun >= begun;
        pthread_mutex_unlock(&sink->lock);
        if (enough)
            return;
    }
}

START_TEST(a_waiting_client_waits_through_the_retries)
{
    given_start(&given, BASE "exporters: {sink: {sending_queue: {enabled: false}, "
                             "retry_on_failure: {max_elapsed_time: 0}}}\n" TRACES);
    sink_at(0)->script = down_once;
    offer_only(2);
    sink_wait_count(sink_at(0), 1);
    advance_until_begun(sink_at(0), 2);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

enum { THREADS = 4, EACH = 50 };

static void *offer_many(void *ctx)
{
    unsigned *accepted = ctx;
    for (unsigned i = 0; i < EACH; i++) {
        struct answer own;
        answer_init(&own);
        source_offer("source", some_spans(i, 1, &given.runtime->budget), &own);
        *accepted += answer_wait(&own).verdict == VERDICT_OK;
    }
    return NULL;
}

START_TEST(many_threads_lose_nothing_that_was_accepted)
{
    pthread_t threads[THREADS];
    unsigned accepted[THREADS] = {0}, sum = 0;
    given_start(&given, BASE "exporters: {sink: {sending_queue: {queue_size: 8}}}\n" TRACES);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, offer_many, &accepted[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += accepted[i];
    }
    sink_wait_delivered(sink_at(0), sum);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, sum);
    ck_assert_uint_gt(sum, 0);
}
END_TEST

static struct outcome offer_opaque(void)
{
    struct batch *batch = some_spans(0, 1, &given.runtime->budget);
    batch->signal = SIGNAL_PROFILES;
    batch->encoding = BATCH_OPAQUE;
    answer_init(&answer);
    source_offer("opaque_source", batch, &answer);
    return answer_wait(&answer);
}

#define OPAQUE "receivers: {source: , opaque_source: }\n"

START_TEST(what_no_exporter_takes_is_refused_for_good)
{
    given_start(&given, OPAQUE "exporters: {sink: , taker: {slot: 1}}\n"
                               "service:\n"
                               "  pipelines:\n"
                               "    profiles: {receivers: [opaque_source], exporters: [taker]}\n"
                               "    profiles/2: {receivers: [source], exporters: [sink]}\n");
    answer_init(&answer);
    struct batch *batch = some_spans(0, 1, &given.runtime->budget);
    batch->signal = SIGNAL_PROFILES;
    batch->encoding = BATCH_OPAQUE;
    source_offer("source", batch, &answer);
    struct outcome outcome = answer_wait(&answer);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_UNSUPPORTED);
    ck_assert_str_eq(outcome.text, "no exporter takes forwarded bodies (JFR, folded text); those "
                                   "configured take OTLP and pprof");
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->begun, 0);
}
END_TEST

START_TEST(what_one_branch_takes_goes_there_and_the_other_counts_it)
{
    given_start(&given, OPAQUE "exporters: {sink: , taker: {slot: 1}}\n"
                               "service:\n"
                               "  pipelines:\n"
                               "    profiles:\n"
                               "      receivers: [source, opaque_source]\n"
                               "      exporters: [sink, taker]\n");
    ck_assert_int_eq(offer_opaque().verdict, VERDICT_OK);
    sink_wait_delivered(sink_at(1), 1);
    ck_assert_uint_eq(meter_get(given_meter(&given, "sink"), METER_PASSED, SIGNAL_PROFILES), 1);
    ck_assert_uint_eq(meter_get(given_meter(&given, "taker"), METER_PASSED, SIGNAL_PROFILES), 0);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->begun, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_is_accepted_is_answered_at_once_and_delivered,
        a_full_queue_refuses_and_counts_what_is_under_way,
        what_was_accepted_before_is_not_counted_when_the_queue_is_full,
        one_full_branch_and_no_branch_takes_it,
        what_a_full_branch_refuses_leaves_its_places_and_memory_in_the_others,
        two_ways_to_one_exporter_need_two_places,
        drop_oldest_accepts_and_counts_what_it_loses,
        past_the_memory_budget_requests_are_refused,
        a_request_is_refused_where_work_on_it_has_no_room,
        without_a_queue_the_client_waits_for_the_backend,
        a_waiting_client_gets_the_backends_refusal,
        a_waiting_client_is_told_to_retry_at_shutdown,
        what_a_batch_took_over_is_answered_and_merged_without_a_queue,
        a_client_waits_for_the_pipeline_that_does_not_take_over,
        what_a_batch_took_over_and_nobody_took_is_counted,
        a_client_does_not_wait_for_what_is_held,
        a_client_waits_for_the_rest_of_what_is_held,
        a_waiting_client_waits_through_the_retries,
        many_threads_lose_nothing_that_was_accepted,
        what_no_exporter_takes_is_refused_for_good,
        what_one_branch_takes_goes_there_and_the_other_counts_it,
        NULL,
    };
    return suite_run("intake", tests);
}
