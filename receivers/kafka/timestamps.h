/* Reads the timestamps of a feed's records and sets the lane's clock from them. Call on the lane's
 * worker. */
#ifndef RECEIVERS_KAFKA_TIMESTAMPS_H
#define RECEIVERS_KAFKA_TIMESTAMPS_H

#include "receivers/kafka/reader.h"

/* Reads the timestamps of the records that were popped. Producers that send what they kept during
 * an outage may write profiles out of order, so the clock waits for the earliest profile among
 * them. Each keeps its own time: those of one process must not change places. */
void feed_read_timestamps(struct feed *feed);

/* Sets `dated` from the next record's timestamp, and moves the lane's clock. The time is never
 * later than now, so that a producer whose clock is ahead cannot move the lane's clock into the
 * future, and never earlier than what the lane has processed. */
void feed_set_clock(struct feed *feed);

/* Counts the feed as read up to now if it is at its end. */
void feed_at_end(struct feed *feed);

/* ---- pure ---- */

/* A joint feed's state when the next record is chosen. */
struct feed_head {
    bool known;    /* it has a next record */
    uint64_t time; /* feed.next, or else the time that the feed has reached; unix ns */
};

/* Lowers each time to the earliest of those after it. */
void timestamps_lower(uint64_t *times, size_t count);

/* How far a feed may be read ahead of another whose next record is not known yet. */
#define FEED_AHEAD_NS (5 * NS_PER_S)

/* Returns the index of the feed with the earliest next record. Returns count if none may be read
 * now: a record must not be more than FEED_AHEAD_NS later than the time that a feed without a next
 * record has reached. */
size_t feeds_choose(const struct feed_head *heads, size_t count);

#endif
