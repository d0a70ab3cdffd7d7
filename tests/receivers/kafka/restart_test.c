#include "receivers/kafka/restart.h"

#include "tests/support/suite.h"

enum { READ = 100 };

/* A feed that has read and committed up to READ, and then gets the record with offset 0. */
static void suspect(struct feed *feed)
{
    const rd_kafka_message_t first = {.offset = 0}, next = {.offset = READ};
    *feed = (struct feed){.popped = READ, .acknowledged = READ, .end = READ, .end_asked = 7};
    atomic_store(&feed->restart_at, -1);
    ck_assert(!feed_begins_again(feed, &next));
    ck_assert_int_eq(feed_moves_to(feed, UINT64_MAX), -1);
    ck_assert(feed_begins_again(feed, &first));
}

static uint64_t after(const struct feed *feed, uint64_t ns)
{
    return atomic_load(&feed->suspected) + ns;
}

/* The end is asked for again. */
static void answer(struct feed *feed, int64_t end)
{
    atomic_store(&feed->end, end);
    atomic_store(&feed->end_asked, 8);
}

START_TEST(a_log_that_has_what_comes_next_is_read_on)
{
    struct feed feed;
    suspect(&feed);
    ck_assert_int_eq(feed_moves_to(&feed, after(&feed, 60 * NS_PER_S)), -1); /* not asked since */
    answer(&feed, READ + 5);
    ck_assert_int_eq(feed_moves_to(&feed, after(&feed, 0)), READ);
    answer(&feed, READ);
    ck_assert_int_eq(feed_moves_to(&feed, after(&feed, 0)), READ);
}
END_TEST

START_TEST(a_log_that_stays_shorter_is_read_from_where_it_begins)
{
    struct feed feed;
    suspect(&feed);
    answer(&feed, READ - 1);
    ck_assert_int_eq(feed_moves_to(&feed, after(&feed, NS_PER_S)), -1);
    ck_assert_int_eq(feed_moves_to(&feed, after(&feed, 60 * NS_PER_S)), 0);
}
END_TEST

START_TEST(what_is_certain_or_was_never_committed_begins_again_at_once)
{
    struct feed feed;
    suspect(&feed);
    atomic_store(&feed.suspected, 0);
    ck_assert_int_eq(feed_moves_to(&feed, 0), 0);
    suspect(&feed);
    feed.acknowledged = -1;
    ck_assert_int_eq(feed_moves_to(&feed, 0), 0);
    feed.waiting = (struct in_flight *)&feed; /* a record is being delivered */
    ck_assert_int_eq(feed_moves_to(&feed, 0), -1);
}
END_TEST

SUITE_MAIN("restart", a_log_that_has_what_comes_next_is_read_on,
           a_log_that_stays_shorter_is_read_from_where_it_begins,
           what_is_certain_or_was_never_committed_begins_again_at_once)
