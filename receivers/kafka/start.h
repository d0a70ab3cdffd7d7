/*
 * Where reading starts after an assignment: at the committed offset of each partition, and of
 * profiles earlier, so that the spans that are read again find theirs.
 */
#ifndef RECEIVERS_KAFKA_START_H
#define RECEIVERS_KAFKA_START_H

#include "receivers/kafka/reader.h"

struct start_request {
    rd_kafka_t *client;
    bool earliest;      /* where a partition without a committed offset starts */
    uint64_t replay_ns; /* how much earlier profiles are read */
    uint64_t now;       /* unix ns */
};

/* Fills starts, one for each partition of the list, whose topic and signal are set, and the list's
 * offsets. Blocks up to some seconds. False: the brokers did not answer, error is a sentence;
 * nothing is kept. */
bool start_find(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                struct feed_start *starts, char *error, size_t error_size);

/* The same for partitions whose offset and metadata are those that were last to be committed. */
bool start_again(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                 struct feed_start *starts, char *error, size_t error_size);

/* Pure. The earliest log time at which a span of partition `number` is still open, ms; -1: it is
 * not known. */
int64_t start_time(const rd_kafka_topic_partition_list_t *list, const struct feed_start *starts,
                   int32_t number);

/* Pure. The time from which on a feed of profiles has every one, unix ns; 0: not known, SINCE_EVER:
 * nothing was deleted. time_ms: start_time of its partition. low: the first offset that the broker
 * has. */
uint64_t start_since(const struct start_request *request, const struct feed_start *start,
                     int64_t time_ms, int64_t low);

#endif
