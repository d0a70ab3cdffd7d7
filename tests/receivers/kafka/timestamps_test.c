#include "receivers/kafka/timestamps.h"

#include "tests/support/fake_clock.h"
#include "tests/support/suite.h"

#define S NS_PER_S

static size_t choose(struct feed_head a, struct feed_head b)
{
    const struct feed_head heads[] = {a, b};
    return feeds_choose(heads, 2);
}

static struct feed_head next_at(uint64_t time)
{
    return (struct feed_head){true, time};
}

static struct feed_head reached(uint64_t time)
{
    return (struct feed_head){false, time};
}

START_TEST(the_earliest_record_comes_first)
{
    ck_assert_uint_eq(choose(next_at(100 * S), next_at(900 * S)), 0);
    ck_assert_uint_eq(choose(next_at(900 * S), next_at(100 * S)), 1);
    ck_assert_uint_eq(choose(next_at(5 * S), next_at(5 * S)), 0);
}
END_TEST

START_TEST(none_is_read_far_ahead_of_what_is_not_known)
{
    ck_assert_uint_eq(choose(next_at(105 * S), reached(100 * S)), 0);
    ck_assert_uint_eq(choose(next_at(106 * S), reached(100 * S)), 2);
    ck_assert_uint_eq(choose(reached(0), next_at(1000 * S)), 2); /* not read at all yet */
    ck_assert_uint_eq(choose(reached(1000 * S), reached(0)), 2);
}
END_TEST

START_TEST(one_feed_waits_for_none)
{
    const struct feed_head alone = next_at(7);
    ck_assert_uint_eq(feeds_choose(&alone, 1), 0);
    ck_assert_uint_eq(feeds_choose(&alone, 0), 0);
}
END_TEST

START_TEST(a_record_counts_as_no_later_than_those_behind_it)
{
    uint64_t times[] = {5 * S, 7 * S, 6 * S, UINT64_MAX, 9 * S};
    timestamps_lower(times, 5);
    ck_assert_uint_eq(times[0], 5 * S);
    ck_assert_uint_eq(times[1], 6 * S);
    ck_assert_uint_eq(times[2], 6 * S);
    ck_assert_uint_eq(times[3], 9 * S);
    timestamps_lower(times, 0);
}
END_TEST

/* Two profiles of one process and, behind them, an earlier one of another. */
START_TEST(records_keep_their_own_times_though_the_clock_waits_for_those_behind_them)
{
    struct fake_clock clock;
    struct env env = {.clock = &clock.clock};
    struct kafka_receiver receiver = {.env = &env};
    struct reader reader = {.self = &receiver};
    struct feed feed = {
        .reader = &reader, .times = {14 * S, 19 * S, 13 * S}, .least = {14 * S, 19 * S, 13 * S}};
    fake_clock_init(&clock);
    timestamps_lower(feed.least, 3);
    for (feed.head = 0; feed.head < 3; feed.head++) {
        feed_set_clock(&feed);
        ck_assert_uint_eq(feed.dated, feed.times[feed.head]);
        ck_assert_uint_eq(feed.next, 13 * S);
        ck_assert_uint_eq(feed.reached, 13 * S);
    }
}
END_TEST

SUITE_MAIN("timestamps", the_earliest_record_comes_first,
           none_is_read_far_ahead_of_what_is_not_known, one_feed_waits_for_none,
           a_record_counts_as_no_later_than_those_behind_it,
           records_keep_their_own_times_though_the_clock_waits_for_those_behind_them)
