/*
 * The memory budget: one number that everything which grows draws on. It stands in base, below
 * net, because request bodies are charged as their bytes arrive.
 *
 * New data may fill it but for a reserve, which is for work on what was accepted. A watched budget
 * also counts what the process holds resident beyond its charges: the allocator's holes, libraries'
 * buffers, stacks.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
    _Atomic size_t limit;   /* bytes; may be set anew while in use */
    _Atomic size_t reserve; /* of these, kept from budget_take; 0 after init */
    _Atomic size_t used;
    _Atomic size_t pledge; /* work on the largest accepted request, where that is above reserve */

    size_t idle;             /* resident when the watch began; 0: not watched */
    _Atomic size_t beyond;   /* resident now, beyond idle and used */
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

/* The same for work on accepted data, which may use the reserve too. */
bool budget_use(struct budget *budget, size_t n);

/* An accepted request whose work may take n bytes: as much is kept free until used has fallen to an
 * eighth of the limit. Any thread. */
void budget_pledge(struct budget *budget, size_t n);

/* Takes n bytes even past the limit: for what was accepted already. Any thread. */
void budget_force(struct budget *budget, size_t n);

/* Gives back what was taken. Any thread. */
void budget_give(struct budget *budget, size_t n);

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
