#include "pipeline/delivery/dispatch.h"

#include "lib/wire/http/status.h"
#include "tests/support/fake_clock.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/* The backend of these tests: some span numbers are bad, requests may be too large or fail. */
struct backend {
    unsigned bad_from, bad_to; /* numbers that make a request invalid */
    bool undecodable;          /* the reason is that it cannot be decoded */
    uint32_t max_items;        /* more are too large; 0: no limit */
    struct outcome always;     /* if not OK: the answer to everything */
    struct outcome after_next; /* the same, from the request after the next on */
    bool withholds;            /* the data move to another process before the request is sent */
    unsigned failures;         /* this many RETRY answers first */
    unsigned sends;
    uint64_t took;
    size_t largest;
};

static struct fake_clock fake;
static struct backend backend;
static struct meter meter;
static struct dispatcher dispatcher;
static struct outcome settled_worst;
static unsigned settled_count;
static bool is_moved; /* another process delivers the data */

static struct outcome backend_send(void *self, struct batch *batch)
{
    struct backend *to = self;
    to->sends++;
    ck_assert(dispatcher.component->gathers || !batch->payload->parts);
    to->largest = batch->payload->size > to->largest ? batch->payload->size : to->largest;
    if (to->failures > 0) {
        to->failures--;
        return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
    }
    if (to->withholds) {
        is_moved = true;
        return outcome_of(VERDICT_RETRY, CAUSE_REVOKED, "withheld");
    }
    if (to->always.verdict != VERDICT_OK)
        return to->always;
    if (to->after_next.verdict != VERDICT_OK) {
        to->always = to->after_next;
        to->after_next = OUTCOME_OK;
    }
    if (to->max_items && batch->items > to->max_items)
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "too large");
    for (unsigned bad = to->bad_from; bad < to->bad_to; bad++)
        if (some_batch_has(batch, bad))
            return to->undecodable
                       ? status_from_grpc(GRPC_INTERNAL, false, "not UTF-8")
                       : outcome_of(VERDICT_REJECT, CAUSE_INVALID, "span %u is bad", bad);
    struct outcome outcome = to->always.verdict == VERDICT_OK ? to->always : OUTCOME_OK;
    to->took += batch->items - outcome.rejected;
    return outcome;
}

static const struct component exporter = {
    .type = "backend", .kind = COMPONENT_EXPORTER, .send = backend_send};

static void begin(void)
{
    fake_clock_init(&fake);
    meter_init(&meter, "backend");
    dispatcher.component = &exporter;
    dispatcher.self = &backend;
    dispatcher.meter = &meter;
    dispatcher.clock = &fake.clock;
    dispatcher.settings.retry = (struct retry_settings){.enabled = true,
                                                        .initial_interval = NS_PER_S,
                                                        .multiplier = 2,
                                                        .max_interval = 8 * NS_PER_S,
                                                        .max_elapsed_time = 60 * NS_PER_S};
    loss_log_init(&dispatcher.losses, "backend", &fake.clock, NULL);
}

static void settled(void *ctx, const struct outcome *worst)
{
    (void)ctx;
    settled_count++;
    settled_worst = *worst;
}

static struct queue_element *element_of(unsigned spans)
{
    struct receipt *receipt = receipt_new(settled, NULL);
    struct batch *batch = some_spans(0, spans, NULL);
    if (dispatcher.waits)
        receipt_set_awaited(receipt, NULL);
    batch_add_receipt(batch, receipt);
    receipt_unref(receipt);
    struct queue_element *element = queue_element_new(QUEUE_REQUESTS, batch);
    batch_unref(batch);
    return element;
}

/* Runs an element to its end, advancing the clock over the waits; returns how many there were. */
static unsigned run(struct queue_element *element)
{
    unsigned waits = 0;
    uint64_t due;
    while (dispatch_run(&dispatcher, element, &due) == DISPATCH_WAIT) {
        ck_assert_uint_gt(due, fake.mono);
        fake_clock_advance(&fake, due - fake.mono);
        waits++;
    }
    ck_assert_ptr_null(element->batch);
    queue_element_free(element);
    ck_assert_uint_eq(settled_count, 1);
    return waits;
}

static uint64_t dropped(enum cause cause)
{
    return meter.dropped_by_cause[cause][SIGNAL_TRACES];
}

/* Items refused by the backend of which a waiting client is told. */
static uint64_t passed_on(enum cause cause)
{
    return meter_passed_refusals(&meter, cause, SIGNAL_TRACES);
}

START_TEST(what_the_backend_takes_is_counted_as_sent)
{
    begin();
    ck_assert_uint_eq(run(element_of(5)), 0);
    ck_assert_uint_eq(backend.sends, 1);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 5);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_OK);
}
END_TEST

START_TEST(a_backend_that_is_down_is_tried_again_after_growing_waits)
{
    begin();
    backend.failures = 3;
    uint64_t before = fake.mono;
    ck_assert_uint_eq(run(element_of(5)), 3);
    ck_assert_uint_eq(fake.mono - before, (1 + 2 + 4) * NS_PER_S);
    ck_assert_uint_eq(meter_get(&meter, METER_RETRIES, SIGNAL_TRACES), 3);
    ck_assert_uint_eq(backend.took, 5);
}
END_TEST

START_TEST(retries_end_at_the_elapsed_time_and_the_loss_is_counted)
{
    begin();
    backend.always = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
    uint64_t before = fake.mono;
    run(element_of(5));
    ck_assert_uint_le(fake.mono - before, 60 * NS_PER_S);
    ck_assert_uint_gt(fake.mono - before, 50 * NS_PER_S);
    ck_assert_uint_eq(dropped(CAUSE_UNAVAILABLE), 5);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_RETRY);
}
END_TEST

START_TEST(the_servers_own_wait_is_kept)
{
    begin();
    backend.always = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "busy");
    backend.always.retry_after_ns = 20 * NS_PER_S;
    ck_assert_uint_eq(run(element_of(1)), 3);
}
END_TEST

START_TEST(an_answer_may_shorten_the_waits)
{
    begin();
    backend.always = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "not yet");
    backend.always.retry_within_ns = NS_PER_S;
    ck_assert_uint_gt(run(element_of(1)), 30);
}
END_TEST

START_TEST(an_answer_may_limit_the_tries)
{
    begin();
    backend.always = outcome_of(VERDICT_RETRY, CAUSE_INTERNAL, "oops");
    backend.always.max_tries = 4;
    ck_assert_uint_eq(run(element_of(2)), 3);
    ck_assert_uint_eq(backend.sends, 4);
    ck_assert_uint_eq(dropped(CAUSE_INTERNAL), 2);
}
END_TEST

START_TEST(tries_are_counted_for_the_cause_that_limits_them)
{
    uint64_t due;
    begin();
    struct queue_element *element = element_of(2);
    backend.failures = 5;
    for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_WAIT);
    backend.always = outcome_of(VERDICT_RETRY, CAUSE_INTERNAL, "oops");
    backend.always.max_tries = 4;
    ck_assert_uint_eq(run(element), 3);
    ck_assert_uint_eq(backend.sends, 5 + 4);
}
END_TEST

START_TEST(without_retry_one_failure_is_the_end)
{
    begin();
    dispatcher.settings.retry.enabled = false;
    backend.failures = 1;
    ck_assert_uint_eq(run(element_of(5)), 0);
    ck_assert_uint_eq(backend.sends, 1);
    ck_assert_uint_eq(dropped(CAUSE_UNAVAILABLE), 5);
}
END_TEST

START_TEST(a_refusal_for_good_is_tried_once)
{
    static const enum cause causes[] = {CAUSE_AUTH, CAUSE_FORBIDDEN, CAUSE_UNSUPPORTED};
    begin();
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        settled_count = backend.sends = 0;
        backend.always = outcome_of(VERDICT_REJECT, causes[i], "no");
        ck_assert_uint_eq(run(element_of(5)), 0);
        ck_assert_uint_eq(backend.sends, 1);
        ck_assert_uint_eq(dropped(causes[i]), 5);
        ck_assert_int_eq(settled_worst.verdict, VERDICT_REJECT);
    }
}
END_TEST

START_TEST(only_the_invalid_span_is_lost)
{
    begin();
    backend.bad_from = 613;
    backend.bad_to = 614;
    run(element_of(1000));
    ck_assert_uint_eq(backend.took, 999);
    ck_assert_uint_eq(dropped(CAUSE_INVALID), 1);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 999);
    ck_assert_uint_le(backend.sends, 64);
}
END_TEST

START_TEST(what_a_decoder_refuses_is_looked_for_in_the_same_way)
{
    begin();
    backend.bad_from = 613;
    backend.bad_to = 614;
    backend.undecodable = true;
    run(element_of(1000));
    ck_assert_uint_eq(backend.took, 999);
    ck_assert_uint_eq(dropped(CAUSE_INTERNAL), 1);
}
END_TEST

START_TEST(halving_is_bounded_and_every_span_is_accounted_for)
{
    begin();
    backend.bad_from = 100;
    backend.bad_to = 200;
    run(element_of(1000));
    ck_assert_uint_le(backend.sends, 64);
    ck_assert_uint_eq(backend.took + dropped(CAUSE_INVALID), 1000);
    ck_assert_uint_ge(dropped(CAUSE_INVALID), 100);
    ck_assert_uint_ge(backend.took, 800);
}
END_TEST

START_TEST(what_is_too_large_is_split_until_it_passes)
{
    begin();
    backend.max_items = 7;
    run(element_of(100));
    ck_assert_uint_eq(backend.took, 100);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_TRACES), 0);
}
END_TEST

static struct queue_element *joined_element(unsigned first, unsigned second)
{
    struct batch *a = some_spans(0, first, NULL), *b = some_spans(first, second, NULL);
    struct buffer *parts[] = {a->payload, b->payload};
    struct batch *joined = batch_with_payload(a, buffer_join(parts, 2), first + second);
    struct receipt *receipt = receipt_new(settled, NULL);
    batch_add_receipt(joined, receipt);
    receipt_unref(receipt);
    struct queue_element *element = queue_element_new(QUEUE_REQUESTS, joined);
    batch_unref(a);
    batch_unref(b);
    batch_unref(joined);
    return element;
}

START_TEST(what_was_merged_comes_in_one_run_to_those_who_ask_for_that)
{
    begin();
    backend.bad_from = 6; /* the backend reads the bytes */
    backend.bad_to = 7;
    run(joined_element(5, 3));
    ck_assert_uint_eq(backend.took, 7);
    ck_assert_uint_eq(dropped(CAUSE_INVALID), 1);
}
END_TEST

START_TEST(what_was_merged_is_split_like_any_other)
{
    static const struct component gathering = {
        .type = "backend", .kind = COMPONENT_EXPORTER, .send = backend_send, .gathers = true};
    begin();
    dispatcher.component = &gathering;
    backend.max_items = 3;
    run(joined_element(50, 30));
    ck_assert_uint_eq(backend.took, 80);
}
END_TEST

START_TEST(a_lone_span_that_is_too_large_is_dropped)
{
    begin();
    backend.always = outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "max is 0");
    run(element_of(3));
    ck_assert_uint_eq(dropped(CAUSE_TOO_LARGE), 3);
    ck_assert_uint_le(backend.sends, 5);
}
END_TEST

START_TEST(requests_stay_below_max_request_bytes)
{
    begin();
    dispatcher.settings.max_request_bytes = 1000;
    run(element_of(200));
    ck_assert_uint_eq(backend.took, 200);
    ck_assert_uint_le(backend.largest, 1000);
    ck_assert_uint_ge(backend.sends, 10);
}
END_TEST

START_TEST(one_span_above_max_request_bytes_is_never_sent)
{
    begin();
    dispatcher.settings.max_request_bytes = 20;
    run(element_of(2));
    ck_assert_uint_eq(backend.sends, 0);
    ck_assert_uint_eq(dropped(CAUSE_TOO_LARGE), 2);
}
END_TEST

START_TEST(a_part_that_has_to_wait_does_not_repeat_what_was_delivered)
{
    begin();
    dispatcher.settings.max_request_bytes = 1000;
    struct queue_element *element = element_of(60);
    backend.failures = 1;
    ck_assert_uint_eq(run(element), 1);
    ck_assert_uint_eq(backend.took, 60);
}
END_TEST

START_TEST(a_partial_success_counts_what_was_refused)
{
    begin();
    backend.always = OUTCOME_OK;
    backend.always.rejected = 2;
    run(element_of(5));
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 3);
    ck_assert_uint_eq(dropped(CAUSE_INVALID), 2);
    ck_assert_uint_eq(backend.sends, 1);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_OK);
    ck_assert_uint_eq(settled_worst.rejected, 2);
}
END_TEST

START_TEST(a_waiting_client_is_told_and_nothing_counts_as_lost)
{
    begin();
    dispatcher.waits = true;
    backend.always = outcome_of(VERDICT_REJECT, CAUSE_FORBIDDEN, "no");
    run(element_of(5));
    ck_assert_int_eq(settled_worst.verdict, VERDICT_REJECT);
    ck_assert_int_eq(settled_worst.cause, CAUSE_FORBIDDEN);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_TRACES), 0);
    ck_assert_uint_eq(meter_get(&meter, METER_REFUSED, SIGNAL_TRACES), 5);
}
END_TEST

START_TEST(a_waiting_client_hears_of_a_partial_success)
{
    begin();
    dispatcher.waits = true;
    backend.bad_from = 3;
    backend.bad_to = 4;
    run(element_of(8));
    ck_assert_int_eq(settled_worst.verdict, VERDICT_OK);
    ck_assert_uint_eq(settled_worst.rejected, 1);
    ck_assert_uint_eq(backend.took, 7);
    ck_assert_uint_eq(dropped(CAUSE_INVALID), 0); /* nothing was acknowledged */
    ck_assert_uint_eq(passed_on(CAUSE_INVALID), 1);
}
END_TEST

START_TEST(while_stopping_waits_are_short_and_go_on_past_the_elapsed_time)
{
    begin();
    dispatcher.stopping = true;
    dispatcher.settings.retry.max_elapsed_time = NS_PER_S;
    backend.failures = 20;
    uint64_t before = fake.mono;
    ck_assert_uint_eq(run(element_of(1)), 20);
    ck_assert_uint_le(fake.mono - before, 20 * DISPATCH_STOPPING_WAIT_NS);
    ck_assert_uint_eq(backend.took, 1);
}
END_TEST

START_TEST(after_the_abort_nothing_is_sent)
{
    begin();
    dispatcher.aborted = true;
    run(element_of(4));
    ck_assert_uint_eq(backend.sends, 0);
    ck_assert_uint_eq(dropped(CAUSE_SHUTDOWN), 4);
}
END_TEST

static bool moved(void *ctx)
{
    (void)ctx;
    return is_moved;
}

/* Spans of a log, which another process delivers when is_moved. */
static struct queue_element *element_of_log(unsigned spans)
{
    static const struct receipt_store store = {.is_elsewhere = moved};
    struct receipt *receipt = receipt_new(settled, NULL);
    receipt_set_durable(receipt, &store);
    struct batch *batch = some_spans(0, spans, NULL);
    batch_add_receipt(batch, receipt);
    receipt_unref(receipt);
    struct queue_element *element = queue_element_new(QUEUE_REQUESTS, batch);
    batch_unref(batch);
    is_moved = false;
    return element;
}

static void check_left_behind(void)
{
    ck_assert_uint_eq(backend.sends, 1);
    ck_assert_uint_eq(backend.took, 0);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_RETRY);
    ck_assert_int_eq(settled_worst.cause, CAUSE_REVOKED);
    ck_assert_uint_eq(dropped(CAUSE_REVOKED), 0);
}

START_TEST(what_another_process_delivers_by_now_is_not_sent_and_not_lost)
{
    uint64_t due;
    begin();
    struct queue_element *element = element_of_log(3);
    backend.failures = 1;
    ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_WAIT);
    is_moved = true;
    ck_assert_uint_eq(run(element), 0);
    check_left_behind();
}
END_TEST

START_TEST(what_was_withheld_is_neither_tried_again_nor_lost)
{
    begin();
    backend.withholds = true;
    ck_assert_uint_eq(run(element_of_log(3)), 0);
    check_left_behind();
    ck_assert_uint_eq(meter_get(&meter, METER_RETRIES, SIGNAL_TRACES), 0);
}
END_TEST

START_TEST(what_is_merged_with_data_of_others_goes_with_these)
{
    static const struct receipt_store store = {.is_elsewhere = moved};
    begin();
    is_moved = true;
    struct receipt *receipt = receipt_new(NULL, NULL);
    receipt_set_durable(receipt, &store);
    struct queue_element *element = element_of(3);
    batch_add_receipt(element->batch, receipt);
    receipt_unref(receipt);
    ck_assert_uint_eq(run(element), 0);
    ck_assert_uint_eq(backend.took, 3);
}
END_TEST

/* Each part has the full elapsed time, however long those before it took. */
START_TEST(a_second_part_is_tried_for_as_long_as_the_first)
{
    uint64_t due;
    begin();
    dispatcher.settings.max_request_bytes = 1000;
    dispatcher.settings.retry.max_elapsed_time = 40 * NS_PER_S;
    struct queue_element *element = element_of(40);
    backend.failures = 6;
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_WAIT);
        fake_clock_advance(&fake, due - fake.mono);
    }
    /* Now the first is sent, and the next is put off for half a minute. */
    unsigned sends = backend.sends;
    backend.max_items = 0;
    struct outcome later = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "later");
    later.retry_after_ns = 30 * NS_PER_S;
    backend.failures = 0;
    backend.after_next = later;
    ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_WAIT);
    ck_assert_uint_eq(backend.sends, sends + 2);
    backend.always = OUTCOME_OK;
    run(element);
    ck_assert_uint_eq(backend.took, 40);
}
END_TEST

START_TEST(a_part_of_what_was_too_large_begins_its_waits_anew)
{
    uint64_t due;
    begin();
    struct queue_element *element = element_of(40);
    backend.failures = 3;
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_WAIT);
        fake_clock_advance(&fake, due - fake.mono);
    }
    backend.max_items = 20;
    backend.after_next = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
    ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_WAIT);
    ck_assert_uint_eq(due - fake.mono, NS_PER_S);
    backend.always = OUTCOME_OK;
    run(element);
    ck_assert_uint_eq(backend.took, 40);
}
END_TEST

START_TEST(a_waiting_client_hears_of_all_that_was_refused)
{
    begin();
    dispatcher.waits = true;
    backend.bad_from = 2;
    backend.bad_to = 8; /* the buffer is in several parts */
    run(element_of(64));
    ck_assert_int_eq(settled_worst.verdict, VERDICT_OK);
    ck_assert_uint_ge(settled_worst.rejected, 6);
    ck_assert_uint_eq(settled_worst.rejected, passed_on(CAUSE_INVALID));
    ck_assert_uint_eq(dropped(CAUSE_INVALID), 0);
    ck_assert_uint_eq(backend.took + settled_worst.rejected, 64);
}
END_TEST

/* An exporter that sends one item a request, of which some fail. */
static struct {
    unsigned sent[16];
    unsigned fails_at; /* the request, from 0, that is put off; each further one counts down */
    unsigned failures;
    unsigned requests;
    bool crowded;
} stepper;

static struct outcome stepper_send_on(void *self, struct batch *batch, struct progress *progress)
{
    (void)self;
    ck_assert_ptr_eq(progress->batch, batch);
    progress->in_parts = true;
    for (; progress->mark.items < batch->items; progress->mark.items++) {
        if (stepper.requests++ >= stepper.fails_at && stepper.failures > 0) {
            stepper.failures--;
            struct outcome busy = outcome_of(VERDICT_RETRY, CAUSE_INTERNAL, "busy");
            busy.max_tries = 3;
            return busy;
        }
        stepper.sent[progress->mark.items]++;
        if (progress_is_crowded(progress)) {
            progress->mark.items++;
            progress->yielded = progress->mark.items < batch->items;
            return OUTCOME_OK;
        }
    }
    return OUTCOME_OK;
}

static const struct component stepping = {.type = "stepper",
                                          .kind = COMPONENT_EXPORTER,
                                          .send = backend_send,
                                          .send_on = stepper_send_on};

static bool is_crowded(void *ctx)
{
    (void)ctx;
    return stepper.crowded;
}

static void begin_steps(void)
{
    begin();
    memset(&stepper, 0, sizeof stepper);
    dispatcher.component = &stepping;
    dispatcher.crowded = is_crowded;
}

START_TEST(what_was_delivered_of_a_batch_is_not_sent_again)
{
    begin_steps();
    stepper.fails_at = 3;
    stepper.failures = 2;
    ck_assert_uint_eq(run(element_of(6)), 2);
    for (unsigned i = 0; i < 6; i++)
        ck_assert_uint_eq(stepper.sent[i], 1);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 6);
}
END_TEST

START_TEST(a_batch_that_moves_on_has_all_its_tries_again)
{
    uint64_t due;
    begin_steps();
    struct queue_element *element = element_of(4);
    for (unsigned i = 0; i < 4; i++) {
        stepper.fails_at = stepper.requests + (i > 0); /* one succeeds, and the next is put off */
        stepper.failures = 2;                          /* three would be the end */
        ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_WAIT);
        ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_WAIT);
    }
    run(element);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_TRACES), 0);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 4);
}
END_TEST

START_TEST(a_batch_in_parts_gives_way_where_others_wait)
{
    uint64_t due;
    begin_steps();
    stepper.crowded = true;
    struct queue_element *element = element_of(3);
    ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_YIELD);
    ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_YIELD);
    ck_assert_uint_eq(settled_count, 0);
    ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_DONE);
    queue_element_free(element);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(stepper.sent[i], 1);
}
END_TEST

/* Sends an item of each batch; the others it leaves to send_on. A batch of 7 is refused. */
static void stepper_send_together(void *self, struct joint_send *sends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct batch *batch = sends[i].batch;
        struct progress *progress = sends[i].progress;
        ck_assert_ptr_eq(progress->batch, batch);
        sends[i].finished = batch->items == 1 || batch->items == 7;
        if (batch->items == 7) {
            sends[i].outcome = outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "too large");
            continue;
        }
        progress->mark.items = 1;
        progress->delivered = true;
        stepper.sent[0]++;
        if (batch->items == 5) {
            sends[i].finished = true;
            sends[i].outcome = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "down");
        }
    }
    dispatcher.aborted = self == NULL;
}

static const struct component joining = {.type = "stepper",
                                         .kind = COMPONENT_EXPORTER,
                                         .send = backend_send,
                                         .send_on = stepper_send_on,
                                         .send_together = stepper_send_together};

START_TEST(each_of_several_sent_together_has_its_own_outcome)
{
    begin_steps();
    dispatcher.component = &joining;
    /* Done, done with send_on, to be sent again, and to be sent in halves. */
    const unsigned items[] = {1, 3, 5, 7};
    struct queue_element *elements[4];
    struct dispatch_end ends[4];
    for (size_t i = 0; i < 4; i++)
        elements[i] = element_of(items[i]);
    dispatch_run_together(&dispatcher, elements, 4, ends);
    ck_assert_int_eq(ends[0].result, DISPATCH_DONE);
    ck_assert_int_eq(ends[1].result, DISPATCH_DONE);
    ck_assert_int_eq(ends[2].result, DISPATCH_WAIT);
    ck_assert_int_eq(ends[3].result, DISPATCH_DONE);
    ck_assert_uint_gt(ends[2].due, fake.mono);
    ck_assert_uint_eq(settled_count, 3);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 1 + 3 + 7);
    dispatch_run_together(&dispatcher, &elements[2], 1, &ends[2]);
    ck_assert_int_eq(ends[2].result, DISPATCH_DONE);
    ck_assert_uint_eq(settled_count, 4);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 16);
    /* The first item of each but the last, which begins with a half of it. */
    ck_assert_uint_eq(stepper.sent[0], 3 + 2);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_TRACES), 0);
    for (size_t i = 0; i < 4; i++)
        queue_element_free(elements[i]);
}
END_TEST

START_TEST(what_was_sent_together_before_the_abort_counts)
{
    begin_steps();
    dispatcher.component = &joining;
    dispatcher.self = NULL;
    struct queue_element *elements[] = {element_of(1), element_of(1), element_of(3)};
    struct dispatch_end ends[3];
    dispatch_run_together(&dispatcher, elements, 3, ends);
    ck_assert_uint_eq(settled_count, 3);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_TRACES), 2);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_TRACES), 3);
    for (size_t i = 0; i < 3; i++)
        queue_element_free(elements[i]);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_the_backend_takes_is_counted_as_sent,
        a_backend_that_is_down_is_tried_again_after_growing_waits,
        retries_end_at_the_elapsed_time_and_the_loss_is_counted,
        the_servers_own_wait_is_kept,
        an_answer_may_shorten_the_waits,
        an_answer_may_limit_the_tries,
        without_retry_one_failure_is_the_end,
        a_refusal_for_good_is_tried_once,
        only_the_invalid_span_is_lost,
        what_a_decoder_refuses_is_looked_for_in_the_same_way,
        halving_is_bounded_and_every_span_is_accounted_for,
        what_is_too_large_is_split_until_it_passes,
        what_was_merged_comes_in_one_run_to_those_who_ask_for_that,
        what_was_merged_is_split_like_any_other,
        a_lone_span_that_is_too_large_is_dropped,
        requests_stay_below_max_request_bytes,
        one_span_above_max_request_bytes_is_never_sent,
        a_part_that_has_to_wait_does_not_repeat_what_was_delivered,
        a_partial_success_counts_what_was_refused,
        a_waiting_client_is_told_and_nothing_counts_as_lost,
        a_waiting_client_hears_of_a_partial_success,
        while_stopping_waits_are_short_and_go_on_past_the_elapsed_time,
        after_the_abort_nothing_is_sent,
        what_another_process_delivers_by_now_is_not_sent_and_not_lost,
        what_was_withheld_is_neither_tried_again_nor_lost,
        what_is_merged_with_data_of_others_goes_with_these,
        tries_are_counted_for_the_cause_that_limits_them,
        a_second_part_is_tried_for_as_long_as_the_first,
        a_part_of_what_was_too_large_begins_its_waits_anew,
        a_waiting_client_hears_of_all_that_was_refused,
        what_was_delivered_of_a_batch_is_not_sent_again,
        a_batch_that_moves_on_has_all_its_tries_again,
        a_batch_in_parts_gives_way_where_others_wait,
        each_of_several_sent_together_has_its_own_outcome,
        what_was_sent_together_before_the_abort_counts,
        NULL,
    };
    return suite_run("dispatch", tests);
}
