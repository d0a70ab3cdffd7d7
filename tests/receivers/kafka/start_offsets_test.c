#include "receivers/kafka/start_offsets.h"

#include "tests/support/suite.h"

START_TEST(the_time_is_that_of_the_earliest_open_span_of_the_lane)
{
    ck_assert(rdkafka_ready());
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new(4);
    struct feed_start starts[] = {
        {.signal = SIGNAL_TRACES, .commit_metadata.time_ms = 5000},
        {.signal = SIGNAL_TRACES, .commit_metadata.time_ms = 4000},
        {.signal = SIGNAL_PROFILES, .commit_metadata.time_ms = 100},
        {.signal = SIGNAL_TRACES, .commit_metadata.time_ms = 300},
        {.signal = SIGNAL_TRACES, .commit_metadata.time_ms = -1},
    };
    rdkafka.topic_partition_list_add(list, "a", 3);
    rdkafka.topic_partition_list_add(list, "b", 3);
    rdkafka.topic_partition_list_add(list, "p", 3);
    rdkafka.topic_partition_list_add(list, "a", 4);
    rdkafka.topic_partition_list_add(list, "a", 5);
    ck_assert_int_eq(start_time(list, starts, 3), 4000);
    ck_assert_int_eq(start_time(list, starts, 4), 300);
    ck_assert_int_eq(start_time(list, starts, 5), -1); /* committed by another program */
    ck_assert_int_eq(start_time(list, starts, 6), -1);
    rdkafka.topic_partition_list_destroy(list);
}
END_TEST

#define S NS_PER_S

static uint64_t since(int64_t from, int64_t end, int64_t time_ms, int64_t low)
{
    const struct start_request request = {.replay_ns = 180 * S, .now = 9000 * S};
    const struct feed_start start = {.from = from, .end = end, .end_asked = 9000 * S};
    return start_since(&request, &start, time_ms, low);
}

START_TEST(profiles_are_whole_from_the_time_that_was_sought)
{
    ck_assert_uint_eq(since(50, 100, 1000000, 10), 820 * S);
    ck_assert_uint_eq(since(50, 100, 1000000, 50), 0); /* earlier ones may have been deleted */
    ck_assert_uint_eq(since(100, 100, 1000000, 100), 9000 * S);
}
END_TEST

START_TEST(without_a_time_they_are_whole_from_the_first_record_or_from_now)
{
    ck_assert_uint_eq(since(0, 100, -1, 0), SINCE_EVER);
    ck_assert_uint_eq(since(0, 0, -1, 0), SINCE_EVER);
    ck_assert_uint_eq(since(0, 100, 1000000, 50), 0); /* what it would read was deleted */
    ck_assert_uint_eq(since(50, 100, -1, 0), 0);      /* committed by another program */
    ck_assert_uint_eq(since(100, 100, -1, 0), 9000 * S);
}
END_TEST

START_TEST(what_the_broker_deleted_is_skipped_and_counted_unless_it_was_delivered)
{
    struct feed_start start = {.from = 50, .deliver_from = 80};
    start_skip_expired(&start, 40);
    ck_assert(start.from == 50 && start.deliver_from == 80 && start.expired == 0);
    start_skip_expired(&start, 60); /* read again for ids alone */
    ck_assert(start.from == 60 && start.deliver_from == 80 && start.expired == 0);
    start_skip_expired(&start, 100);
    ck_assert(start.from == 100 && start.deliver_from == 100 && start.expired == 20);
    uint8_t bits[] = {0xf0, 0x01}; /* 84 to 88 were delivered, behind one that was not */
    start = (struct feed_start){.deliver_from = 80, .commit_metadata = {80, -1, bits, sizeof bits}};
    start_skip_expired(&start, 87);
    ck_assert(start.deliver_from == 87 && start.expired == 4);
    start.deliver_from = 80;
    start_skip_expired(&start, INT64_MAX);
    ck_assert(start.expired == INT64_MAX - 80 - 5);
}
END_TEST

START_TEST(a_partition_that_ends_before_the_committed_offset_is_asked_about_again)
{
    uint64_t since = 0;
    struct start_request request = {.mono = 100 * S, .short_since = &since};
    ck_assert(!start_is_cut(&request, false) && since == 0);
    ck_assert(!start_is_cut(&request, true));
    request.mono = 109 * S;
    ck_assert(!start_is_cut(&request, true));
    request.mono = 111 * S;
    ck_assert(!start_is_cut(&request, false)); /* the broker that answered first was behind */
    ck_assert(!start_is_cut(&request, true));
    request.mono = 121 * S;
    ck_assert(start_is_cut(&request, true));
}
END_TEST

SUITE_MAIN("start_offsets", a_partition_that_ends_before_the_committed_offset_is_asked_about_again,
           the_time_is_that_of_the_earliest_open_span_of_the_lane,
           profiles_are_whole_from_the_time_that_was_sought,
           without_a_time_they_are_whole_from_the_first_record_or_from_now,
           what_the_broker_deleted_is_skipped_and_counted_unless_it_was_delivered)
