/*
 * A request's body while it comes in. It is charged to the budget as its bytes arrive, and where
 * the budget has to refuse somebody it gives way: first one that has more than its share, then the
 * one that has gone longest without progress, then the slowest. What comes at a good pace and
 * within its share stays.
 *
 * One thread owns an arrival and calls these; any thread may make it give way.
 */
#ifndef LIB_BASE_ARRIVAL_H
#define LIB_BASE_ARRIVAL_H

#include "lib/base/bytes.h"
#include "lib/base/clock.h"

#include <pthread.h>

#define ARRIVAL_STALLED (500 * NS_PER_MS) /* so long without ARRIVAL_PROGRESS */
#define ARRIVAL_YOUNG   NS_PER_S          /* before that nobody is slow */
#define ARRIVAL_LONG    (4 * NS_PER_S)    /* who is going to take so long in all is slow */

enum {
    ARRIVAL_PROGRESS = 16 * 1024, /* bytes */
    ARRIVAL_STEP = 4096,          /* in which it is charged */
    ARRIVAL_AHEAD = 1 << 20       /* so much is allocated, not charged, for what was declared */
};

struct arrival {
    struct budget *budget; /* borrowed; NULL: no limit */
    size_t declared;       /* SIZE_MAX: it was not told */
    pthread_mutex_t lock;  /* over the rest; who makes it give way only ever tries it */
    struct bytes body;     /* itself not charged */
    size_t charged;
    bool gone;             /* it gave way: it keeps nothing any more */
    uint64_t begun;        /* mono; of what is not whole after its first bytes */
    uint64_t progressed;   /* mono */
    size_t since_progress; /* bytes */

    struct arrival *next, *prev; /* of those in the budget; under its lock */
    bool listed;                 /* the owner's, as the next */
    size_t received;             /* bytes that were appended */
};

/* A body of at most max bytes, of which so many were declared (SIZE_MAX: unknown). Takes nothing
 * yet. arrival_end or arrival_drop follows. */
void arrival_begin(struct arrival *arrival, struct budget *budget, size_t max, size_t declared);

/* Keeps n bytes more. FULL: they are more than max. NO_MEMORY: the budget or the allocator has no
 * room, or it gave way; nothing is kept of it from then on. */
enum bytes_result arrival_append(struct arrival *arrival, const void *data, size_t n);

/* It is whole: the bytes, charged to the budget, are the caller's in out. False: it gave way, or
 * the budget refuses what it is to be charged; out is empty. */
bool arrival_end(struct arrival *arrival, struct bytes *out);

/* Lets go of it. Legal after arrival_end, and twice. */
void arrival_drop(struct arrival *arrival);

/* For the budget: makes the first that has to give way, and such as have as much reason, until n
 * bytes are free. False: there is none that has to. Any thread. */
bool arrival_make_way(struct budget *budget, size_t n);

#endif
