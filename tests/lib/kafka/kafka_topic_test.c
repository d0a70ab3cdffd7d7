#include "lib/kafka/kafka_topic.h"

#include "tests/support/suite.h"

static char text[KAFKA_TROUBLE_SIZE];

/* Of a topic with two partitions, the second of which has these replicas. */
static bool lack(int replicas, int in_sync, int64_t least)
{
    struct rd_kafka_metadata_partition partitions[] = {
        {.id = 0, .replica_cnt = replicas, .isr_cnt = replicas < 3 ? replicas : 3},
        {.id = 1, .replica_cnt = replicas, .isr_cnt = in_sync}};
    const struct rd_kafka_metadata_topic topic = {
        .topic = "spans", .partition_cnt = 2, .partitions = partitions};
    text[0] = '\0';
    return kafka_replicas_lack(&topic, least, text, sizeof text);
}

START_TEST(a_partition_with_too_few_replicas_in_sync_is_named)
{
    ck_assert(!lack(3, 2, 2) && !lack(1, 1, 1));
    ck_assert(lack(3, 1, 2));
    ck_assert_str_eq(text, "topic spans: brokers refuse records of partition 1, because 1 of its 3 "
                           "replicas is in sync and min.insync.replicas is 2: start the brokers "
                           "that are down, or lower that");
}
END_TEST

START_TEST(brokers_expect_no_more_replicas_than_the_topic_has)
{
    ck_assert(!lack(1, 1, 2) && !lack(2, 2, 3));
    ck_assert(lack(2, 1, 3));
}
END_TEST

START_TEST(where_the_least_number_is_not_known_a_missing_replica_may_be_the_reason)
{
    ck_assert(!lack(3, 3, 0));
    ck_assert(lack(3, 2, 0));
    ck_assert_str_eq(text, "topic spans: brokers may refuse records of partition 1, because 2 of "
                           "its 3 replicas are in sync: start the brokers that are down, or lower "
                           "min.insync.replicas");
}
END_TEST

START_TEST(a_partition_without_a_leader_lacks_a_broker_not_replicas)
{
    ck_assert(!lack(1, 0, 1));
}
END_TEST

SUITE_MAIN("kafka_topic", a_partition_with_too_few_replicas_in_sync_is_named,
           brokers_expect_no_more_replicas_than_the_topic_has,
           where_the_least_number_is_not_known_a_missing_replica_may_be_the_reason,
           a_partition_without_a_leader_lacks_a_broker_not_replicas)
