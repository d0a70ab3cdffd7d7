/*
 * The offsets of a partition that were read, in the order of the log, and which of them have
 * settled. What may be committed is the first one that has not: everything before it was delivered
 * or given up. Not synchronised.
 */
#ifndef RECEIVERS_KAFKA_LEDGER_H
#define RECEIVERS_KAFKA_LEDGER_H

#include "lib/base/budget.h"

/* The most records of a partition that may be under way; then reading it waits. */
enum { LEDGER_MAX = 16384 };

struct ledger_entry {
    int64_t offset;
    int64_t time_ms; /* the record's timestamp */
    bool settled;
};

struct ledger {
    struct ledger_entry *ring; /* entry n is at n % capacity */
    size_t capacity;
    uint64_t first, next; /* numbers of the entries: the first one is open, unless there is none */
    uint64_t settled;     /* how many ever did */
    int64_t position;     /* the offset after the last one read */
    struct budget *budget;
};

/* position: where reading starts. budget: NULL: not charged. */
void ledger_init(struct ledger *ledger, int64_t position, struct budget *budget);
void ledger_release(struct ledger *ledger);

/* Whether LEDGER_MAX records are under way. */
bool ledger_is_full(const struct ledger *ledger);

/* Adds the next offset; *number is for ledger_settle. False: full, or no memory. */
bool ledger_add(struct ledger *ledger, int64_t offset, int64_t time_ms, uint64_t *number);

/* Settles an entry, once. */
void ledger_settle(struct ledger *ledger, uint64_t number);

/* The offset to commit: the first one that has not settled, or the position. */
int64_t ledger_commit(const struct ledger *ledger);

/* How many are between that offset and the position. */
size_t ledger_size(const struct ledger *ledger);

/* The time of the first one that has not settled; -1: there is none. */
int64_t ledger_oldest_ms(const struct ledger *ledger);

#endif
