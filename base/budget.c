#include "base/budget.h"

#include <assert.h>

#include "base/clock.h"
#include "base/heap.h"

/* A look costs some microseconds, a trim up to milliseconds. */
#define LOOK_PAUSE (5 * NS_PER_MS)
#define TRIM_PAUSE (250 * NS_PER_MS)
#define TRIM_SOON  (20 * NS_PER_MS) /* where a refusal is the alternative */

void budget_init(struct budget *budget, size_t limit)
{
    *budget = (struct budget){.limit = limit};
    atomic_flag_clear(&budget->looking);
}

void budget_watch(struct budget *budget)
{
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    budget->idle = heap_resident();
#else
    (void)budget;
#endif
}

static size_t excess(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* Never counts more than half of the limit, so that something is always accepted. */
static size_t measure(struct budget *budget, size_t used)
{
    size_t beyond = excess(heap_resident(), budget->idle + used);
    beyond = beyond < budget->limit / 2 ? beyond : budget->limit / 2;
    atomic_store_explicit(&budget->beyond, beyond, memory_order_relaxed);
    return beyond;
}

static void trim(struct budget *budget, uint64_t now, uint64_t pause)
{
    if (now < budget->trimmed + pause)
        return;
    heap_trim();
    budget->trimmed = now;
    measure(budget, budget_used(budget));
}

static void look(struct budget *budget, uint64_t trim_pause)
{
    if (atomic_flag_test_and_set(&budget->looking))
        return;
    size_t used = budget_used(budget);
    uint64_t now = clock_mono(&clock_system);
    budget->looked = now;
    if (measure(budget, used) > budget->limit / 32)
        trim(budget, now, trim_pause);
    atomic_store_explicit(&budget->look_at, used + budget->limit / 128, memory_order_relaxed);
    atomic_store_explicit(&budget->trim_at, used > budget->limit / 8 ? used / 2 : 0,
                          memory_order_relaxed);
    atomic_flag_clear(&budget->looking);
}

/* False: looked a moment ago. */
static bool look_again(struct budget *budget)
{
    if (!budget->idle || clock_mono(&clock_system) < budget->looked + LOOK_PAUSE)
        return false;
    look(budget, TRIM_SOON);
    return true;
}

static bool try_take(struct budget *budget, size_t n, size_t ceiling)
{
    size_t beyond = atomic_load_explicit(&budget->beyond, memory_order_relaxed);
    size_t before = atomic_fetch_add_explicit(&budget->used, n, memory_order_relaxed);
    if (n <= ceiling && before <= ceiling - n && beyond <= ceiling - n - before)
        return true;
    atomic_fetch_sub_explicit(&budget->used, n, memory_order_relaxed);
    return false;
}

static void look_when_grown(struct budget *budget)
{
    if (budget->idle &&
        budget_used(budget) >= atomic_load_explicit(&budget->look_at, memory_order_relaxed))
        look(budget, TRIM_PAUSE);
}

static bool take(struct budget *budget, size_t n, size_t ceiling)
{
    /* Once taken, memory that nobody has written to yet would hide as much of what is beyond. */
    if (n > budget->limit / 32)
        look_again(budget);
    if (!try_take(budget, n, ceiling) && !(look_again(budget) && try_take(budget, n, ceiling)))
        return false;
    look_when_grown(budget);
    return true;
}

bool budget_take(struct budget *budget, size_t n)
{
    if (!budget)
        return true;
    size_t pledge = atomic_load_explicit(&budget->pledge, memory_order_relaxed);
    size_t kept = pledge > budget->reserve ? pledge : budget->reserve;
    return take(budget, n, excess(budget->limit, kept));
}

bool budget_use(struct budget *budget, size_t n)
{
    return !budget || take(budget, n, budget->limit);
}

void budget_pledge(struct budget *budget, size_t n)
{
    size_t before = budget ? atomic_load_explicit(&budget->pledge, memory_order_relaxed) : n;
    while (before < n && !atomic_compare_exchange_weak(&budget->pledge, &before, n)) {
    }
}

void budget_force(struct budget *budget, size_t n)
{
    if (!budget)
        return;
    atomic_fetch_add_explicit(&budget->used, n, memory_order_relaxed);
    look_when_grown(budget);
}

static void look_when_fallen(struct budget *budget, size_t used)
{
    uint64_t now = clock_mono(&clock_system);
    if (atomic_flag_test_and_set(&budget->looking))
        return;
    if (now >= budget->trimmed + TRIM_PAUSE) {
        trim(budget, now, TRIM_PAUSE);
        atomic_store_explicit(&budget->look_at, used + budget->limit / 128, memory_order_relaxed);
        atomic_store_explicit(&budget->trim_at, used > budget->limit / 8 ? used / 2 : 0,
                              memory_order_relaxed);
    }
    atomic_flag_clear(&budget->looking);
}

void budget_give(struct budget *budget, size_t n)
{
    if (!budget)
        return;
    size_t before = atomic_fetch_sub_explicit(&budget->used, n, memory_order_relaxed);
    assert(before >= n);
    if (before - n <= budget->limit / 8 &&
        atomic_load_explicit(&budget->pledge, memory_order_relaxed))
        atomic_store_explicit(&budget->pledge, 0, memory_order_relaxed);
    if (n && before - n < atomic_load_explicit(&budget->trim_at, memory_order_relaxed))
        look_when_fallen(budget, before - n);
}

size_t budget_largest(const struct budget *budget)
{
    if (!budget)
        return SIZE_MAX;
    return budget->reserve ? excess(budget->limit, budget->reserve) / 2 : budget->limit;
}

size_t budget_cap(const struct budget *budget, size_t max)
{
    size_t most = budget_largest(budget);
    return max < most ? max : most;
}

bool budget_never_fits(const struct budget *budget, size_t n)
{
    return n > budget_largest(budget);
}

bool budget_has_ease(const struct budget *budget, size_t n)
{
    if (!budget)
        return true;
    size_t half = budget->limit / 2;
    return n < half && budget_used(budget) < half - n;
}

size_t budget_used(const struct budget *budget)
{
    return atomic_load_explicit(&budget->used, memory_order_relaxed);
}
