#include "base/budget.h"

#include <assert.h>

void budget_init(struct budget *budget, size_t limit)
{
    budget->limit = limit;
    atomic_init(&budget->used, 0);
}

bool budget_take(struct budget *budget, size_t n)
{
    if (!budget)
        return true;
    size_t before = atomic_fetch_add_explicit(&budget->used, n, memory_order_relaxed);
    if (n <= budget->limit && before <= budget->limit - n)
        return true;
    atomic_fetch_sub_explicit(&budget->used, n, memory_order_relaxed);
    return false;
}

void budget_force(struct budget *budget, size_t n)
{
    if (budget)
        atomic_fetch_add_explicit(&budget->used, n, memory_order_relaxed);
}

void budget_give(struct budget *budget, size_t n)
{
    if (!budget)
        return;
    size_t before = atomic_fetch_sub_explicit(&budget->used, n, memory_order_relaxed);
    assert(before >= n);
    (void)before;
}

bool budget_never_fits(const struct budget *budget, size_t n)
{
    return budget && n > budget->limit;
}

size_t budget_used(const struct budget *budget)
{
    return atomic_load_explicit(&budget->used, memory_order_relaxed);
}
