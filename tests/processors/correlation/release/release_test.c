/*
 * Spans that leave the compressed hold while memory is short: they stay as they are until the
 * budget has room for them, and none is lost.
 */
#include "processors/correlation/release/release.h"

#include "processors/correlation/release/ahead.h"
#include "processors/correlation/release/release_write.h"
#include "tests/processors/correlation/release/texts.h"

#include <pthread.h>
#include <sched.h>

enum { LIMIT = 4 << 20, ALL = 400 * TEXTS_IN_ONE };

/* ALL spans in the hold, most of them compressed, and a budget that has no room for them as they
 * came. */
static void open_full(struct rig *rig)
{
    rig_open(rig, "{hold_max_mib: 1, remap: {}}");
    ck_assert_uint_eq(texts_fill(rig, 1, ALL / TEXTS_IN_ONE, false), ALL + 1);
    ck_assert_uint_eq(rig->traces.count, 0);
    rig->budget.limit = LIMIT;
    rig->budget.reserve = LIMIT / 16;
}

/* Lets others use all of it until `give_all`. */
static size_t take_all(struct rig *rig)
{
    size_t taken = LIMIT - budget_used(&rig->budget);
    ck_assert(budget_use(&rig->budget, taken));
    return taken;
}

static void deliver_all(struct rig *rig)
{
    while (rig->count < ALL) {
        size_t before = rig->count;
        texts_collect(rig, false);
        rig_advance(rig, S);
        ck_assert(rig->count > before || rig->traces.count > 0);
    }
}

static void ck_each_once(const struct rig *rig)
{
    bool *seen = calloc(ALL, sizeof *seen);
    ck_assert_uint_eq(rig->count, ALL);
    for (size_t i = 0; i < ALL; i++) {
        ck_assert(!seen[rig->out[i].id - 1]);
        seen[rig->out[i].id - 1] = true;
    }
    free(seen);
}

START_TEST(what_was_compressed_leaves_as_the_budget_has_room)
{
    struct rig rig;
    open_full(&rig);
    rig_advance(&rig, 90 * S);
    ck_assert_uint_gt(rig.traces.count, 0);
    ck_assert_uint_le(budget_used(&rig.budget), LIMIT - LIMIT / 32);
    deliver_all(&rig);
    ck_each_once(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(without_room_one_batch_goes_and_the_next_when_that_was_delivered)
{
    struct rig rig;
    open_full(&rig);
    size_t taken = take_all(&rig);
    rig_advance(&rig, 90 * S);
    ck_assert_uint_eq(rig.traces.count, 1);
    ck_assert_uint_le(rig.traces.batches[0]->payload->size, RELEASE_PART_SHORT + (8 << 10));
    texts_collect(&rig, false);
    rig_advance(&rig, S);
    ck_assert_uint_eq(rig.traces.count, 1);
    deliver_all(&rig);
    ck_each_once(&rig);
    budget_give(&rig.budget, taken);
    rig_close(&rig);
}
END_TEST

/* Spans of many tenants leave in as many batches. */
START_TEST(small_batches_leave_together_though_there_is_no_room)
{
    struct rig rig;
    open_full(&rig);
    size_t taken = take_all(&rig);
    for (unsigned i = 1; i <= 4; i++)
        rig_window(&rig, i, 0, 0);
    for (unsigned i = 1; i <= 4; i++)
        ck_assert(rig_linked(&rig, i));
    budget_give(&rig.budget, taken);
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_whose_samples_came_waits_for_room_and_leaves_with_its_link)
{
    struct rig rig;
    open_full(&rig);
    size_t taken = take_all(&rig);
    struct receipt *others = ahead_begin(rig_self(&rig), AHEAD_MAX, false);
    rig_window(&rig, 2, 3, 0);
    rig_window(&rig, 4, 0, 0);
    ck_assert_uint_eq(rig.traces.count, 0);
    receipt_unref(others);
    budget_give(&rig.budget, taken);
    rig_advance(&rig, S);
    ck_assert(rig_linked(&rig, 2) && rig_linked(&rig, 3) && rig_linked(&rig, 4));
    rig_close(&rig);
}
END_TEST

/* They would leave undecided, and free nothing. */
START_TEST(while_spans_wait_for_room_the_budget_pushes_no_others_out_of_the_hold)
{
    struct rig rig;
    open_full(&rig);
    size_t taken = take_all(&rig);
    struct receipt *others = ahead_begin(rig_self(&rig), AHEAD_MAX, false);
    rig_window(&rig, 1, 0, 0);
    rig_window(&rig, 2, 0, 0);
    texts_fill(&rig, 10000, 3, false);
    ck_assert_uint_eq(rig_self(&rig)->hold.spans, ALL - 2 + 3 * TEXTS_IN_ONE);
    receipt_unref(others);
    budget_give(&rig.budget, taken);
    rig_close(&rig);
}
END_TEST

struct maker {
    struct rig *rig;
    size_t taken;
};

/* Makes room once the first batch came. */
static void *make_room(void *ctx)
{
    struct maker *maker = ctx;
    struct collecting_sink *sink = &maker->rig->traces;
    size_t pushes = 0;
    while (pushes == 0) {
        sched_yield();
        pthread_mutex_lock(&sink->lock);
        pushes = sink->pushes;
        pthread_mutex_unlock(&sink->lock);
    }
    maker->rig->budget.limit = SIZE_MAX;
    budget_give(&maker->rig->budget, maker->taken);
    return NULL;
}

START_TEST(a_stop_waits_for_room)
{
    struct rig rig;
    pthread_t thread;
    open_full(&rig);
    struct maker maker = {&rig, take_all(&rig)};
    rig.env.stop_by = UINT64_MAX;
    pthread_create(&thread, NULL, make_room, &maker);
    rig_stop(&rig);
    pthread_join(thread, NULL);
    texts_collect(&rig, false);
    ck_each_once(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(a_stop_whose_time_is_up_counts_what_found_no_room)
{
    struct rig rig;
    open_full(&rig);
    size_t taken = take_all(&rig);
    rig.env.stop_by = 1;
    rig_stop(&rig);
    texts_collect(&rig, false);
    ck_assert_uint_gt(rig.count, 0);
    ck_assert_uint_eq(rig.count + meter_get(&rig.meter, METER_DROPPED, SIGNAL_TRACES), ALL);
    ck_assert_uint_eq(rig.meter.dropped_by_cause[CAUSE_SHUTDOWN][SIGNAL_TRACES], ALL - rig.count);
    budget_give(&rig.budget, taken);
    rig_close(&rig);
}
END_TEST

static void keep(void *ctx, uint64_t key, const struct progress_mark *mark)
{
    (void)ctx, (void)key, (void)mark;
}

static bool recall(void *ctx, uint64_t key, struct progress_mark *mark)
{
    (void)ctx, (void)key, (void)mark;
    return false;
}

static void settle(void *ctx, const struct outcome *worst)
{
    *(struct outcome *)ctx = *worst;
}

START_TEST(a_stop_leaves_what_found_no_room_to_the_journal)
{
    static const struct receipt_store store = {.keep = keep, .recall = recall};
    struct rig rig;
    struct outcome settled = {0};
    rig_open(&rig, "{hold_max_mib: 1}");
    rig.receipt = receipt_new(settle, &settled);
    receipt_set_durable(rig.receipt, &store);
    texts_fill(&rig, 1, 100, false);
    rig.budget.limit = LIMIT;
    size_t taken = take_all(&rig);
    rig.env.stop_by = 1;
    rig_stop(&rig);
    ck_assert_uint_eq(meter_get(&rig.meter, METER_DROPPED, SIGNAL_TRACES), 0);
    ck_assert_uint_eq(rig.traces.count, 1);
    const struct batch *ahead = rig.traces.batches[0];
    for (size_t i = 0; i < ahead->receipt_count; i++)
        ck_assert(receipt_is_durable(ahead->receipts[i]));
    texts_collect(&rig, false);
    receipt_unref(rig.receipt);
    rig.receipt = NULL;
    ck_assert_int_eq(settled.verdict, VERDICT_RETRY);
    ck_assert_int_eq(settled.cause, CAUSE_SHUTDOWN);
    budget_give(&rig.budget, taken);
    rig_close(&rig);
}
END_TEST

START_TEST(a_reload_hands_on_all_though_nothing_makes_room)
{
    struct rig rig;
    open_full(&rig);
    size_t taken = take_all(&rig);
    rig_stop(&rig);
    texts_collect(&rig, false);
    ck_assert_uint_eq(rig.count, ALL);
    ck_assert_uint_eq(meter_get(&rig.meter, METER_DROPPED, SIGNAL_TRACES), 0);
    budget_give(&rig.budget, taken);
    rig_close(&rig);
}
END_TEST

START_TEST(the_end_of_a_lane_drops_what_waits_for_room)
{
    struct rig rig;
    struct outcome settled = {0};
    rig_open(&rig, "{hold_max_mib: 1}");
    rig.receipt = receipt_new(settle, &settled);
    texts_fill(&rig, 1, 100, false);
    rig.budget.limit = LIMIT;
    size_t taken = take_all(&rig);
    rig_advance(&rig, 90 * S);
    ck_assert_uint_eq(rig.traces.count, 1);
    texts_collect(&rig, false);
    struct outcome revoked = outcome_of(VERDICT_RETRY, CAUSE_REVOKED, "read elsewhere");
    release_drop(rig_self(&rig), &revoked);
    receipt_unref(rig.receipt);
    rig.receipt = NULL;
    ck_assert_int_eq(settled.cause, CAUSE_REVOKED);
    budget_give(&rig.budget, taken);
    rig_close(&rig);
}
END_TEST

SUITE_MAIN("correlation release", what_was_compressed_leaves_as_the_budget_has_room,
           without_room_one_batch_goes_and_the_next_when_that_was_delivered,
           small_batches_leave_together_though_there_is_no_room,
           a_span_whose_samples_came_waits_for_room_and_leaves_with_its_link,
           while_spans_wait_for_room_the_budget_pushes_no_others_out_of_the_hold,
           a_stop_waits_for_room, a_stop_whose_time_is_up_counts_what_found_no_room,
           a_stop_leaves_what_found_no_room_to_the_journal,
           a_reload_hands_on_all_though_nothing_makes_room,
           the_end_of_a_lane_drops_what_waits_for_room)
