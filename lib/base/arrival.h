/*
 * A request body that is still being received. It is charged to the budget as its bytes arrive.
 * When the budget runs out, one such body is dropped (it gives way): first one above its share,
 * then the one that has made no progress for longest, then the slowest. A body that arrives at a
 * good pace and stays within its share is kept.
 *
 * One thread owns an arrival and calls these functions; any thread may make it give way.
 */
#ifndef LIB_BASE_ARRIVAL_H
#define LIB_BASE_ARRIVAL_H

#include "lib/base/bytes.h"
#include "lib/base/clock.h"

#include <pthread.h>

#define ARRIVAL_STALLED (500 * NS_PER_MS) /* stalled after this long without ARRIVAL_PROGRESS */
#define ARRIVAL_YOUNG   NS_PER_S          /* a younger body is never called slow */
#define ARRIVAL_LONG    (4 * NS_PER_S)    /* a body expected to take longer in total is slow */

enum {
    ARRIVAL_PROGRESS = 16 * 1024, /* bytes */
    ARRIVAL_STEP = 4096,          /* bytes; the unit of charging */
    ARRIVAL_AHEAD = 1 << 20       /* bytes allocated up front, uncharged, for a declared size */
};

struct arrival {
    struct budget *budget; /* borrowed; NULL: no limit */
    size_t declared;       /* SIZE_MAX: unknown */
    pthread_mutex_t lock;  /* guards the rest; dropping it from another thread uses only trylock */
    struct bytes body;     /* not charged by struct bytes itself */
    size_t charged;
    bool gone;             /* it gave way and keeps nothing */
    uint64_t begun;        /* mono; set only if the first bytes were not the whole body */
    uint64_t progressed;   /* mono */
    size_t since_progress; /* bytes */

    struct arrival *next, *prev; /* the budget's list; under its lock */
    bool listed;                 /* the owning thread's, like the next */
    size_t received;             /* bytes appended */
};

/* Starts a body of at most max bytes; declared is its Content-Length (SIZE_MAX: unknown). Charges
 * nothing yet. arrival_end or arrival_drop must follow. */
void arrival_begin(struct arrival *arrival, struct budget *budget, size_t max, size_t declared);

/* Appends n bytes. FULL: more than max. NO_MEMORY: the budget or the allocator has no room, or the
 * body gave way; nothing of it is kept from then on. */
enum bytes_result arrival_append(struct arrival *arrival, const void *data, size_t n);

/* Completes the body and moves its bytes, charged to the budget, to out. False: it gave way, or the
 * budget refuses the remaining charge; out is empty. */
bool arrival_end(struct arrival *arrival, struct bytes *out);

/* Discards the body and its charge. May be called after arrival_end, and repeatedly. */
void arrival_drop(struct arrival *arrival);

/* For the budget: makes bodies give way, in the order above, until n bytes are free. False: no body
 * has to. Any thread. */
bool arrival_make_way(struct budget *budget, size_t n);

#endif
