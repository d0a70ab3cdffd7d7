#include "lib/base/budget.h"

#include <assert.h>

#include "lib/base/arrival.h"
#include "lib/base/clock.h"
#include "lib/base/heap.h"

/* Measuring takes microseconds, trimming up to milliseconds. */
#define LOOK_PAUSE (5 * NS_PER_MS)
#define TRIM_PAUSE (250 * NS_PER_MS)
#define TRIM_SOON  (20 * NS_PER_MS) /* if the alternative is to refuse data */
#define RECENT     NS_PER_S         /* others count as active for this long */

#define SETTLE_PAUSE NS_PER_S

/* Resident beyond the charges once a process has worked: code, pools, fragments. */
#define BEYOND_USUAL ((size_t)6 << 20)

enum {
    SHARES = 4,
    SLACK_LEAST = 4 << 20, /* bytes for which trimming is worth its cost */
    SLACK_SECONDS = 4      /* what is given back within so long is needed again soon */
};

void budget_init(struct budget *budget, size_t limit)
{
    *budget = (struct budget){.limit = limit};
    atomic_flag_clear(&budget->looking);
    pthread_mutex_init(&budget->arriving_lock, NULL);
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

/* Counts at most half of the limit, so that something is always accepted. */
static size_t budget_measure(struct budget *budget, size_t used)
{
    /* Charged but unallocated work would hide that much resident memory. */
    size_t unused = atomic_load_explicit(&budget->unused, memory_order_relaxed);
    size_t beyond = excess(heap_resident(), budget->idle + excess(used, unused));
    beyond = beyond < budget->limit / 2 ? beyond : budget->limit / 2;
    atomic_store_explicit(&budget->beyond, beyond, memory_order_relaxed);
    return beyond;
}

static void budget_trim(struct budget *budget, uint64_t now, uint64_t pause)
{
    if (now < atomic_load_explicit(&budget->trimmed, memory_order_relaxed) + pause)
        return;
    heap_trim();
    atomic_store_explicit(&budget->trimmed, now, memory_order_relaxed);
    budget->given_at_trim = atomic_load_explicit(&budget->given, memory_order_relaxed);
    budget_measure(budget, budget_used(budget));
}

/* Sets when to measure next. */
static void budget_note_look(struct budget *budget, size_t used)
{
    atomic_store_explicit(&budget->look_at, used + budget->limit / 128, memory_order_relaxed);
    atomic_store_explicit(&budget->fallen_at, used > budget->limit / 8 ? used / 2 : 0,
                          memory_order_relaxed);
}

static void budget_look(struct budget *budget, uint64_t trim_pause)
{
    if (atomic_flag_test_and_set(&budget->looking))
        return;
    size_t used = budget_used(budget);
    uint64_t now = clock_mono(&clock_system);
    budget->looked = now;
    size_t beyond = budget_measure(budget, used);
    /* While there is room, what is returned would only be asked for again, page by page. */
    bool wanted = trim_pause == TRIM_SOON || used + beyond > budget->limit / 2;
    if (wanted && beyond > budget->limit / 32)
        budget_trim(budget, now, trim_pause);
    budget_note_look(budget, used);
    atomic_flag_clear(&budget->looking);
    if (atomic_load(&budget->settled_for_now) && atomic_exchange(&budget->settled_for_now, false) &&
        budget->loaded)
        budget->loaded(budget->loaded_ctx);
}

/* Whether freed memory that is still resident may be returned to the system now. */
static bool may_trim(const struct budget *budget, uint64_t now)
{
    return atomic_load_explicit(&budget->beyond, memory_order_relaxed) > budget->limit / 32 &&
           now >= atomic_load_explicit(&budget->trimmed, memory_order_relaxed) + TRIM_SOON;
}

/* False: measured a moment ago. failed: new data is about to be refused, unless memory that the
 * last measurement left resident can be returned. */
static bool look_again(struct budget *budget, bool failed)
{
    uint64_t now = clock_mono(&clock_system);
    if (!budget->idle || (now < budget->looked + LOOK_PAUSE && !(failed && may_trim(budget, now))))
        return false;
    budget_look(budget, TRIM_SOON);
    return true;
}

static size_t budget_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Of the used bytes, those that are not covered by what is kept for work. */
static size_t taken_up(const struct budget *budget, size_t used)
{
    size_t work = atomic_load_explicit(&budget->work, memory_order_relaxed);
    size_t pledge = atomic_load_explicit(&budget->pledge, memory_order_relaxed);
    return excess(used, work) + budget_larger(work, budget_larger(pledge, budget->reserve));
}

/* Memory beyond the charges is noticed late, and charged but untouched memory hides that much of
 * it: this part of a watched budget stays free. */
static size_t unseen(const struct budget *budget)
{
    return budget->idle ? budget->limit / 32 : 0;
}

size_t budget_threshold(const struct budget *budget)
{
    size_t work = atomic_load_explicit(&budget->work, memory_order_relaxed);
    size_t pledge = atomic_load_explicit(&budget->pledge, memory_order_relaxed);
    size_t kept = excess(budget_larger(pledge, budget->reserve), work);
    return excess(budget->limit, kept + unseen(budget));
}

/* all: including what is kept for work. */
static bool budget_fits(const struct budget *budget, size_t used, bool all)
{
    size_t beyond = atomic_load_explicit(&budget->beyond, memory_order_relaxed);
    size_t most = budget->limit - unseen(budget);
    used = all ? used : taken_up(budget, used);
    return used <= most && beyond <= most - used;
}

static bool try_take(struct budget *budget, size_t n, bool all)
{
    size_t before = atomic_fetch_add_explicit(&budget->used, n, memory_order_relaxed);
    if (n <= budget->limit && budget_fits(budget, before + n, all))
        return true;
    atomic_fetch_sub_explicit(&budget->used, n, memory_order_relaxed);
    return false;
}

static void look_when_grown(struct budget *budget)
{
    if (budget->idle &&
        budget_used(budget) >= atomic_load_explicit(&budget->look_at, memory_order_relaxed))
        budget_look(budget, TRIM_PAUSE);
}

static bool base_budget_take(struct budget *budget, size_t n, bool all)
{
    /* Once charged, memory that is still untouched would hide that much resident memory. */
    if (n > budget->limit / 32)
        look_again(budget, false);
    if (!try_take(budget, n, all) && !(look_again(budget, true) && try_take(budget, n, all)))
        return false;
    look_when_grown(budget);
    return true;
}

/* Bytes that must become free for n more. */
static size_t lack(const struct budget *budget, size_t n, bool all)
{
    size_t beyond = atomic_load_explicit(&budget->beyond, memory_order_relaxed);
    size_t used = budget_used(budget) + n;
    return excess((all ? used : taken_up(budget, used)) + beyond + unseen(budget), budget->limit);
}

/* Makes arrivals give way until there is room; not for a request of more than a share. */
static bool take_from_others(struct budget *budget, size_t n, bool all)
{
    if (base_budget_take(budget, n, all))
        return true;
    if (n > budget_share(budget))
        return false;
    atomic_store_explicit(&budget->short_at, clock_mono(&clock_system), memory_order_relaxed);
    while (arrival_make_way(budget, lack(budget, n, all)))
        if (try_take(budget, n, all))
            return true;
    return false;
}

static bool is_recent(const _Atomic uint64_t *mono)
{
    uint64_t at = atomic_load_explicit(mono, memory_order_relaxed);
    return at && clock_mono(&clock_system) < at + RECENT;
}

/* What this thread has charged for work and not drawn yet. */
static _Thread_local struct at_work {
    struct budget *budget; /* NULL: no work in progress */
    size_t left;
} at_work;

static void note_unused(struct budget *budget, size_t n)
{
    atomic_fetch_add_explicit(&budget->unused, n, memory_order_relaxed);
}

static void note_used(struct budget *budget, size_t n)
{
    atomic_fetch_sub_explicit(&budget->unused, n, memory_order_relaxed);
}

static size_t draw(struct budget *budget, size_t n)
{
    if (!at_work.budget || at_work.budget != budget)
        return 0;
    size_t drawn = n < at_work.left ? n : at_work.left;
    at_work.left -= drawn;
    note_used(budget, drawn);
    return drawn;
}

/* How far a request for memory may go. */
enum reach {
    SPARE,   /* free memory, while nobody else is short */
    USUAL,   /* arrivals may give way */
    RESERVED /* likewise, and the reserve may be used */
};

static bool take_by(struct budget *budget, size_t n, enum reach reach)
{
    size_t drawn = draw(budget, n), rest = n - drawn;
    bool taken = drawn > 0 && rest == 0;
    if (!taken && reach == SPARE)
        taken = !is_recent(&budget->short_at) && base_budget_take(budget, rest, false);
    else if (!taken)
        taken = take_from_others(budget, rest, reach == RESERVED);
    if (!taken && drawn) {
        at_work.left += drawn;
        note_unused(budget, drawn);
    }
    return taken;
}

bool budget_take(struct budget *budget, size_t n)
{
    return !budget || take_by(budget, n, USUAL);
}

bool budget_take_spare(struct budget *budget, size_t n)
{
    return !budget || take_by(budget, n, SPARE);
}

bool budget_use(struct budget *budget, size_t n)
{
    return !budget || take_by(budget, n, RESERVED);
}

bool budget_grow(struct budget *budget, size_t n)
{
    size_t kept = budget ? budget->reserve / 2 : 0;
    if (!budget_use(budget, n + kept))
        return false;
    budget_give(budget, kept);
    return true;
}

/* Work is counted before its charge and discounted after it, so that it never looks like new
 * data. */
static void count_work(struct budget *budget, size_t n)
{
    atomic_fetch_add_explicit(&budget->work, n, memory_order_relaxed);
}

static void discount_work(struct budget *budget, size_t n)
{
    atomic_fetch_sub_explicit(&budget->work, n, memory_order_relaxed);
}

/* If other requests are arriving, a share is left for them. */
static bool begin_large(struct budget *budget, size_t n)
{
    size_t share = is_recent(&budget->others_at) ? budget_share(budget) : 0;
    if (!budget_take_spare(budget, n + share))
        return false;
    budget_give(budget, share);
    return true;
}

static bool begin_usual(struct budget *budget, size_t n)
{
    atomic_store_explicit(&budget->others_at, clock_mono(&clock_system), memory_order_relaxed);
    return budget_take(budget, n);
}

bool budget_begin_work(struct budget *budget, size_t n)
{
    if (!budget)
        return true;
    count_work(budget, n);
    bool taken = n > budget_share(budget) ? begin_large(budget, n) : begin_usual(budget, n);
    if (taken)
        note_unused(budget, n);
    else
        discount_work(budget, n);
    return taken;
}

void budget_end_work(struct budget *budget, size_t n)
{
    if (!budget)
        return;
    note_used(budget, n);
    budget_give(budget, n);
    discount_work(budget, n);
}

bool budget_begin_accepted_work(struct budget *budget, size_t n, bool force)
{
    if (!budget)
        return true;
    assert(!at_work.budget);
    count_work(budget, n);
    if (force)
        budget_force(budget, n);
    else if (!budget_use(budget, n)) {
        discount_work(budget, n);
        return false;
    }
    note_unused(budget, n);
    at_work = (struct at_work){budget, n};
    return true;
}

void budget_end_accepted_work(struct budget *budget, size_t n)
{
    if (!budget)
        return;
    assert(at_work.budget == budget);
    note_used(budget, at_work.left);
    budget_give(budget, at_work.left);
    discount_work(budget, n);
    at_work = (struct at_work){0};
}

void budget_pledge(struct budget *budget, size_t n)
{
    size_t before = budget ? atomic_load_explicit(&budget->pledge, memory_order_relaxed) : n;
    while (before < n && !atomic_compare_exchange_weak(&budget->pledge, &before, n)) {
    }
}

static void end_pledge(struct budget *budget, size_t used)
{
    if (used <= budget->limit / 8 && atomic_load_explicit(&budget->pledge, memory_order_relaxed) &&
        atomic_load_explicit(&budget->pledge_holds, memory_order_relaxed) == 0)
        atomic_store_explicit(&budget->pledge, 0, memory_order_relaxed);
}

void budget_hold_pledge(struct budget *budget)
{
    if (budget)
        atomic_fetch_add_explicit(&budget->pledge_holds, 1, memory_order_relaxed);
}

void budget_drop_pledge(struct budget *budget)
{
    if (!budget)
        return;
    atomic_fetch_sub_explicit(&budget->pledge_holds, 1, memory_order_relaxed);
    end_pledge(budget, budget_used(budget));
}

void budget_force(struct budget *budget, size_t n)
{
    if (!budget)
        return;
    n -= draw(budget, n);
    atomic_fetch_add_explicit(&budget->used, n, memory_order_relaxed);
    look_when_grown(budget);
}

/* Counts what was freed and is still resident; budget_settle returns it to the system. */
static void look_when_fallen(struct budget *budget, size_t used)
{
    if (atomic_flag_test_and_set(&budget->looking))
        return;
    budget_measure(budget, used);
    budget_note_look(budget, used);
    atomic_flag_clear(&budget->looking);
}

void budget_give(struct budget *budget, size_t n)
{
    if (!budget)
        return;
    size_t before = atomic_fetch_sub_explicit(&budget->used, n, memory_order_relaxed);
    assert(before >= n);
    atomic_fetch_add_explicit(&budget->given, n, memory_order_relaxed);
    end_pledge(budget, before - n);
    if (n && before - n < atomic_load_explicit(&budget->fallen_at, memory_order_relaxed))
        look_when_fallen(budget, before - n);
}

bool budget_has_slack(const struct budget_slack *slack, size_t limit)
{
    size_t least = limit / 32 < SLACK_LEAST ? limit / 32 : SLACK_LEAST;
    return slack->beyond > least && slack->rate < slack->beyond / SLACK_SECONDS &&
           slack->given >= slack->beyond / 2;
}

static struct budget_slack slack_of(struct budget *budget, uint64_t now)
{
    size_t given = atomic_load_explicit(&budget->given, memory_order_relaxed);
    uint64_t ms = (now - budget->settled) / NS_PER_MS;
    struct budget_slack slack = {
        .beyond = budget_measure(budget, budget_used(budget)),
        .rate = (size_t)((given - budget->given_at_settle) * UINT64_C(1000) / (ms ? ms : 1)),
        .given = given - budget->given_at_trim};
    budget->settled = now;
    budget->given_at_settle = given;
    return slack;
}

uint64_t budget_settle(struct budget *budget, uint64_t mono_ns)
{
    if (atomic_flag_test_and_set(&budget->looking))
        return mono_ns + SETTLE_PAUSE;
    struct budget_slack slack = slack_of(budget, mono_ns);
    bool trims = budget_has_slack(&slack, budget->limit);
    bool idle = !trims && slack.rate == 0 && budget->loaded;
    if (trims)
        budget_trim(budget, mono_ns, TRIM_PAUSE);
    if (idle)
        budget_note_look(budget, budget_used(budget));
    atomic_store(&budget->settled_for_now, idle);
    atomic_flag_clear(&budget->looking);
    return idle ? TIME_NEVER : mono_ns + SETTLE_PAUSE;
}

size_t budget_share(const struct budget *budget)
{
    return budget ? budget->limit / SHARES : SIZE_MAX;
}

/* In a small budget, what is beyond the charges is measured as at most half of it. */
static size_t beyond_usual(const struct budget *budget)
{
    size_t most = budget->limit / 8 * 3;
    return !budget->idle ? 0 : BEYOND_USUAL < most ? BEYOND_USUAL : most;
}

size_t budget_largest(const struct budget *budget)
{
    if (!budget)
        return SIZE_MAX;
    size_t kept = budget->reserve + unseen(budget) + beyond_usual(budget);
    return budget->reserve ? excess(budget->limit, kept) / 2 : budget->limit;
}

size_t budget_empty(const struct budget *budget)
{
    return budget ? excess(budget->limit, budget->reserve + unseen(budget) + beyond_usual(budget))
                  : SIZE_MAX;
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

bool budget_is_ample(const struct budget *budget, size_t n)
{
    if (!budget)
        return true;
    size_t half = budget->limit / 2;
    return n < half && budget_used(budget) < half - n;
}

bool budget_may_remember(const struct budget *budget, size_t size, size_t n)
{
    return !budget || size + n <= budget->limit / 8 ||
           budget_fits(budget, budget_used(budget) + n + budget_share(budget), false);
}

size_t budget_used(const struct budget *budget)
{
    return atomic_load_explicit(&budget->used, memory_order_relaxed);
}
