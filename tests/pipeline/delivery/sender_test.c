#include "pipeline/delivery/sender.h"

#include "pipeline/delivery/delivery.h"
#include "pipeline/delivery/dispatch.h"
#include "tests/support/fake_clock.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* An exporter whose sends block at a gate and count how many do so at once. */
struct exporter {
    struct delivery delivery;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool gated;
    unsigned let_out; /* how many may leave though the gate is closed */
    unsigned inside, most_inside, most_together, done;
    unsigned failures;
    uint64_t retry_after_ns; /* of these */
    uint32_t items[16];      /* of the requests that were sent */
};

static struct exporter exporter;
static struct fake_clock fake;
static struct meter meter;
static struct budget budget;
static struct ticker *ticker;
static struct env env;
static struct sender *sender;

static struct outcome exporter_send(void *self, struct batch *batch)
{
    struct exporter *to = self;
    struct outcome outcome = OUTCOME_OK;
    pthread_mutex_lock(&to->lock);
    to->items[to->done % 16] = batch->items;
    to->inside++;
    to->most_inside = to->inside > to->most_inside ? to->inside : to->most_inside;
    pthread_cond_broadcast(&to->changed);
    while (to->gated && to->let_out == 0)
        pthread_cond_wait(&to->changed, &to->lock);
    to->let_out -= to->let_out > 0;
    to->inside--;
    if (to->failures > 0) {
        to->failures--;
        outcome = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
        outcome.retry_after_ns = to->retry_after_ns;
    }
    to->done++;
    pthread_cond_broadcast(&to->changed);
    pthread_mutex_unlock(&to->lock);
    return outcome;
}

static const struct delivery *exporter_delivery(const void *self)
{
    return &((const struct exporter *)self)->delivery;
}

static const struct component component = {.type = "exporter",
                                           .kind = COMPONENT_EXPORTER,
                                           .send = exporter_send,
                                           .delivery = exporter_delivery};

static void begin(int64_t consumers)
{
    fake_clock_init(&fake);
    budget_init(&budget, 64 << 20);
    meter_init(&meter, "exporter");
    ticker = ticker_new(&fake.clock);
    env = (struct env){.id = "exporter",
                       .clock = &fake.clock,
                       .budget = &budget,
                       .meter = &meter,
                       .ticker = ticker};
    exporter.delivery.queue =
        (struct queue_settings){.enabled = true, .num_consumers = consumers, .queue_size = 100};
    exporter.delivery.retry = (struct retry_settings){.enabled = true,
                                                      .initial_interval = NS_PER_S,
                                                      .multiplier = 1,
                                                      .max_interval = 10 * NS_PER_S,
                                                      .max_elapsed_time = 0};
    pthread_mutex_init(&exporter.lock, NULL);
    pthread_cond_init(&exporter.changed, NULL);
    sender = sender_new(&component, &exporter, &env);
    ck_assert_ptr_nonnull(sender);
}

static void end(void)
{
    sender_abort(sender);
    sender_free(sender);
    ticker_free(ticker);
    ck_assert_uint_eq(budget_used(&budget), 0);
}

static void put(unsigned spans)
{
    struct batch *batch = some_spans(0, spans, &budget);
    ck_assert(sender_reserve(sender, 1));
    sender_put(sender, batch);
    sender_release(sender, 1);
    batch_unref(batch);
}

static void gate(bool gated)
{
    pthread_mutex_lock(&exporter.lock);
    exporter.gated = gated;
    pthread_cond_broadcast(&exporter.changed);
    pthread_mutex_unlock(&exporter.lock);
}

static void wait_for(const unsigned *counter, unsigned wanted)
{
    pthread_mutex_lock(&exporter.lock);
    while (*counter < wanted)
        pthread_cond_wait(&exporter.changed, &exporter.lock);
    pthread_mutex_unlock(&exporter.lock);
}

static bool emptied(void)
{
    return sender_wait_empty(sender, TIME_NEVER);
}

START_TEST(as_many_requests_are_under_way_as_there_are_consumers)
{
    begin(3);
    gate(true);
    for (unsigned i = 0; i < 8; i++)
        put(1);
    wait_for(&exporter.inside, 3);
    ck_assert_uint_eq(sender_pending(sender), 8);
    gate(false);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.most_inside, 3);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 8);
    end();
}
END_TEST

static struct outcome exporter_send_on(void *self, struct batch *batch, struct progress *progress)
{
    (void)progress;
    return exporter_send(self, batch);
}

static void exporter_send_together(void *self, struct joint_send *sends, size_t count)
{
    struct exporter *to = self;
    to->most_together = count > to->most_together ? (unsigned)count : to->most_together;
    for (size_t i = 0; i < count; i++) {
        sends[i].outcome = exporter_send(self, sends[i].batch);
        sends[i].finished = true;
    }
}

static const struct component joining = {.type = "exporter",
                                         .kind = COMPONENT_EXPORTER,
                                         .send = exporter_send,
                                         .send_on = exporter_send_on,
                                         .send_together = exporter_send_together,
                                         .delivery = exporter_delivery};

static void begin_joining(void)
{
    begin(1);
    sender_abort(sender);
    sender_free(sender);
    sender = sender_new(&joining, &exporter, &env);
    ck_assert_ptr_nonnull(sender);
}

START_TEST(what_waits_meanwhile_is_sent_together)
{
    begin_joining();
    gate(true);
    put(1);
    wait_for(&exporter.inside, 1);
    for (unsigned i = 0; i < 40; i++)
        put(1);
    gate(false);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.most_together, DISPATCH_TOGETHER);
    ck_assert_uint_eq(exporter.done, 41);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 41);
    ck_assert_uint_eq(sender_pending(sender), 0);
    end();
}
END_TEST

START_TEST(where_memory_is_short_nothing_is_sent_together)
{
    begin_joining();
    budget_force(&budget, 64 << 20);
    gate(true);
    put(1);
    wait_for(&exporter.inside, 1);
    for (unsigned i = 0; i < 8; i++)
        put(1);
    gate(false);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.most_together, 0);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 9);
    budget_give(&budget, 64 << 20);
    end();
}
END_TEST

START_TEST(where_memory_is_short_requests_go_one_by_one)
{
    begin(3);
    budget_force(&budget, 64 << 20);
    gate(true);
    for (unsigned i = 0; i < 8; i++)
        put(1);
    wait_for(&exporter.inside, 1);
    gate(false);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.most_inside, 1);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 8);
    budget_give(&budget, 64 << 20);
    end();
}
END_TEST

/* From its explain line, which includes what waits for memory. */
static unsigned under_way(void)
{
    struct bytes out;
    unsigned count = 0;
    bytes_init(&out, 1000, NULL);
    sender_explain(sender, &out);
    bytes_append(&out, "", 1);
    const char *from = strstr((const char *)out.data, "requests, ");
    ck_assert(from && sscanf(from, "requests, %u in flight", &count) == 1);
    bytes_release(&out);
    return count;
}

/* The rest of the memory is for data, even if the backend answers nothing. */
START_TEST(work_of_all_sends_stays_below_its_share_of_the_memory)
{
    begin(8);
    budget.limit = 4 << 20; /* a quarter of that: three sends of 256 KiB and their payloads */
    gate(true);
    for (unsigned i = 0; i < 8; i++)
        put(1);
    wait_for(&exporter.inside, 3);
    while (under_way() < 4) /* the next one was taken, and put off */
        sched_yield();
    ck_assert_uint_lt(budget_used(&budget), 1 << 20);
    gate(false);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.most_inside, 3);
    end();
}
END_TEST

START_TEST(what_waited_for_the_memory_of_one_send_goes_all_at_once)
{
    begin(3);
    budget.limit = 4 << 20;
    struct batch *sample = some_spans(0, 1000, NULL);
    unsigned large = 640000000 / (unsigned)sample->payload->size;
    batch_unref(sample);
    gate(true);
    put(large);
    wait_for(&exporter.inside, 1);
    put(1);
    put(1);
    while (under_way() < 2)
        sched_yield();
    ck_assert_uint_eq(exporter.most_inside, 1);
    pthread_mutex_lock(&exporter.lock);
    exporter.let_out = 1;
    pthread_cond_broadcast(&exporter.changed);
    pthread_mutex_unlock(&exporter.lock);
    wait_for(&exporter.inside, 2);
    gate(false);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.done, 3);
    end();
}
END_TEST

START_TEST(what_a_send_worked_with_is_there_for_the_next)
{
    begin(3);
    budget.limit = 4 << 20;
    for (unsigned round = 1; round <= 3; round++) {
        gate(true);
        for (unsigned i = 0; i < 3; i++)
            put(1);
        wait_for(&exporter.inside, 3);
        gate(false);
        ck_assert(emptied());
    }
    ck_assert_uint_eq(exporter.done, 9);
    end();
}
END_TEST

static bool is_parked(void)
{
    return sender_state(sender).retry_ns > 0;
}

START_TEST(a_request_that_waits_for_its_retry_goes_when_its_time_comes)
{
    begin(2);
    exporter.failures = 1;
    put(4);
    wait_for(&exporter.done, 1);
    while (!is_parked()) /* the worker parks it a moment after the answer */
        sched_yield();
    ck_assert_uint_eq(exporter.done, 1);
    ck_assert(!sender_wait_empty(sender, 0));
    fake_clock_advance(&fake, NS_PER_S);
    ticker_step(ticker);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.done, 2);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 4);
    end();
}
END_TEST

static unsigned done(void)
{
    pthread_mutex_lock(&exporter.lock);
    unsigned count = exporter.done;
    pthread_mutex_unlock(&exporter.lock);
    return count;
}

START_TEST(a_success_wakes_what_waits_because_the_server_asked_for_it)
{
    begin(2);
    exporter.failures = 1;
    exporter.retry_after_ns = 365 * 86400 * NS_PER_S;
    put(1);
    wait_for(&exporter.done, 1);
    while (!is_parked()) /* by the worker */
        sched_yield();
    fake_clock_advance(&fake, 2 * NS_PER_S);
    ticker_step(ticker);
    ck_assert_uint_eq(sender_pending(sender), 1);
    ck_assert_uint_eq(done(), 1);
    put(1);
    while (sender_pending(sender) > 0) {
        ticker_step(ticker);
        sched_yield();
    }
    ck_assert_uint_eq(done(), 3);
    end();
}
END_TEST

/* No new data arrive that would be tried. */
START_TEST(a_backend_that_asked_for_a_year_is_noticed_when_it_is_well_again)
{
    begin(2);
    exporter.failures = 2;
    exporter.retry_after_ns = 365 * 86400 * NS_PER_S;
    uint64_t before = fake.mono;
    for (int i = 0; i < 3; i++)
        put(1);
    while (sender_pending(sender) > 0) {
        if (ticker_step(ticker) != TIME_NEVER)
            fake_clock_advance(&fake, NS_PER_S);
        sched_yield();
        /* By far more than a probe takes: the clock runs on while the worker has no processor. */
        ck_assert_uint_lt(fake.mono - before, 182 * 86400 * NS_PER_S);
    }
    ck_assert_uint_eq(done(), 5);
    end();
}
END_TEST

START_TEST(what_is_put_after_an_abort_is_counted_as_lost)
{
    begin(1);
    sender_abort(sender);
    put(5);
    ck_assert_uint_eq(meter.dropped_by_cause[CAUSE_SHUTDOWN][SIGNAL_TRACES], 5);
    ck_assert_uint_eq(exporter.done, 0);
    end();
}
END_TEST

START_TEST(an_abort_gives_up_what_is_queued_and_lets_what_is_under_way_end)
{
    begin(1);
    gate(true);
    put(1);
    wait_for(&exporter.inside, 1);
    put(2);
    put(3);
    sender_abort(sender);
    ck_assert_uint_eq(meter.dropped_by_cause[CAUSE_SHUTDOWN][SIGNAL_TRACES], 5);
    gate(false);
    sender_join(sender);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 1);
    end();
}
END_TEST

START_TEST(waiting_is_a_matter_of_the_settings)
{
    begin(1);
    ck_assert(!sender_waits(sender));
    end();
    exporter.delivery.queue.wait_for_result = true;
    fake_clock_init(&fake);
    ticker = ticker_new(&fake.clock);
    env.ticker = ticker;
    sender = sender_new(&component, &exporter, &env);
    ck_assert(sender_waits(sender));
    end();
}
END_TEST

static void begin_batching(int64_t min_size, int64_t max_size)
{
    begin(1);
    sender_abort(sender);
    sender_free(sender);
    exporter.done = 0;
    exporter.delivery.queue.has_batch = true;
    exporter.delivery.queue.batch = (struct batching_settings){
        .flush_timeout = NS_PER_S, .min_size = min_size, .max_size = max_size};
    sender = sender_new(&component, &exporter, &env);
}

static void end_batching(void)
{
    exporter.delivery.queue.has_batch = false;
    end();
}

START_TEST(requests_are_gathered_to_a_size_or_for_a_time)
{
    begin_batching(10, 0);
    put(4);
    put(5);
    ck_assert_uint_eq(done(), 0);
    ck_assert_uint_eq(sender_pending(sender), 9);
    ck_assert_uint_eq(sender_figures(sender, SIGNAL_TRACES).held, 2);
    ck_assert_uint_eq(sender_figures(sender, SIGNAL_TRACES).in_flight, 0);
    put(3);
    ck_assert(emptied());
    ck_assert_uint_eq(done(), 1);
    ck_assert_uint_eq(exporter.items[0], 12);
    put(7);
    ticker_step(ticker);
    ck_assert_uint_eq(sender_pending(sender), 7);
    fake_clock_advance(&fake, NS_PER_S);
    ticker_step(ticker);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.items[1], 7);
    ck_assert_uint_eq(sender_figures(sender, SIGNAL_TRACES).held, 0);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 19);
    end_batching();
}
END_TEST

START_TEST(larger_ones_are_split_and_the_rest_waits)
{
    begin_batching(4, 4);
    put(3);
    put(6);
    while (sender_pending(sender) != 1)
        sched_yield();
    ck_assert_uint_eq(done(), 2);
    ck_assert_uint_eq(exporter.items[0], 4);
    ck_assert_uint_eq(exporter.items[1], 4);
    put(2);
    ck_assert_uint_eq(sender_pending(sender), 3);
    fake_clock_advance(&fake, NS_PER_S);
    ticker_step(ticker);
    ck_assert(emptied());
    ck_assert_uint_eq(done(), 3);
    ck_assert_uint_eq(exporter.items[2], 3);
    ck_assert(sender_reserve(sender, 100));
    sender_release(sender, 100);
    end_batching();
}
END_TEST

/* All of its places come back, although the rest of it had one of its own. */
START_TEST(a_rest_that_is_left_alone_goes_at_its_time)
{
    begin_batching(4, 4);
    put(9);
    while (sender_pending(sender) != 1)
        sched_yield();
    fake_clock_advance(&fake, NS_PER_S);
    ticker_step(ticker);
    ck_assert(emptied());
    ck_assert_uint_eq(done(), 3);
    ck_assert_uint_eq(exporter.items[2], 1);
    ck_assert(sender_reserve(sender, 100));
    sender_release(sender, 100);
    ck_assert_uint_eq(sender_figures(sender, SIGNAL_TRACES).held, 0);
    end_batching();
}
END_TEST

START_TEST(sizes_in_bytes_are_those_of_the_requests)
{
    struct batch *sample = some_spans(0, 10, NULL);
    int64_t size = (int64_t)sample->payload->size;
    batch_unref(sample);
    begin_batching(2 * size, 0);
    exporter.delivery.queue.batch.sizer = BATCHING_BYTES;
    sender_abort(sender);
    sender_free(sender);
    sender = sender_new(&component, &exporter, &env);
    put(10);
    ck_assert_uint_eq(sender_pending(sender), 10);
    put(10);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.items[0], 20);
    end_batching();
}
END_TEST

/* The rest keeps its places until it is delivered, and a full queue waits for nothing. */
START_TEST(each_gathered_request_takes_a_place)
{
    begin_batching(1000, 0);
    gate(true);
    for (unsigned i = 0; i < 99; i++)
        put(1);
    ck_assert(sender_reserve(sender, 1));
    sender_release(sender, 1);
    put(1);
    wait_for(&exporter.inside, 1);
    ck_assert(!sender_reserve(sender, 1));
    gate(false);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.items[0], 100);
    ck_assert(sender_reserve(sender, 100));
    sender_release(sender, 100);
    end_batching();
}
END_TEST

START_TEST(what_was_gathered_goes_at_a_stop)
{
    begin_batching(1000, 0);
    put(5);
    sender_hasten(sender);
    ck_assert(emptied());
    ck_assert_uint_eq(exporter.items[0], 5);
    put(6);
    ck_assert(emptied());
    ck_assert_uint_eq(done(), 2);
    end_batching();
    begin_batching(1000, 0);
    put(5);
    end_batching();
    ck_assert_uint_eq(meter.dropped_by_cause[CAUSE_SHUTDOWN][SIGNAL_TRACES], 5);
}
END_TEST

START_TEST(what_was_gathered_moves_to_a_successor)
{
    begin_batching(1000, 0);
    put(5);
    put(6);
    struct sender *before = sender;
    sender = sender_new(&component, &exporter, &env);
    sender_hand_over(before, sender);
    sender_abort(before);
    sender_free(before);
    ck_assert(emptied());
    ck_assert_uint_eq(done(), 1);
    ck_assert_uint_eq(exporter.items[0], 11);
    ck_assert_uint_eq(sender_figures(sender, SIGNAL_TRACES).held, 0);
    end_batching();
}
END_TEST

START_TEST(who_waits_for_an_answer_is_not_gathered)
{
    begin_batching(1000, 0);
    sender_abort(sender);
    sender_free(sender);
    exporter.delivery.queue.wait_for_result = true;
    sender = sender_new(&component, &exporter, &env);
    put(5);
    ck_assert(emptied());
    ck_assert_uint_eq(done(), 1);
    exporter.delivery.queue.wait_for_result = false;
    end_batching();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        as_many_requests_are_under_way_as_there_are_consumers,
        what_waits_meanwhile_is_sent_together,
        where_memory_is_short_nothing_is_sent_together,
        where_memory_is_short_requests_go_one_by_one,
        work_of_all_sends_stays_below_its_share_of_the_memory,
        what_a_send_worked_with_is_there_for_the_next,
        what_waited_for_the_memory_of_one_send_goes_all_at_once,
        a_request_that_waits_for_its_retry_goes_when_its_time_comes,
        a_success_wakes_what_waits_because_the_server_asked_for_it,
        a_backend_that_asked_for_a_year_is_noticed_when_it_is_well_again,
        what_is_put_after_an_abort_is_counted_as_lost,
        an_abort_gives_up_what_is_queued_and_lets_what_is_under_way_end,
        waiting_is_a_matter_of_the_settings,
        requests_are_gathered_to_a_size_or_for_a_time,
        larger_ones_are_split_and_the_rest_waits,
        a_rest_that_is_left_alone_goes_at_its_time,
        sizes_in_bytes_are_those_of_the_requests,
        each_gathered_request_takes_a_place,
        what_was_gathered_goes_at_a_stop,
        what_was_gathered_moves_to_a_successor,
        who_waits_for_an_answer_is_not_gathered,
        NULL,
    };
    return suite_run("sender", tests);
}
