/*
 * Finds the offset at which each partition is read after an assignment: the committed one. Profiles
 * are read from an earlier one, because spans that are read again need them.
 */
#ifndef RECEIVERS_KAFKA_START_OFFSETS_H
#define RECEIVERS_KAFKA_START_OFFSETS_H

#include "receivers/kafka/reader.h"

struct start_request {
    rd_kafka_t *client;
    bool earliest;      /* where a partition without a committed offset starts */
    uint64_t replay_ns; /* how much earlier profiles are read */
    uint64_t now;       /* unix ns */
    uint64_t mono;
    uint64_t *short_since; /* since when a partition ends before what is committed, mono; 0: none
                              does. The caller keeps it from one request to the next */
};

/* Fills starts, one for each partition of the list, and the list's offsets. The starts' topic and
 * signal must be set. Blocks for up to some seconds. False: the brokers did not answer, or a
 * partition ends before what is committed and may not have been made again; error is a sentence;
 * nothing is allocated. */
bool start_find(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                struct feed_start *starts, char *error, size_t error_size);

/* Like start_find, with the offsets and metadata in the list instead of the committed ones. */
bool start_again(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                 struct feed_start *starts, char *error, size_t error_size);

/* Pure, but for *request->short_since. Whether a partition counts as made again, of those that end
 * before what is committed: only if that lasts, because a broker that was stopped answers as the
 * leader that it was. ends_before: there is one. */
bool start_is_cut(const struct start_request *request, bool ends_before);

/* Pure. Returns the log time, in ms, of the earliest span of partition `number` that has not
 * settled; -1: not known. */
int64_t start_time(const rd_kafka_topic_partition_list_t *list, const struct feed_start *starts,
                   int32_t number);

/* Pure. Moves a start on to the first offset that the broker has, and counts what was to be
 * delivered before it as expired, without what the commit's metadata lists as delivered. */
void start_skip_expired(struct feed_start *start, int64_t low);

/* Pure. Returns the time, unix ns, from which on a feed reads every profile; 0: not known;
 * SINCE_EVER: the broker has deleted none. time_ms: start_time of the partition. low: the first
 * offset that the broker has. */
uint64_t start_since(const struct start_request *request, const struct feed_start *start,
                     int64_t time_ms, int64_t low);

#endif
