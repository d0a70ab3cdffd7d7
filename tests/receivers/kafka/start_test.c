#include "receivers/kafka/start.h"

#include "tests/support/suite.h"

START_TEST(the_time_is_that_of_the_earliest_open_span_of_the_lane)
{
    ck_assert(rdkafka_ready());
    rd_kafka_topic_partition_list_t *list = rdkafka.topic_partition_list_new(4);
    struct feed_start starts[] = {
        {.signal = SIGNAL_TRACES, .marks.time_ms = 5000},
        {.signal = SIGNAL_TRACES, .marks.time_ms = 4000},
        {.signal = SIGNAL_PROFILES, .marks.time_ms = 100},
        {.signal = SIGNAL_TRACES, .marks.time_ms = 300},
        {.signal = SIGNAL_TRACES, .marks.time_ms = -1},
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

SUITE_MAIN("start", the_time_is_that_of_the_earliest_open_span_of_the_lane)
