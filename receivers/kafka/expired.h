/* Counts records that the broker deleted before they were read, when a partition is assigned and
 * while its lane is behind, and logs them. */
#ifndef RECEIVERS_KAFKA_EXPIRED_H
#define RECEIVERS_KAFKA_EXPIRED_H

#include "receivers/kafka/group.h"

/* Of a partition. */
struct expired_count {
    bool assigned;          /* at some time, to this member */
    uint64_t records, said; /* since the start; of these, logged */
    int64_t last;           /* offset of the last one */
    uint64_t at;            /* when that was noticed, unix ns */
    uint64_t say_at;        /* mono */
};

/* Counts records of an assigned partition, the last one right before offset `end`. They may be
 * none. Logs them, at most once a minute for a partition. */
void group_add_expired(struct kafka_group *group, const char *topic, int32_t partition,
                       int64_t records, int64_t end);

/* Finds out why the offsets of feeds jumped, and counts and logs what expired. Blocks for up to a
 * second if some did. */
void group_look_for_expired(struct kafka_group *group, uint64_t mono);

/* Appends a line for each partition with such records. Under the lock. */
void group_explain_expired(const struct kafka_group *group, struct bytes *out);

/* Pure. How many of the gap's offsets are below the first one that the broker has. */
int64_t gap_expired(struct feed_gap gap, int64_t low);

#endif
