/*
 * The offsets read from a partition, in order, and which of them have settled: their records were
 * delivered or given up. The first offset that has not settled is the one to commit. Not
 * thread-safe.
 */
#ifndef RECEIVERS_KAFKA_OFFSETS_H
#define RECEIVERS_KAFKA_OFFSETS_H

#include "lib/base/budget.h"

/* The most records of a partition that may be in flight: 11,000 a second that wait for a minute and
 * a half. Reading pauses at this limit. */
enum { OFFSETS_MAX = 1 << 20 };

struct offset_entry {
    int64_t offset;
    uint64_t state; /* twice the record's timestamp, ms, and 1 if it has settled */
};

static inline bool offset_entry_settled(const struct offset_entry *entry)
{
    return entry->state & 1;
}

struct offsets {
    struct offset_entry *ring; /* entry n is at n % capacity */
    size_t capacity;
    uint64_t first, next; /* numbers of the entries; the first entry has not settled */
    uint64_t settled;     /* how many have settled since the start */
    uint64_t forgotten;   /* entries with lower numbers were forgotten by offsets_restart */
    int64_t position;     /* the offset after the last one read */
    struct budget *budget;
};

/* position: where reading starts. budget: NULL: not charged. */
void offsets_init(struct offsets *offsets, int64_t position, struct budget *budget);
void offsets_release(struct offsets *offsets);

/* Whether OFFSETS_MAX records are in flight. */
bool offsets_is_full(const struct offsets *offsets);

/* Adds the next offset; *number is for offsets_settle. False: full, or no memory. */
bool offsets_add(struct offsets *offsets, int64_t offset, int64_t time_ms, uint64_t *number);

/* Notes that nothing is left to read before this position, though the offsets before it may have no
 * records: they may be markers of transactions. */
void offsets_skip_to(struct offsets *offsets, int64_t position);

/* Forgets all entries, and goes on at another position, such as the start of a new log. */
void offsets_restart(struct offsets *offsets, int64_t position);

/* Settles an entry, once. Changes nothing if it was forgotten. */
void offsets_settle(struct offsets *offsets, uint64_t number);

/* The first offset that has not settled; if all have, the position. */
int64_t offsets_to_commit(const struct offsets *offsets);

/* The number of entries from the first one that has not settled. */
size_t offsets_size(const struct offsets *offsets);

/* The time of the first record that has not settled; -1: all have. */
int64_t offsets_oldest_ms(const struct offsets *offsets);

#endif
