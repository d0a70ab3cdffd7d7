#include "pipeline/graph/overflow.h"

#include "pipeline/lane.h"
#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <sched.h>
#include <stdio.h>

const struct component *const component_table[] = {&scripted_source, &scripted_holder,
                                                   &scripted_sink, NULL};

enum { OFFERS = 8, THREADS = 4, EACH = 50 };

#define QUEUE(size) "sending_queue: {block_on_overflow: true, num_consumers: 1, queue_size: " size
#define ONE(settings)                                                                              \
    "receivers: {source: }\nexporters: {sink: {" settings "}}\n"                                   \
    "service: {pipelines: {traces: {receivers: [source], exporters: [sink]}}}\n"
#define TWO(first, second)                                                                         \
    "receivers: {source: }\nexporters: {sink: {" first "}, sink/2: {slot: 1, " second "}}\n"       \
    "service: {pipelines: {traces: {receivers: [source], exporters: [sink, sink/2]}}}\n"

static struct given_runtime given;
static struct answer answers[OFFERS];

static void offer(unsigned i, unsigned spans)
{
    answer_init(&answers[i]);
    source_offer("source", some_spans(i, spans, &given.runtime->budget), &answers[i]);
}

static unsigned count_of(unsigned i)
{
    pthread_mutex_lock(&answers[i].lock);
    unsigned count = answers[i].count;
    pthread_mutex_unlock(&answers[i].lock);
    return count;
}

static struct outcome answer_of(unsigned i)
{
    return answer_wait(&answers[i]);
}

static struct sender *sender_of(const char *id)
{
    return graph_find(&given.runtime->graph, COMPONENT_EXPORTER, id)->sender;
}

/* From what the exporter explains of its queue. */
static unsigned waiting(const char *id)
{
    struct bytes out;
    unsigned count = 0;
    bytes_init(&out, 1000, NULL);
    sender_explain(sender_of(id), &out);
    bytes_append(&out, "", 1);
    const char *from = strstr((const char *)out.data, "in flight");
    ck_assert_ptr_nonnull(from);
    ck_assert(sscanf(from, "in flight, %u wait for room\n", &count) == 1 || from[9] == '\n');
    bytes_release(&out);
    return count;
}

static uint64_t unqueued(void)
{
    return meter_get(given_meter(&given, "sink"), METER_UNQUEUED, SIGNAL_TRACES);
}

/* Starts, and fills the queues of sinks that have room for one request, which they do not
 * answer. */
static void start_full(const char *yaml, unsigned sinks)
{
    given_start(&given, yaml);
    for (unsigned i = 0; i < sinks; i++)
        sink_gate(sink_at(i), true);
    offer(0, 1);
    for (unsigned i = 0; i < sinks; i++)
        sink_wait_begun(sink_at(i), 1);
    ck_assert_int_eq(answer_of(0).verdict, VERDICT_OK);
}

START_TEST(a_request_that_finds_the_queue_full_waits_for_room)
{
    start_full(ONE(QUEUE("1}")), 1);
    offer(1, 2);
    offer(2, 4);
    ck_assert_uint_eq(count_of(1) + count_of(2), 0);
    ck_assert_uint_eq(waiting("sink"), 2);
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_of(1).verdict, VERDICT_OK);
    ck_assert_int_eq(answer_of(2).verdict, VERDICT_OK);
    sink_wait_delivered(sink_at(0), 7);
    ck_assert_uint_eq(waiting("sink"), 0);
    ck_assert_uint_eq(unqueued(), 0);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 7);
}
END_TEST

START_TEST(requests_go_on_in_the_order_in_which_they_came)
{
    start_full(ONE(QUEUE("1}")), 1);
    for (unsigned i = 1; i < OFFERS; i++)
        offer(i, 1 + i);
    sink_gate(sink_at(0), false);
    for (unsigned i = 1; i < OFFERS; i++)
        ck_assert_int_eq(answer_of(i).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0);
    for (unsigned i = 0; i < OFFERS; i++)
        ck_assert_uint_eq(sink_at(0)->log[i].items, 1 + i);
}
END_TEST

START_TEST(a_small_request_does_not_overtake_a_large_one)
{
    given_start(&given, ONE(QUEUE("10, sizer: items}")));
    sink_gate(sink_at(0), true);
    offer(0, 7);
    sink_wait_begun(sink_at(0), 1);
    offer(1, 5);
    offer(2, 2); /* there is room for it */
    ck_assert_uint_eq(count_of(2), 0);
    ck_assert_uint_eq(waiting("sink"), 2);
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_of(1).verdict, VERDICT_OK);
    ck_assert_int_eq(answer_of(2).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->log[1].items, 5);
    ck_assert_uint_eq(sink_at(0)->log[2].items, 2);
}
END_TEST

START_TEST(a_request_larger_than_the_queue_is_refused_at_once)
{
    given_start(&given, ONE(QUEUE("10, sizer: items}")));
    offer(0, 11);
    ck_assert_str_eq(answer_of(0).text, "sending queue of sink is smaller than the request");
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(the_wait_ends_after_five_seconds)
{
    start_full(ONE(QUEUE("1}")), 1);
    size_t used = budget_used(&given.runtime->budget);
    offer(1, 2);
    given_advance(&given, 3 * NS_PER_S);
    offer(2, 4);
    given_advance(&given, 2 * NS_PER_S - 1);
    ck_assert_uint_eq(count_of(1), 0);
    given_advance(&given, 1);
    ck_assert_uint_eq(count_of(1), 1);
    ck_assert_int_eq(answers[1].outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(answers[1].outcome.cause, CAUSE_FULL);
    ck_assert_str_eq(answers[1].outcome.text, "sending queue of sink is full");
    ck_assert_uint_eq(unqueued(), 2);
    ck_assert_uint_eq(count_of(2), 0);
    given_advance(&given, 3 * NS_PER_S);
    ck_assert_uint_eq(count_of(2), 1);
    ck_assert_uint_eq(budget_used(&given.runtime->budget), used);
    sink_gate(sink_at(0), false);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 1);
}
END_TEST

START_TEST(a_stop_answers_those_that_wait_at_once)
{
    start_full(ONE(QUEUE("1}")), 1);
    offer(1, 2);
    offer(2, 4);
    sink_gate(sink_at(0), false); /* the first may still go on */
    uint64_t lost = given_stop(&given);
    ck_assert_uint_eq(lost, 0);
    uint64_t accepted = 1;
    for (unsigned i = 1; i < 3; i++) {
        ck_assert_uint_eq(answers[i].count, 1);
        if (answers[i].outcome.verdict == VERDICT_OK)
            accepted += 2 * i;
        else
            ck_assert_int_eq(answers[i].outcome.cause, CAUSE_SHUTDOWN);
    }
    ck_assert_uint_eq(sink_at(0)->delivered, accepted);
}
END_TEST

START_TEST(a_stop_does_not_wait_for_room)
{
    start_full(ONE("retry_on_failure: {enabled: false}, " QUEUE("1}")), 1);
    offer(1, 2);
    ck_assert_uint_eq(given_stop(&given), 1); /* the one that the sink holds */
    ck_assert_uint_eq(answers[1].count, 1);
    ck_assert_int_eq(answers[1].outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(answers[1].outcome.cause, CAUSE_SHUTDOWN);
}
END_TEST

START_TEST(a_request_that_waits_holds_no_place_in_other_queues)
{
    given_start(&given, TWO(QUEUE("1}"), QUEUE("1}")));
    sink_gate(sink_at(1), true);
    offer(0, 1);
    sink_wait_begun(sink_at(1), 1);
    sink_wait_delivered(sink_at(0), 1);
    while (sender_pending(sender_of("sink")))
        sched_yield();
    offer(1, 2);
    ck_assert_uint_eq(count_of(1), 0);
    ck_assert_uint_eq(waiting("sink"), 0);
    ck_assert_uint_eq(waiting("sink/2"), 1);
    ck_assert(sender_reserve(sender_of("sink"), 1));
    sender_release(sender_of("sink"), 1);
    sink_gate(sink_at(1), false);
    ck_assert_int_eq(answer_of(1).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
    ck_assert_uint_eq(sink_at(1)->delivered, 3);
}
END_TEST

START_TEST(a_request_waits_until_all_queues_have_room)
{
    start_full(TWO(QUEUE("1}"), QUEUE("1}")), 2);
    offer(1, 2);
    ck_assert_uint_eq(waiting("sink"), 1);
    sink_gate(sink_at(0), false);
    while (waiting("sink/2") == 0)
        sched_yield();
    ck_assert_uint_eq(waiting("sink"), 0);
    ck_assert_uint_eq(count_of(1), 0);
    ck_assert_uint_eq(sink_at(0)->begun, 1);
    sink_gate(sink_at(1), false);
    ck_assert_int_eq(answer_of(1).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
    ck_assert_uint_eq(sink_at(1)->delivered, 3);
}
END_TEST

START_TEST(a_request_gives_back_what_it_waited_for_if_another_queue_is_full_then)
{
    given_start(&given, TWO(QUEUE("1}"), QUEUE("1}")));
    sink_gate(sink_at(1), true);
    offer(0, 1);
    sink_wait_begun(sink_at(1), 1);
    sink_wait_delivered(sink_at(0), 1);
    while (sender_pending(sender_of("sink")))
        sched_yield();
    offer(1, 2);
    ck_assert_uint_eq(waiting("sink/2"), 1);
    ck_assert(sender_reserve(sender_of("sink"), 1));
    sink_gate(sink_at(1), false);
    while (waiting("sink") == 0)
        sched_yield();
    while (!sender_reserve(sender_of("sink/2"), 1))
        sched_yield();
    sender_release(sender_of("sink/2"), 1);
    ck_assert_uint_eq(count_of(1), 0);
    sender_release(sender_of("sink"), 1);
    given_advance(&given, 0);
    ck_assert_int_eq(answer_of(1).verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
    ck_assert_uint_eq(sink_at(1)->delivered, 3);
}
END_TEST

START_TEST(an_exporter_without_the_key_refuses_at_once)
{
    start_full(TWO(QUEUE("1}"), "sending_queue: {num_consumers: 1, queue_size: 1}"), 2);
    offer(1, 2);
    ck_assert_uint_eq(count_of(1), 1);
    ck_assert_str_eq(answers[1].outcome.text, "sending queue of sink/2 is full");
    sink_gate(sink_at(0), false);
    sink_gate(sink_at(1), false);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(a_client_that_waits_for_room_then_waits_for_the_backend)
{
    given_start(&given, ONE(QUEUE("1, wait_for_result: true}")));
    sink_gate(sink_at(0), true);
    offer(0, 1);
    sink_wait_begun(sink_at(0), 1);
    offer(1, 2);
    ck_assert_uint_eq(waiting("sink"), 1);
    sink_gate(sink_at(0), false);
    ck_assert_int_eq(answer_of(0).verdict, VERDICT_OK);
    ck_assert_int_eq(answer_of(1).verdict, VERDICT_OK);
    ck_assert_uint_eq(sink_at(0)->delivered, 3); /* before the answer */
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(without_memory_for_it_a_request_does_not_wait)
{
    start_full(ONE(QUEUE("1}")), 1);
    struct budget *budget = &given.runtime->budget;
    size_t taken = 0;
    answer_init(&answers[1]);
    struct batch *batch = some_spans(1, 2, budget);
    while (budget_take(budget, 1 << 10))
        taken += 1 << 10;
    while (budget_take(budget, 1))
        taken++;
    source_offer("source", batch, &answers[1]);
    ck_assert_uint_eq(count_of(1), 1);
    ck_assert_int_eq(answers[1].outcome.verdict, VERDICT_RETRY);
    budget_give(budget, taken);
    sink_gate(sink_at(0), false);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(what_comes_from_a_log_does_not_wait)
{
    start_full(ONE(QUEUE("1}")), 1);
    struct lane *lane = lane_new("log", 0, SIGNAL_BIT(SIGNAL_TRACES));
    struct batch *batch = some_spans(1, 2, &given.runtime->budget);
    batch_set_lane(batch, lane, 1);
    answer_init(&answers[1]);
    source_offer("source", batch, &answers[1]);
    ck_assert_uint_eq(count_of(1), 1);
    ck_assert_int_eq(answers[1].outcome.cause, CAUSE_FULL);
    lane_unref(lane);
    sink_gate(sink_at(0), false);
    ck_assert_uint_eq(given_stop(&given), 0);
}
END_TEST

START_TEST(while_the_gate_is_closed_requests_go_on_waiting)
{
    start_full(ONE(QUEUE("1}")), 1);
    offer(1, 2);
    gate_close(&given.runtime->gate);
    sink_gate(sink_at(0), false);
    sink_wait_delivered(sink_at(0), 1);
    while (sender_pending(sender_of("sink")))
        sched_yield();
    given_advance(&given, NS_PER_S);
    ck_assert_uint_eq(count_of(1), 0);
    gate_open(&given.runtime->gate);
    while (count_of(1) == 0)
        given_advance(&given, NS_PER_MS);
    ck_assert_int_eq(answers[1].outcome.verdict, VERDICT_OK);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, 3);
}
END_TEST

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

START_TEST(many_threads_wait_and_none_is_refused)
{
    pthread_t threads[THREADS];
    unsigned accepted[THREADS] = {0}, sum = 0;
    given_start(&given, TWO(QUEUE("1}"), QUEUE("2}")));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, offer_many, &accepted[i]);
    for (int i = 0; i < THREADS; i++) {
        while (pthread_tryjoin_np(threads[i], NULL) != 0) {
            ticker_step(given.runtime->ticker); /* the clock stands still */
            sched_yield();
        }
        sum += accepted[i];
    }
    ck_assert_uint_eq(sum, THREADS * EACH);
    ck_assert_uint_eq(unqueued(), 0);
    ck_assert_uint_eq(given_stop(&given), 0);
    ck_assert_uint_eq(sink_at(0)->delivered, sum);
    ck_assert_uint_eq(sink_at(1)->delivered, sum);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_request_that_finds_the_queue_full_waits_for_room,
        requests_go_on_in_the_order_in_which_they_came,
        a_small_request_does_not_overtake_a_large_one,
        a_request_larger_than_the_queue_is_refused_at_once,
        the_wait_ends_after_five_seconds,
        a_stop_answers_those_that_wait_at_once,
        a_stop_does_not_wait_for_room,
        a_request_that_waits_holds_no_place_in_other_queues,
        a_request_waits_until_all_queues_have_room,
        a_request_gives_back_what_it_waited_for_if_another_queue_is_full_then,
        an_exporter_without_the_key_refuses_at_once,
        a_client_that_waits_for_room_then_waits_for_the_backend,
        without_memory_for_it_a_request_does_not_wait,
        what_comes_from_a_log_does_not_wait,
        while_the_gate_is_closed_requests_go_on_waiting,
        many_threads_wait_and_none_is_refused,
        NULL,
    };
    return suite_run("overflow", tests);
}
