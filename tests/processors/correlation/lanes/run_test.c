#include "tests/processors/correlation/lanes/lane_rig.h"

static unsigned settled;
static struct outcome settled_worst;

static void on_settled(void *ctx, const struct outcome *worst)
{
    (void)ctx;
    settled++;
    settled_worst = *worst;
}

/* The following requests share a receipt. */
static void with_receipt(struct rig *rig)
{
    settled = 0;
    rig->receipt = receipt_new(on_settled, NULL);
}

static void without_receipt(struct rig *rig)
{
    receipt_unref(rig->receipt);
    rig->receipt = NULL;
}

/* An instance, and a lane of which both signals were read up to 1 s. */
static struct lane *begin(struct rig *rig)
{
    struct lane *lane = lane_made(0);
    rig_open(rig, "{}");
    lane_at(lane, 1 * S, 1 * S);
    return lane;
}

static void finish(struct rig *rig, struct lane *lane)
{
    lane_revoke(lane);
    rig_close(rig);
}

START_TEST(spans_wait_for_the_log_and_not_for_the_clock_on_the_wall)
{
    struct rig rig;
    struct lane *lane = begin(&rig);
    ck_assert_int_eq(lane_roots(&rig, lane, 1, 2, 5 * S), VERDICT_OK);
    rig_advance(&rig, 7200 * S); /* of an outage */
    ck_assert(rig_waits(&rig, 1));
    ck_assert_int_eq(lane_window(&rig, lane, 1, 11 * S), VERDICT_OK);
    ck_assert(rig_waits(&rig, 1)); /* the traces are read up to 5 s only */
    lane_at_end(lane, SIGNAL_TRACES, RIG_START + 20 * S);
    rig_tick(&rig);
    ck_assert(rig_linked(&rig, 1));
    ck_assert(rig_waits(&rig, 2));
    lane_at(lane, 300 * S, 300 * S);
    rig_tick(&rig);
    ck_assert(rig_bare(&rig, 2));
    finish(&rig, lane);
}
END_TEST

START_TEST(a_signal_too_far_ahead_is_asked_to_wait_for_the_other)
{
    struct rig rig;
    struct lane *lane = lane_made(0);
    unsigned taken = 0;
    rig_open(&rig, "{hold_max_mib: 1}");
    while (lane_roots(&rig, lane, 1 + 100 * taken, 100, (10 + taken) * S) == VERDICT_OK)
        taken++;
    ck_assert_uint_gt(taken, 2);
    ck_assert_uint_lt(taken, 100);
    ck_assert_uint_lt(budget_used(&rig.budget), 1 << 19);
    ck_assert_int_eq(lane_window(&rig, lane, 1, 15 * S), VERDICT_OK);
    ck_assert(rig_linked(&rig, 1));
    ck_assert_int_eq(lane_roots(&rig, lane, 1 + 100 * taken, 100, (10 + taken) * S), VERDICT_OK);
    finish(&rig, lane);
}
END_TEST

START_TEST(what_is_not_ahead_of_the_clock_never_waits_for_what_is)
{
    struct rig rig;
    struct lane *lane = lane_made(0);
    unsigned taken = 0;
    rig_open(&rig, "{hold_max_mib: 1}");
    lane_at(lane, 1 * S, 3 * S);
    while (lane_roots(&rig, lane, 100 + 100 * taken, 100, (10 + taken) * S) == VERDICT_OK)
        taken++;
    ck_assert_uint_gt(taken, 2);
    ck_assert_int_eq(lane_roots(&rig, lane, 1, 1, 2 * S), VERDICT_OK);
    ck_assert(rig_waits(&rig, 1));
    finish(&rig, lane);
}
END_TEST

START_TEST(a_revoked_lane_drops_its_spans_unsent_and_says_so_to_their_receipts)
{
    struct rig rig;
    struct lane *lane = lane_made(0), *other = lane_made(1);
    rig_open(&rig, "{}");
    lane_at(lane, 1 * S, 1 * S);
    lane_at(other, 1 * S, 9 * S);
    lane_at_end(lane, SIGNAL_PROFILES, RIG_START + 6 * S);
    with_receipt(&rig);
    ck_assert_int_eq(lane_roots(&rig, lane, 1, 2, 5 * S), VERDICT_OK); /* is held */
    ck_assert_int_eq(lane_roots(&rig, lane, 3, 2, 7 * S), VERDICT_OK); /* is ahead of its clock */
    without_receipt(&rig);
    ck_assert_int_eq(lane_roots(&rig, other, 11, 2, 5 * S), VERDICT_OK);
    ck_assert_uint_eq(rig_self(&rig)->published.hold_spans, 4);
    ck_assert_uint_eq(settled, 0);
    lane_end(lane, CAUSE_REVOKED);
    ck_assert_uint_eq(settled, 1);
    ck_assert_int_eq(settled_worst.verdict, VERDICT_RETRY);
    ck_assert_int_eq(settled_worst.cause, CAUSE_REVOKED);
    ck_assert_uint_eq(rig_self(&rig)->published.hold_spans, 2);
    ck_assert_uint_eq(rig.traces.count, 0);
    ck_assert_uint_eq(meter_dropped(&rig.meter, CAUSE_REVOKED, SIGNAL_TRACES), 0);
    ck_assert_int_eq(lane_roots(&rig, lane, 5, 1, 8 * S), VERDICT_RETRY);
    lane_unref(lane);
    lane_at(other, 60 * S, 60 * S);
    rig_tick(&rig);
    ck_assert(!rig_waits(&rig, 11));
    lane_revoke(other);
    rig_close(&rig);
}
END_TEST

START_TEST(a_lane_stands_still_while_the_next_queue_is_full)
{
    struct rig rig;
    struct lane *lane = begin(&rig);
    ck_assert_int_eq(lane_roots(&rig, lane, 1, 1, 5 * S), VERDICT_OK);
    rig.traces.verdict = VERDICT_RETRY;
    lane_at_end(lane, SIGNAL_TRACES, RIG_START + 30 * S);
    ck_assert_int_eq(lane_window(&rig, lane, 1, 11 * S), VERDICT_OK);
    ck_assert_int_eq(lane_window(&rig, lane, 2, 21 * S), VERDICT_OK); /* is kept for later */
    ck_assert_uint_eq(rig.profiles.count, 1);
    ck_assert_uint_le(rig_tick(&rig), rig.clock.mono + 100 * NS_PER_MS);
    ck_assert_uint_eq(rig.profiles.count, 1);
    rig.traces.verdict = VERDICT_OK;
    rig_tick(&rig);
    ck_assert(rig_linked(&rig, 1));
    ck_assert_uint_eq(rig.profiles.count, 2);
    finish(&rig, lane);
}
END_TEST

START_TEST(profiles_for_their_ids_alone_are_not_handed_on)
{
    struct rig rig;
    struct lane *lane = lane_made(0);
    struct rig_profile profile = {.time = 0, .duration = 10 * S, .ids = {1}};
    rig_open(&rig, "{}");
    struct batch *batch = rig_profile_batch(&rig, &profile);
    batch_set_ids_only(batch);
    lane_at(lane, 15 * S, 1 * S);
    ck_assert_int_eq(lane_push(&rig, lane, batch, 11 * S), VERDICT_OK);
    lane_at_end(lane, SIGNAL_PROFILES, RIG_START + 15 * S);
    ck_assert_int_eq(lane_roots(&rig, lane, 1, 1, 5 * S), VERDICT_OK);
    ck_assert_uint_eq(rig.profiles.pushes, 0);
    ck_assert(rig_linked(&rig, 1));
    finish(&rig, lane);
}
END_TEST

START_TEST(an_instance_that_ends_before_its_lanes_hands_on_what_they_hold)
{
    struct rig rig;
    struct lane *lane = lane_made(0);
    rig_open(&rig, "{}");
    lane_at(lane, 1 * S, 6 * S);
    ck_assert_int_eq(lane_roots(&rig, lane, 1, 1, 5 * S), VERDICT_OK); /* is held */
    ck_assert_int_eq(lane_roots(&rig, lane, 2, 1, 8 * S), VERDICT_OK); /* is ahead of its clock */
    ck_assert(rig_waits(&rig, 1));
    rig_stop(&rig);
    ck_assert(!rig_waits(&rig, 1));
    ck_assert(!rig_waits(&rig, 2));
    finish(&rig, lane);
}
END_TEST

/* Two sidecars send what they kept, each in its own order, while the lane stands still; here,
 * because a third signal does. */
START_TEST(batches_ahead_of_the_clock_run_in_the_order_of_their_times)
{
    struct rig rig;
    struct lane *lane = lane_new("kafka", 0, LANE_SIGNALS | SIGNAL_BIT(SIGNAL_LOGS));
    lane_set_since(lane, RIG_START);
    rig_open(&rig, "{}");
    lane_at_end(lane, SIGNAL_LOGS, RIG_START + 12 * S);
    lane_at(lane, 11 * S, 11 * S);
    ck_assert_int_eq(lane_window(&rig, lane, 100, 11 * S), VERDICT_OK);
    ck_assert_int_eq(lane_roots(&rig, lane, 1, 2, 11 * S), VERDICT_OK); /* is held */
    ck_assert_int_eq(lane_roots(&rig, lane, 11, 1, 21 * S), VERDICT_OK);
    ck_assert_int_eq(lane_roots(&rig, lane, 12, 1, 60 * S), VERDICT_OK);
    ck_assert_int_eq(lane_window(&rig, lane, 11, 31 * S), VERDICT_OK);
    ck_assert_int_eq(lane_window(&rig, lane, 12, 62 * S), VERDICT_OK);
    ck_assert_int_eq(lane_roots(&rig, lane, 21, 1, 22 * S), VERDICT_OK);
    ck_assert_int_eq(lane_roots(&rig, lane, 22, 2, 61 * S), VERDICT_OK);
    ck_assert_int_eq(lane_window(&rig, lane, 1, 20 * S), VERDICT_OK);
    ck_assert_int_eq(lane_window(&rig, lane, 21, 30 * S), VERDICT_OK);
    ck_assert_int_eq(lane_window(&rig, lane, 22, 63 * S), VERDICT_OK);
    ck_assert_uint_eq(rig.traces.count, 0);
    lane_at_end(lane, SIGNAL_LOGS, RIG_START + 300 * S);
    lane_at(lane, 300 * S, 300 * S);
    rig_tick(&rig);
    ck_assert(rig_linked(&rig, 1)); /* its profile came behind one of 40 s later */
    for (uint64_t id = 11; id <= 21; id += 10) {
        ck_assert(rig_linked(&rig, id));
        ck_assert(rig_linked(&rig, id + 1));
    }
    ck_assert(rig_bare(&rig, 2));
    ck_assert(rig_bare(&rig, 23));
    finish(&rig, lane);
}
END_TEST

START_TEST(batches_leave_without_a_lane)
{
    struct rig rig;
    struct lane *lane = begin(&rig);
    lane_at_end(lane, SIGNAL_TRACES, RIG_START + 20 * S);
    ck_assert_int_eq(lane_window(&rig, lane, 1, 11 * S), VERDICT_OK);
    ck_assert_uint_eq(rig.profiles.count, 1);
    ck_assert_ptr_null(rig.profiles.batches[0]->lane);
    finish(&rig, lane);
}
END_TEST

SUITE_MAIN("lane events", spans_wait_for_the_log_and_not_for_the_clock_on_the_wall,
           a_signal_too_far_ahead_is_asked_to_wait_for_the_other,
           what_is_not_ahead_of_the_clock_never_waits_for_what_is,
           a_revoked_lane_drops_its_spans_unsent_and_says_so_to_their_receipts,
           a_lane_stands_still_while_the_next_queue_is_full,
           profiles_for_their_ids_alone_are_not_handed_on,
           an_instance_that_ends_before_its_lanes_hands_on_what_they_hold,
           batches_ahead_of_the_clock_run_in_the_order_of_their_times, batches_leave_without_a_lane)
