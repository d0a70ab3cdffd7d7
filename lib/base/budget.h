/*
 * The memory budget: one limit that everything of variable size is charged to. It lives in base,
 * below net, because request bodies are charged as their bytes arrive.
 *
 * New data may use all of it except what is kept for work on accepted data: the reserve, the pledge
 * for the largest accepted request, or the work in progress, whichever is largest. Before new data
 * is refused, request bodies that are stalled, slow or above their share give way
 * (lib/base/arrival.h). No single request gets more than its share, a quarter, while others need
 * memory.
 *
 * A watched budget also counts resident memory beyond the charges: allocator fragmentation, library
 * buffers, stacks. A thirty-second stays free because such memory is detected late.
 */
#ifndef LIB_BASE_BUDGET_H
#define LIB_BASE_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
    _Atomic size_t limit;   /* bytes; may be changed while in use */
    _Atomic size_t reserve; /* of these, not available to budget_take; 0 after init */
    _Atomic size_t used;
    _Atomic size_t connections; /* of these, charged for connections (lib/net/room.h) */
    _Atomic size_t work;        /* of these, charged for work on accepted data */
    _Atomic size_t unused;      /* of work, not allocated yet */
    _Atomic size_t pledge;      /* bytes kept for work on the largest accepted request */
    _Atomic size_t pledge_holds;
    /* Mono; 0: never. */
    _Atomic uint64_t short_at;  /* when data within its share last found no room */
    _Atomic uint64_t others_at; /* when a request within its share last arrived */

    pthread_mutex_t arriving_lock;
    struct arrival *arriving;  /* lib/base/arrival.h; under the lock */
    _Atomic uint64_t gave_way; /* arrivals that gave way since the start */

    size_t idle;              /* resident bytes when the watch began; 0: not watched */
    _Atomic size_t beyond;    /* resident bytes beyond idle and what is charged and allocated */
    _Atomic size_t look_at;   /* measure again once used has risen to this */
    _Atomic size_t fallen_at; /* measure again once used has fallen to this */
    _Atomic size_t given;     /* bytes given back since the start, modulo SIZE_MAX + 1 */
    _Atomic uint64_t looked;  /* when last measured, mono */
    _Atomic uint64_t trimmed; /* when free memory was last returned, mono */
    atomic_flag looking;      /* guards the rest */
    uint64_t settled;         /* the last budget_settle, mono */
    size_t given_at_trim, given_at_settle;

    _Atomic bool settled_for_now; /* budget_settle need not be called until there is load */
    void (*loaded)(void *ctx);    /* then called, on any thread; NULL: nobody wants to know */
    void *loaded_ctx;
};

void budget_init(struct budget *budget, size_t limit);

/* Starts counting resident memory, with the current amount as the baseline. Call once, while the
 * process is idle. Does nothing under a sanitizer, or where the system does not report it. */
void budget_watch(struct budget *budget);

/* Returns memory to the system that was freed after a burst and that the load no longer needs. For
 * a thread that does no other work at that moment: it may take milliseconds. Measures the load
 * since its last call; returns when to call it next, mono; TIME_NEVER: once loaded was called. The
 * budget must be watched. */
uint64_t budget_settle(struct budget *budget, uint64_t mono_ns);

struct budget_slack {
    size_t beyond; /* resident bytes beyond idle and the charges */
    size_t given;  /* bytes given back since memory was last returned to the system */
    size_t rate;   /* bytes given back per second, of late */
};

/* Pure. Whether much more memory is resident than the load turns over in some seconds, and enough
 * was given back to make up most of it. Otherwise, returning memory would only cause page faults,
 * or return the same nothing again. */
bool budget_has_slack(const struct budget_slack *slack, size_t limit);

/* Charges n bytes for new data. False: no room, nothing is charged. Any thread. A NULL budget has
 * no limit. */
bool budget_take(struct budget *budget, size_t n);

/* As budget_take, for a request that is already above its share: no arrival gives way, and every
 * call fails for one second after others found no room. */
bool budget_take_spare(struct budget *budget, size_t n);

/* As budget_take, but may use the reserve too. */
bool budget_use(struct budget *budget, size_t n);

/* As budget_use, for accepted data that take more memory from here on. Half of the reserve stays
 * free for the work that delivers them. */
bool budget_grow(struct budget *budget, size_t n);

/* Charges work on data that is about to be accepted: first against what is kept for work, the rest
 * like new data. An amount above the share also requires that a share is left for others, or that
 * no other request has arrived for a second; and it is subject to the limits of budget_take_spare.
 * budget_end_work returns it. */
bool budget_begin_work(struct budget *budget, size_t n);
void budget_end_work(struct budget *budget, size_t n);

/* Charges work on accepted data, which may use the whole budget, and with force exceed it. Until
 * budget_end_accepted_work, which returns the rest, everything that this thread takes or forces is
 * drawn from this charge. At most one per thread at a time. */
bool budget_begin_accepted_work(struct budget *budget, size_t n, bool force);
void budget_end_accepted_work(struct budget *budget, size_t n);

/* Reserves n bytes for processing an accepted request until usage falls to an eighth of the limit.
 * Only the largest pledge counts. Any thread. */
void budget_pledge(struct budget *budget, size_t n);

/* While held, the pledge is not dropped however low usage falls; for a small request that needs
 * much work. budget_drop_pledge releases the hold. Any thread. */
void budget_hold_pledge(struct budget *budget);
void budget_drop_pledge(struct budget *budget);

/* Charges n bytes, beyond the limit if need be: for data that was already accepted. Any thread. */
void budget_force(struct budget *budget, size_t n);

/* Returns n bytes. Any thread. */
void budget_give(struct budget *budget, size_t n);

/* The most that one request may take while others need memory. NULL: SIZE_MAX. */
size_t budget_share(const struct budget *budget);

/* The largest acceptable request: processing it may need as much again. NULL: SIZE_MAX. */
size_t budget_largest(const struct budget *budget);

/* What an idle process has for one request and the work on it. NULL: SIZE_MAX. */
size_t budget_empty(const struct budget *budget);

/* The smaller of max and budget_largest. */
size_t budget_cap(const struct budget *budget, size_t max);

/* Whether a request of n bytes could not fit even an empty budget. */
bool budget_never_fits(const struct budget *budget, size_t n);

/* Whether less than half would be in use with n more: memory may then be taken before need. */
bool budget_is_ample(const struct budget *budget, size_t n);

/* Whether what is only remembered may grow from size by n bytes: to an eighth of the limit, or more
 * while a share stays free for requests. NULL: true. */
bool budget_may_remember(const struct budget *budget, size_t size, size_t n);

size_t budget_used(const struct budget *budget);

/* Used and beyond bytes together, above which new data is refused: the limit without what is kept
 * free for work on accepted data and for memory that is noticed late. */
size_t budget_threshold(const struct budget *budget);

#endif
