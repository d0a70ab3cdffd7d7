#include "tests/processors/correlation/lanes/lane_rig.h"

#include "processors/correlation/tell.h"

enum { LANES = 4 };

#define MIB ((uint64_t)1 << 20)

/* Pushes spans until some had to leave the hold, or `most` requests. */
static void fill(struct rig *rig, struct lane *lane, uint64_t first, unsigned most)
{
    for (unsigned i = 0; i < most; i++)
        ck_assert_int_eq(lane_roots(rig, lane, first + 100 * i, 100, 5 * S + i), VERDICT_OK);
}

static void open_lanes(struct rig *rig, struct lane **lanes, const char *settings)
{
    rig_open(rig, settings);
    for (unsigned i = 0; i < LANES; i++) {
        lanes[i] = lane_made(i);
        lane_at(lanes[i], 1 * S, 20 * S);
        fill(rig, lanes[i], (i + 1) * 1000000, 1);
    }
}

static void close_lanes(struct rig *rig, struct lane **lanes)
{
    for (unsigned i = 0; i < LANES; i++)
        lane_revoke(lanes[i]);
    ck_assert_uint_eq(rig_self(rig)->published.hold_bytes, 0);
    ck_assert_uint_eq(rig_self(rig)->published.hold_spans, 0);
    ck_assert_uint_eq(rig_self(rig)->lanes.common_bytes, 0);
    ck_assert_uint_eq(rig_self(rig)->lanes.common_spans, 0);
    rig_close(rig);
}

START_TEST(a_busy_lane_uses_what_the_others_leave_and_no_more)
{
    struct rig rig;
    struct lane *lanes[LANES];
    open_lanes(&rig, lanes, "{hold_max_spans: 4000}");
    fill(&rig, lanes[0], 9000000, 60);
    uint64_t alone = rig_self(&rig)->published.hold_spans;
    /* Its own share, an eighth, and the common half. */
    ck_assert_uint_ge(alone, 2300);
    ck_assert_uint_le(alone, 2900);
    for (unsigned i = 1; i < LANES; i++)
        fill(&rig, lanes[i], 9000000 + i * 1000000, 60);
    ck_assert_uint_le(rig_self(&rig)->published.hold_spans, 4100);
    ck_assert_uint_ge(rig_self(&rig)->published.hold_spans, 3500);
    close_lanes(&rig, lanes);
}
END_TEST

START_TEST(the_bytes_of_all_lanes_stay_within_the_limit)
{
    struct rig rig;
    struct lane *lanes[LANES];
    open_lanes(&rig, lanes, "{hold_max_mib: 1}");
    for (unsigned i = 0; i < LANES; i++)
        fill(&rig, lanes[i], 9000000 + i * 1000000, 60);
    ck_assert_uint_le(rig_self(&rig)->published.hold_bytes, MIB + MIB / 16);
    ck_assert_uint_eq(rig_self(&rig)->published.hold_limit, MIB);
    close_lanes(&rig, lanes);
}
END_TEST

struct visited {
    size_t count, with_trace;
};

static void note_visit(void *ctx, const struct watch_held *held)
{
    struct visited *visited = ctx;
    ck_assert(view_eq(held->service, VIEW("shop")));
    visited->count++;
    visited->with_trace += proto_find_bytes(held->span, 1).size == 16;
}

START_TEST(metrics_and_lines_sum_over_lanes)
{
    struct rig rig;
    struct lane *lanes[LANES];
    open_lanes(&rig, lanes, "{}");
    for (unsigned i = 0; i < LANES; i++) {
        lane_at_end(lanes[i], SIGNAL_TRACES, RIG_START + 20 * S);
        ck_assert_int_eq(lane_window(&rig, lanes[i], (i + 1) * 1000000, 11 * S), VERDICT_OK);
    }
    rig_tick(&rig);
    ck_assert(rig_explains(&rig, "service shop: spans linked 4, not linked 0, "));
    ck_assert(rig_explains(&rig, "4 span ids known, 0 evicted early; 396 spans in the hold"));
    ck_assert(rig_explains(&rig, "partition 2 of kafka: read up to"));
    struct tally_copy copy;
    ck_assert(tally_read(rig_self(&rig)->services.tallies, 0, &copy));
    ck_assert_uint_eq(copy.counts[TALLY_LINKED], 4);
    ck_assert_uint_eq(rig_self(&rig)->published.services, 1);
    struct watch_waiting waiting;
    ck_assert(correlation_waits(rig.self, 3000001, &waiting));
    ck_assert_str_eq(waiting.service, "shop");
    ck_assert_uint_eq(waiting.arrived, RIG_START + 5 * S);
    ck_assert(!correlation_waits(rig.self, 3000000, &waiting));
    struct visited visited = {.count = 0};
    size_t left = 1000;
    ck_assert(correlation_visit(rig.self, &left, note_visit, &visited));
    ck_assert_uint_eq(visited.count, 396);
    ck_assert_uint_eq(left, 1000 - 396);
    ck_assert_uint_eq(visited.with_trace, 396);
    left = 100;
    ck_assert(!correlation_visit(rig.self, &left, note_visit, &visited));
    ck_assert_uint_eq(visited.count, 496);
    ck_assert_uint_ge(lanes_oldest_age(rig_self(&rig)), 14 * S);
    lane_revoke(lanes[0]);
    lanes[0] = lane_made(0);
    ck_assert(rig_explains(&rig, "service shop: spans linked 4, not linked 0, "));
    close_lanes(&rig, lanes);
}
END_TEST

SUITE_MAIN("limits of lanes", a_busy_lane_uses_what_the_others_leave_and_no_more,
           the_bytes_of_all_lanes_stay_within_the_limit, metrics_and_lines_sum_over_lanes)
