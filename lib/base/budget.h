/*
 * The memory budget: one number that everything which grows draws on. It stands in base, below
 * net, because request bodies are charged as their bytes arrive.
 *
 * New data may fill it but for what is kept for work on what was accepted: a reserve, or as much as
 * the largest accepted request may take, or what is at work now, whichever is most. Before new data
 * are refused, bodies that are still coming in and have no claim to wait for give way
 * (lib/base/arrival.h). No single request gets more than a share, a quarter, while others want it.
 *
 * A watched budget also counts what the process holds resident beyond its charges: the allocator's
 * holes, libraries' buffers, stacks. A thirty-second of it stays free, since that is seen late.
 */
#ifndef LIB_BASE_BUDGET_H
#define LIB_BASE_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
    _Atomic size_t limit;   /* bytes; may be set anew while in use */
    _Atomic size_t reserve; /* of these, kept from budget_take; 0 after init */
    _Atomic size_t used;
    _Atomic size_t work;   /* of these, for work on accepted data */
    _Atomic size_t unused; /* of work, what nothing has been allocated for */
    _Atomic size_t pledge; /* work on the largest accepted request */
    _Atomic size_t pledge_holds;
    /* Mono; 0: never. */
    _Atomic uint64_t short_at;  /* when data within their share last found no room */
    _Atomic uint64_t others_at; /* when a request within its share last came */

    pthread_mutex_t arriving_lock;
    struct arrival *arriving;  /* lib/base/arrival.h; under the lock */
    _Atomic uint64_t gave_way; /* of these, since the start */

    size_t idle;             /* resident when the watch began; 0: not watched */
    _Atomic size_t beyond;   /* resident now, beyond idle and what is charged and allocated */
    _Atomic size_t look_at;  /* used has come up to this: look again */
    _Atomic size_t trim_at;  /* used has fallen to this: give memory back to the system */
    _Atomic uint64_t looked; /* when, monotonic */
    atomic_flag looking;     /* guards the rest */
    uint64_t trimmed;
};

void budget_init(struct budget *budget, size_t limit);

/* Begins to count resident memory, from what the process holds now. Once, when it is idle. Nothing
 * happens under a sanitizer, or where the system does not tell. */
void budget_watch(struct budget *budget);

/* Takes n bytes for new data, or takes nothing and answers false. Any thread. A NULL budget has no
 * limit. */
bool budget_take(struct budget *budget, size_t n);

/* The same for one that has more than its share already: nobody gives way, and nothing is to be had
 * for a second after others found no room. */
bool budget_take_spare(struct budget *budget, size_t n);

/* The same for what may use the reserve too. */
bool budget_use(struct budget *budget, size_t n);

/* For work on data that are about to be accepted: it comes out of what is kept for that, and more
 * of it counts as new data do. Above a share it is to be had where a share is left for others, or
 * nobody else came for a second; and as budget_take_spare. budget_end_work gives it back. */
bool budget_begin_work(struct budget *budget, size_t n);
void budget_end_work(struct budget *budget, size_t n);

/* For work on accepted data, which may use all there is; past the limit with force. What this
 * thread takes and forces from here on comes out of it, until budget_finish_work gives the rest
 * back. One at a time on a thread. */
bool budget_go_on_work(struct budget *budget, size_t n, bool force);
void budget_finish_work(struct budget *budget, size_t n);

/* An accepted request whose work may take n bytes: as much is kept free until used has fallen to an
 * eighth of the limit. Any thread. */
void budget_pledge(struct budget *budget, size_t n);

/* What is pledged stays while it is held, however little is used: for an accepted request that is
 * small beside the work on it. Any thread. */
void budget_hold_pledge(struct budget *budget);
void budget_drop_pledge(struct budget *budget);

/* Takes n bytes even past the limit: for what was accepted already. Any thread. */
void budget_force(struct budget *budget, size_t n);

/* Gives back what was taken. Any thread. */
void budget_give(struct budget *budget, size_t n);

/* What one request may take while others want more; NULL: SIZE_MAX. */
size_t budget_share(const struct budget *budget);

/* The largest request that can be accepted: work on one may need as much again. NULL: SIZE_MAX. */
size_t budget_largest(const struct budget *budget);

/* The lesser of max and the largest request. */
size_t budget_cap(const struct budget *budget, size_t max);

/* True for a request of n bytes that could not fit the empty budget. */
bool budget_never_fits(const struct budget *budget, size_t n);

/* Whether less than half would be used with n bytes more: such may be taken ahead of their need. */
bool budget_has_ease(const struct budget *budget, size_t n);

size_t budget_used(const struct budget *budget);

#endif
