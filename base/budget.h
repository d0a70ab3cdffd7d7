/*
 * The memory budget: one number that everything which grows draws on. It stands in base, below
 * net, because request bodies are charged as their bytes arrive.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
    _Atomic size_t limit; /* bytes; may be set anew while in use */
    _Atomic size_t used;
};

void budget_init(struct budget *budget, size_t limit);

/* Takes n bytes, or takes nothing and answers false. Any thread. A NULL budget has no limit. */
bool budget_take(struct budget *budget, size_t n);

/* Takes n bytes even past the limit: for what was accepted already. Any thread. */
void budget_force(struct budget *budget, size_t n);

/* Gives back what was taken. Any thread. */
void budget_give(struct budget *budget, size_t n);

/* True for a request of n bytes that could not fit the empty budget. */
bool budget_never_fits(const struct budget *budget, size_t n);

size_t budget_used(const struct budget *budget);

#endif
