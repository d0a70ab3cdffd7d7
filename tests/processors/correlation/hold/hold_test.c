/* Spans in the hold: its limits, how they leave, and the end. */
#include "processors/correlation/tell.h"
#include "tests/processors/correlation/rig.h"

#include <pthread.h>

START_TEST(past_hold_max_spans_the_oldest_leave_as_they_came)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_spans: 2}");
    RIG_SPANS(&rig, {.id = 1, .end = S, .attributes = {"0000000000000001"}},
              {.id = 2, .end = S, .attributes = {"0000000000000002"}});
    ck_assert(rig_waits(&rig, 1));
    rig_advance(&rig, S);
    rig_root(&rig, 3, 0, S);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1);
    ck_assert(rig_waits(&rig, 2) && rig_waits(&rig, 3));
    ck_assert(rig_explains(&rig, "hold full 1"));
    rig_close(&rig);
}
END_TEST

START_TEST(of_a_request_larger_than_the_hold_the_last_spans_wait)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_spans: 2}");
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .end = S}, {.service = "b", .id = 3, .end = S});
    ck_assert(rig_bare(&rig, 1) && rig_waits(&rig, 2) && rig_waits(&rig, 3));
    rig_close(&rig);
}
END_TEST

START_TEST(past_hold_max_mib_the_oldest_leave_as_they_came)
{
    struct rig rig;
    rig_open(&rig, "{hold_max_mib: 1}");
    enum { N = 8000 };
    for (uint64_t id = 1; id <= N; id++)
        rig_root(&rig, id, 0, S);
    rig_collect(&rig);
    ck_assert_uint_gt(rig.count, 0);
    ck_assert_uint_gt(N - rig.count, 2000);
    for (size_t i = 0; i < rig.count; i++)
        ck_assert_uint_eq(rig.out[i].id, i + 1);
    ck_assert_uint_le(rig_self(&rig)->hold.bytes, 1 << 20);
    rig_close(&rig);
}
END_TEST

START_TEST(when_the_budget_is_used_up_the_oldest_give_way)
{
    struct rig rig;
    rig_open(&rig, "{}");
    for (uint64_t id = 1; id <= 100; id++)
        rig_root(&rig, id, 0, S);
    ck_assert(rig_waits(&rig, 1));
    rig.budget.limit = budget_used(&rig.budget);
    rig_root(&rig, 101, 0, S);
    ck_assert(rig_bare(&rig, 1) && rig_waits(&rig, 100) && rig_waits(&rig, 101));
    rig_close(&rig);
}
END_TEST

START_TEST(without_any_budget_spans_pass_as_they_came)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig.budget.limit = 0;
    rig_root(&rig, 1, 0, S);
    ck_assert(rig_bare(&rig, 1));
    ck_assert(rig_explains(&rig, "hold full 1"));
    rig_close(&rig);
}
END_TEST

START_TEST(spans_of_many_requests_leave_in_one_batch)
{
    struct rig rig;
    rig_open(&rig, "{}");
    for (uint64_t id = 1; id <= 50; id++)
        rig_root(&rig, id, 0, S);
    RIG_SPANS(&rig, {.service = "other", .id = 51, .end = S});
    rig_advance(&rig, 60 * S);
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, 51);
    ck_assert_uint_eq(rig.batches, 1);
    rig_close(&rig);
}
END_TEST

START_TEST(tenants_are_never_mixed)
{
    struct rig rig;
    bool failed;
    rig_open(&rig, "{}");
    rig.metadata = metadata_new(VIEW("a"), (struct view){0}, &failed);
    rig_root(&rig, 1, 0, S);
    metadata_unref(rig.metadata);
    rig.metadata = metadata_new(VIEW("b"), (struct view){0}, &failed);
    rig_root(&rig, 2, 0, S);
    metadata_unref(rig.metadata);
    rig.metadata = metadata_new(VIEW("b"), (struct view){0}, &failed);
    rig_root(&rig, 3, 0, S);
    rig_advance(&rig, 60 * S);
    ck_assert_uint_eq(rig.traces.count, 2);
    ck_assert_str_eq(rig.traces.batches[0]->metadata->tenant, "a");
    ck_assert_uint_eq(rig.traces.batches[0]->items, 1);
    ck_assert_str_eq(rig.traces.batches[1]->metadata->tenant, "b");
    ck_assert_uint_eq(rig.traces.batches[1]->items, 2);
    rig_close(&rig);
}
END_TEST

static void settle(void *ctx, const struct outcome *worst)
{
    *(enum verdict *)ctx = worst->verdict;
}

START_TEST(the_receipt_of_a_request_settles_with_its_last_span)
{
    struct rig rig;
    enum verdict settled = VERDICT_REJECT;
    rig_open(&rig, "{}");
    rig.receipt = receipt_new(settle, &settled);
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S}, {.id = 3, .end = S});
    receipt_unref(rig.receipt);
    rig.receipt = NULL;
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    collecting_sink_clear(&rig.traces);
    ck_assert_int_eq(settled, VERDICT_REJECT);
    rig_advance(&rig, 90 * S);
    ck_assert_int_eq(settled, VERDICT_REJECT);
    collecting_sink_clear(&rig.traces);
    ck_assert_int_eq(settled, VERDICT_OK);
    rig_close(&rig);
}
END_TEST

START_TEST(what_downstream_cannot_take_is_offered_again)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_root(&rig, 1, 0, S);
    rig.traces.verdict = VERDICT_RETRY;
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    ck_assert(rig_waits(&rig, 1));
    rig_advance(&rig, 5 * S);
    size_t pushes = rig.traces.pushes;
    ck_assert_uint_gt(pushes, 1);
    ck_assert_uint_lt(pushes, 100);
    rig.traces.verdict = VERDICT_OK;
    rig_advance(&rig, S);
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(a_request_of_which_downstream_takes_nothing_is_not_held_in_part)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig.traces.verdict = VERDICT_RETRY;
    const struct rig_span spans[] = {{.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S}};
    ck_assert_int_eq(rig_spans(&rig, spans, 2), VERDICT_RETRY);
    ck_assert_int_eq(rig_spans(&rig, spans, 2), VERDICT_RETRY);
    rig.traces.verdict = VERDICT_OK;
    ck_assert_int_eq(rig_spans(&rig, spans, 2), VERDICT_OK);
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 1) && rig_bare(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(at_close_spans_leave_judged_or_as_they_came)
{
    struct rig rig;
    rig_open(&rig, "{}");
    uint64_t at = RIG_WARM;
    rig_warm(&rig);
    rig_advance(&rig, 5 * S);
    RIG_SPANS(&rig, {.id = 1, .start = at, .end = at + 4 * S, .attributes = {"0000000000000001"}},
              {.service = "other", .id = 3, .start = at, .end = at + 4 * S});
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 9, 0, 0);
    at += 12 * S;
    RIG_SPANS(&rig, {.id = 2, .start = at, .end = at + S, .attributes = {"0000000000000002"}});
    /* Past span 1's decision without a tick. */
    fake_clock_advance(&rig.clock, 5 * S);
    rig_stop(&rig);
    ck_assert(rig_bare(&rig, 1));
    ck_assert_uint_eq(rig_left(&rig, 2)->attributes, 1);
    ck_assert(rig_bare(&rig, 3));
    rig_close(&rig);
}
END_TEST

START_TEST(what_nobody_takes_at_close_is_counted)
{
    struct rig rig;
    enum verdict settled = VERDICT_OK;
    rig_open(&rig, "{}");
    rig.receipt = receipt_new(settle, &settled);
    rig_root(&rig, 1, 0, S);
    rig.traces.verdict = VERDICT_RETRY;
    rig_stop(&rig);
    receipt_unref(rig.receipt);
    rig.receipt = NULL;
    ck_assert_int_eq(settled, VERDICT_RETRY);
    ck_assert_uint_eq(meter_get(&rig.meter, METER_DROPPED, SIGNAL_TRACES), 1);
    rig_close(&rig);
}
END_TEST

START_TEST(children_inherit_the_id_of_a_linked_local_root)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit}");
    rig_advance(&rig, 5 * S);
    RIG_SPANS(&rig, {.id = 3, .parent = 2, .end = S}, {.id = 2, .parent = 1, .end = S});
    rig_advance(&rig, S);
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 13, .parent = 12, .end = S},
              {.id = 12, .parent = 11, .end = S}, {.id = 11, .end = S});
    rig_advance(&rig, 4 * S);
    ck_assert(rig_waits(&rig, 3) && rig_waits(&rig, 13));
    rig_window(&rig, 1, 0, 0);
    rig_advance(&rig, 2 * S);
    ck_assert(rig_linked(&rig, 1));
    ck_assert(rig_linked_as(&rig, 2, 1) && rig_linked_as(&rig, 3, 1));
    RIG_SPANS(&rig, {.id = 4, .parent = 1, .end = S}, {.id = 5, .parent = 3, .end = S});
    ck_assert(rig_linked_as(&rig, 4, 1) && rig_linked_as(&rig, 5, 1));
    ck_assert(rig_waits(&rig, 11) && rig_waits(&rig, 13));
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 11) && rig_bare(&rig, 12) && rig_bare(&rig, 13));
    rig_close(&rig);
}
END_TEST

START_TEST(children_wait_with_their_local_root_for_who_wants_whole_traces)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig.env.whole_traces = true;
    rig_advance(&rig, 5 * S);
    RIG_SPANS(&rig, {.id = 3, .parent = 2, .end = S}, {.id = 2, .parent = 1, .end = S});
    rig_advance(&rig, S);
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 12, .parent = 11, .end = S}, {.id = 11, .end = S});
    rig_advance(&rig, 4 * S);
    ck_assert(rig_waits(&rig, 1) && rig_waits(&rig, 2) && rig_waits(&rig, 3));
    ck_assert(rig_waits(&rig, 11) && rig_waits(&rig, 12));
    rig_window(&rig, 1, 0, 0);
    ck_assert(rig_linked(&rig, 1));
    rig_advance(&rig, 2 * S);
    ck_assert(rig_bare(&rig, 2) && rig_bare(&rig, 3) && rig_waits(&rig, 12));
    RIG_SPANS(&rig, {.id = 4, .parent = 3, .end = S});
    ck_assert(rig_bare(&rig, 4));
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 11) && rig_bare(&rig, 12));
    const struct service *service = rig_self(&rig)->services.orders[1].newest;
    ck_assert_uint_eq(service->counts.linked, 1);
    uint64_t unlinked = 0;
    for (int i = 0; i < REASON_COUNT; i++)
        unlinked += service->counts.unlinked[i];
    ck_assert_uint_eq(unlinked, 1);
    rig_close(&rig);
}
END_TEST

/* Samples name it before it comes. */
START_TEST(children_wait_for_a_local_root_that_comes_later)
{
    struct rig rig;
    rig_open(&rig, "{candidates: all}");
    rig.env.whole_traces = true;
    rig_warm(&rig);
    const uint64_t from = RIG_WARM - S, to = RIG_WARM;
    RIG_SPANS(&rig, {.id = 3, .parent = 2, .start = from, .end = to},
              {.id = 2, .parent = 1, .start = from, .end = to},
              {.id = 12, .parent = 11, .start = from, .end = to});
    rig_window(&rig, 1, 0, 0);
    rig_advance(&rig, 12 * S);
    ck_assert(rig_waits(&rig, 2) && rig_waits(&rig, 3) && rig_waits(&rig, 12));
    rig_root(&rig, 1, from, rig_now(&rig));
    ck_assert(rig_linked(&rig, 1));
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 2) && rig_bare(&rig, 3) && rig_bare(&rig, 12));
    rig_close(&rig);
}
END_TEST

START_TEST(children_with_samples_of_their_own_are_linked_while_they_wait)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig.env.whole_traces = true;
    rig_advance(&rig, 5 * S);
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .end = S}, {.id = 1, .end = S});
    rig_window(&rig, 2, 0, 0);
    rig_advance(&rig, 90 * S);
    ck_assert(rig_bare(&rig, 1));
    ck_assert(rig_linked(&rig, 2));
    RIG_SPANS(&rig, {.id = 3, .parent = 2, .end = S});
    ck_assert(rig_bare(&rig, 3));
    rig_close(&rig);
}
END_TEST

/* They wait for their own first. */
START_TEST(children_that_may_have_samples_of_their_own_inherit_without)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit, candidates: all}");
    rig_warm(&rig);
    const uint64_t from = RIG_WARM - S, to = RIG_WARM;
    RIG_SPANS(&rig, {.id = 4, .parent = 1, .start = from, .end = to},
              {.id = 3, .parent = 2, .start = from, .end = to},
              {.id = 2, .parent = 1, .start = from, .end = to}, {.id = 1, .start = from, .end = to},
              {.id = 12, .parent = 11, .start = from, .end = to},
              {.id = 11, .start = from, .end = to});
    rig_window(&rig, 1, 0, 0);
    rig_advance(&rig, 2 * S);
    ck_assert(rig_linked(&rig, 1) && rig_waits(&rig, 2) && rig_waits(&rig, 4));
    rig_window(&rig, 2, 0, 0);
    rig_advance(&rig, 60 * S);
    ck_assert(rig_linked(&rig, 2));
    ck_assert(rig_linked_as(&rig, 3, 2) && rig_linked_as(&rig, 4, 1));
    ck_assert(rig_bare(&rig, 11) && rig_bare(&rig, 12));
    rig_close(&rig);
}
END_TEST

/* The spans above end later, and one of them has the samples. */
static void inherits_from_one_that_comes_later(const char *config)
{
    struct rig rig;
    rig_open(&rig, config);
    rig_warm(&rig);
    const uint64_t from = RIG_WARM - S, to = RIG_WARM;
    RIG_SPANS(&rig, {.id = 3, .parent = 2, .start = from, .end = to},
              {.id = 13, .parent = 12, .start = from, .end = to});
    rig_window(&rig, 1, 0, 0);
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    rig_advance(&rig, 7 * S);
    ck_assert(rig_waits(&rig, 3) && rig_waits(&rig, 13));
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .start = from, .end = rig_now(&rig)});
    rig_root(&rig, 1, from, rig_now(&rig));
    rig_advance(&rig, 2 * S);
    ck_assert(rig_linked(&rig, 1) && rig_linked_as(&rig, 3, 1));
    rig_advance(&rig, 60 * S);
    ck_assert(rig_linked_as(&rig, 2, 1) && rig_bare(&rig, 13));
    rig_close(&rig);
}

START_TEST(children_inherit_from_spans_that_come_later)
{
    inherits_from_one_that_comes_later("{children: inherit}");
    inherits_from_one_that_comes_later("{children: inherit, candidates: all}");
}
END_TEST

START_TEST(children_of_a_root_that_never_comes_leave_when_the_hold_runs_out)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit}");
    rig_warm(&rig);
    RIG_SPANS(&rig, {.id = 3, .parent = 2, .start = RIG_WARM - S, .end = RIG_WARM});
    rig_advance(&rig, 19 * S);
    ck_assert(rig_waits(&rig, 3));
    rig_advance(&rig, 2 * S);
    ck_assert(rig_bare(&rig, 3));
    rig_close(&rig);
}
END_TEST

/* Its own hold ends before that of its root, which arrived later. */
START_TEST(a_child_waits_for_as_long_as_its_root_does)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit}");
    rig_warm(&rig);
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .start = RIG_WARM - S, .end = RIG_WARM});
    rig_advance(&rig, 15 * S);
    rig_root(&rig, 1, RIG_WARM - S, RIG_WARM + 15 * S);
    rig_advance(&rig, 9 * S);
    ck_assert(rig_waits(&rig, 1) && rig_waits(&rig, 2));
    rig_window(&rig, 1, 0, 0);
    rig_advance(&rig, 2 * S);
    ck_assert(rig_linked(&rig, 1) && rig_linked_as(&rig, 2, 1));
    rig_close(&rig);
}
END_TEST

/* Its client was told to retry, and never did. */
START_TEST(a_child_whose_root_was_seen_and_not_taken_leaves_too)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit}");
    rig_warm(&rig);
    rig_window(&rig, 9, 0, 0);
    rig.traces.verdict = VERDICT_RETRY;
    const struct rig_span spans[] = {{.id = 1, .start = RIG_WARM - S, .end = RIG_WARM},
                                     {.id = 9, .start = RIG_WARM - S, .end = RIG_WARM}};
    ck_assert_int_eq(rig_spans(&rig, spans, 2), VERDICT_RETRY);
    rig.traces.verdict = VERDICT_OK;
    rig_advance(&rig, S);
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .start = RIG_WARM - S, .end = RIG_WARM});
    rig_advance(&rig, 10 * S);
    ck_assert(rig_waits(&rig, 2));
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 2));
    rig_close(&rig);
}
END_TEST

static void count_settled(void *ctx, const struct outcome *worst)
{
    ck_assert_int_eq(worst->verdict, VERDICT_OK);
    ++*(unsigned *)ctx;
}

START_TEST(spans_that_leave_together_answer_for_all_their_requests)
{
    struct rig rig;
    unsigned settled = 0;
    rig_open(&rig, "{}");
    for (uint64_t id = 1; id <= 3; id++) {
        rig.receipt = receipt_new(count_settled, &settled);
        rig_root(&rig, id, 0, S);
        receipt_unref(rig.receipt);
        rig.receipt = NULL;
    }
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 2, 3);
    ck_assert_uint_eq(rig.traces.count, 1);
    ck_assert_uint_eq(settled, 0); /* the next one has them, and has not delivered them yet */
    ck_assert(rig_linked(&rig, 1) && rig_linked(&rig, 2) && rig_linked(&rig, 3));
    ck_assert_uint_eq(settled, 3);
    rig_close(&rig);
}
END_TEST

START_TEST(inherited_links_carry_no_figures)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit, annotate: true}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S});
    ck_assert_int_eq(rig_left(&rig, 1)->samples, 1);
    ck_assert(rig_linked_as(&rig, 2, 1));
    ck_assert_int_eq(rig_left(&rig, 2)->samples, -1);
    rig_close(&rig);
}
END_TEST

START_TEST(a_service_with_spans_in_the_hold_is_not_forgotten)
{
    struct rig rig;
    rig_open(&rig, "{remember: 10s, hold: 1m}");
    rig_root(&rig, 1, 0, S);
    rig_advance(&rig, 30 * S);
    rig_root(&rig, 2, 29 * S, 30 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_advance(&rig, S);
    rig_window(&rig, 1, 2, 0);
    ck_assert(rig_linked(&rig, 1) && rig_linked(&rig, 2));
    rig_close(&rig);
}
END_TEST

/* Even if its requests had to be sent again, and one found no room. */
START_TEST(a_service_that_was_silent_for_remember_is_waited_for_anew)
{
    struct rig rig;
    rig_open(&rig, "{remember: 5m, hold_max_spans: 1}");
    rig.traces.verdict = VERDICT_RETRY;
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S});
    rig.traces.verdict = VERDICT_OK;
    RIG_SPANS(&rig, {.id = 1, .end = S}, {.id = 2, .parent = 1, .end = S}, {.id = 3, .end = S});
    rig_advance(&rig, 46 * S);
    rig_root(&rig, 4, 45 * S, 46 * S);
    ck_assert(rig_bare(&rig, 3) && rig_bare(&rig, 4)); /* it is not profiled */
    rig_advance(&rig, 301 * S);
    rig_root(&rig, 5, 346 * S, 347 * S);
    rig_advance(&rig, 40 * S);
    ck_assert(rig_waits(&rig, 5));
    rig_window(&rig, 5, 0, 0);
    ck_assert(rig_linked(&rig, 5));
    rig_close(&rig);
}
END_TEST

enum { THREADS = 4, ROUNDS = 200 };

struct sender {
    struct rig *rig;
    uint64_t first;
};

static void *send_spans(void *ctx)
{
    const struct sender *sender = ctx;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t id = sender->first + 3 * i;
        RIG_SPANS(sender->rig, {.id = id, .end = S}, {.id = id + 1, .parent = id, .end = S},
                  {.service = "b", .id = id + 2, .end = S});
        if (i % 10 == 0)
            RIG_PROFILE(sender->rig, .duration = S, .ids = {id, id + 2});
        if (i % 16 == 0)
            processor_correlation.tick(sender->rig->self, sender->rig->clock.mono);
    }
    return NULL;
}

enum { VISITED = 9000 };

static void note_visit(void *ctx, const struct watch_held *held)
{
    uint8_t *visits = ctx;
    ck_assert(held->span_id >= 1 && held->span_id <= VISITED);
    visits[held->span_id]++;
}

/* In several portions. */
START_TEST(a_visit_sees_every_span_once)
{
    static uint8_t visits[VISITED + 1];
    struct rig rig;
    rig_open(&rig, "{}");
    for (uint64_t id = 1; id <= VISITED; id++)
        rig_root(&rig, id, 0, S);
    size_t left = 2 * VISITED;
    ck_assert(correlation_visit(rig.self, &left, note_visit, visits));
    ck_assert_uint_eq(left, VISITED);
    for (uint64_t id = 1; id <= VISITED; id++)
        ck_assert_uint_eq(visits[id], 1);
    left = 5000;
    ck_assert(!correlation_visit(rig.self, &left, note_visit, visits));
    ck_assert_uint_eq(visits[VISITED], 2);
    ck_assert_uint_eq(visits[1], 1);
    rig_close(&rig);
}
END_TEST

/* As a portion's end finds it. */
START_TEST(a_visit_goes_on_where_segments_have_left_or_were_replaced)
{
    struct rig rig;
    rig_open(&rig, "{}");
    struct hold *hold = &rig_self(&rig)->hold;
    for (uint64_t id = 1; id <= 2000; id++)
        rig_root(&rig, id, 0, S);
    const struct segment *last = hold->oldest;
    ck_assert_ptr_ne(last, hold->newest);
    hold->unvisited = hold->newest;
    for (uint64_t id = 2000; id > last->count; id--)
        rig_window(&rig, id, 0, 0);
    ck_assert_ptr_eq(hold->oldest, last);
    ck_assert_ptr_eq(hold->unvisited, last);
    for (uint64_t id = 1; hold->oldest; id++)
        rig_window(&rig, id, 0, 0);
    ck_assert_ptr_null(hold->unvisited);
    rig_close(&rig);
}
END_TEST

START_TEST(threads_may_share_it)
{
    struct rig rig;
    pthread_t threads[THREADS];
    struct sender senders[THREADS];
    rig_open(&rig, "{hold_max_spans: 300}");
    for (size_t i = 0; i < THREADS; i++) {
        senders[i] = (struct sender){&rig, 1 + i * 3 * ROUNDS};
        pthread_create(&threads[i], NULL, send_spans, &senders[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rig_advance(&rig, 90 * S);
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, THREADS * ROUNDS * 3);
    bool *seen = calloc(rig.count + 1, sizeof *seen);
    for (size_t i = 0; i < rig.count; i++) {
        ck_assert(!seen[rig.out[i].id]);
        seen[rig.out[i].id] = true;
    }
    free(seen);
    rig_close(&rig);
}
END_TEST

SUITE_MAIN("correlation hold", past_hold_max_spans_the_oldest_leave_as_they_came,
           of_a_request_larger_than_the_hold_the_last_spans_wait,
           past_hold_max_mib_the_oldest_leave_as_they_came,
           when_the_budget_is_used_up_the_oldest_give_way,
           without_any_budget_spans_pass_as_they_came, spans_of_many_requests_leave_in_one_batch,
           tenants_are_never_mixed, the_receipt_of_a_request_settles_with_its_last_span,
           what_downstream_cannot_take_is_offered_again,
           a_request_of_which_downstream_takes_nothing_is_not_held_in_part,
           at_close_spans_leave_judged_or_as_they_came, what_nobody_takes_at_close_is_counted,
           children_inherit_the_id_of_a_linked_local_root,
           children_wait_with_their_local_root_for_who_wants_whole_traces,
           children_wait_for_a_local_root_that_comes_later,
           children_with_samples_of_their_own_are_linked_while_they_wait,
           children_wait_with_their_local_root_for_who_wants_whole_traces,
           children_with_samples_of_their_own_are_linked_while_they_wait,
           children_that_may_have_samples_of_their_own_inherit_without,
           children_inherit_from_spans_that_come_later,
           children_of_a_root_that_never_comes_leave_when_the_hold_runs_out,
           a_child_waits_for_as_long_as_its_root_does,
           a_child_whose_root_was_seen_and_not_taken_leaves_too,
           spans_that_leave_together_answer_for_all_their_requests,
           inherited_links_carry_no_figures, a_service_with_spans_in_the_hold_is_not_forgotten,
           a_service_that_was_silent_for_remember_is_waited_for_anew, a_visit_sees_every_span_once,
           a_visit_goes_on_where_segments_have_left_or_were_replaced, threads_may_share_it)
