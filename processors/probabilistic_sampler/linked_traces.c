#include "processors/probabilistic_sampler/linked_traces.h"

#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { PLACES = 2 * LINKED_TRACES_MOST };
#define AGE_SIZE (PLACES * sizeof(uint64_t))

void linked_traces_init(struct linked_traces *traces, struct budget *budget)
{
    *traces = (struct linked_traces){.budget = budget};
    pthread_mutex_init(&traces->lock, NULL);
    if (getrandom(&traces->seed, sizeof traces->seed, GRND_NONBLOCK) != sizeof traces->seed)
        traces->seed = clock_wall(&clock_system);
}

static void forget(struct linked_traces *traces)
{
    if (traces->young)
        budget_give(traces->budget, 2 * AGE_SIZE);
    free(traces->young);
    free(traces->old);
    traces->young = traces->old = NULL;
    traces->count = 0;
}

void linked_traces_release(struct linked_traces *traces)
{
    forget(traces);
    pthread_mutex_destroy(&traces->lock);
}

/* Keyed, so that nobody can choose ids that share a place. Never 0. */
static uint64_t hash_of(const struct linked_traces *traces, const uint8_t id[16])
{
    uint64_t half[2], hash = traces->seed;
    memcpy(half, id, sizeof half);
    for (int i = 0; i < 2; i++) {
        hash = (hash ^ half[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        hash = (hash ^ traces->seed) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

/* Where a hash is, or would be. */
static uint64_t *place_of(uint64_t *age, uint64_t hash)
{
    size_t at = hash % PLACES;
    while (age[at] && age[at] != hash)
        at = (at + 1) % PLACES;
    return &age[at];
}

static bool linked_traces_begin(struct linked_traces *traces)
{
    if (!budget_take(traces->budget, 2 * AGE_SIZE))
        return false;
    traces->young = calloc(1, AGE_SIZE);
    traces->old = calloc(1, AGE_SIZE);
    if (traces->young && traces->old)
        return true;
    budget_give(traces->budget, 2 * AGE_SIZE);
    free(traces->young);
    free(traces->old);
    traces->young = traces->old = NULL;
    return false;
}

static void begin_age(struct linked_traces *traces, uint64_t now)
{
    uint64_t *oldest = traces->old;
    if (!oldest)
        return;
    traces->old = traces->young;
    traces->young = memset(oldest, 0, AGE_SIZE);
    traces->count = 0;
    traces->since = now;
}

static void forget_old(struct linked_traces *traces, uint64_t now)
{
    uint64_t age = now > traces->since ? now - traces->since : 0;
    for (int i = 1; traces->young && i <= 2 && age >= (uint64_t)i * LINKED_TRACES_NS; i++)
        begin_age(traces, now);
}

void linked_traces_add(struct linked_traces *traces, const uint8_t id[16], uint64_t now)
{
    pthread_mutex_lock(&traces->lock);
    forget_old(traces, now);
    if (!traces->young && linked_traces_begin(traces))
        traces->since = now;
    uint64_t hash = hash_of(traces, id),
             *place = traces->young ? place_of(traces->young, hash) : NULL;
    if (place && !*place) {
        *place = hash;
        traces->count++;
    }
    if (traces->count == LINKED_TRACES_MOST)
        begin_age(traces, now);
    pthread_mutex_unlock(&traces->lock);
}

bool linked_traces_has(struct linked_traces *traces, const uint8_t id[16], uint64_t now)
{
    pthread_mutex_lock(&traces->lock);
    forget_old(traces, now);
    uint64_t hash = hash_of(traces, id);
    bool has = traces->young && (*place_of(traces->young, hash) || *place_of(traces->old, hash));
    pthread_mutex_unlock(&traces->lock);
    return has;
}
