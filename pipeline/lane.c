#include "pipeline/lane.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct lane {
    _Atomic unsigned refs;
    uint32_t partition;
    unsigned signals;
    _Atomic uint64_t since;
    _Atomic uint64_t reached[SIGNAL_COUNT]; /* unix ns; 0: not yet known */
    _Atomic bool ended;                     /* written under the lock */
    pthread_mutex_t lock;
    struct lane_user *users; /* under the lock */
    char name[];
};

struct lane *lane_new(const char *name, uint32_t partition, unsigned signals)
{
    size_t size = strlen(name) + 1;
    struct lane *lane = calloc(1, sizeof *lane + size);
    assert(signals != 0);
    if (!lane)
        return NULL;
    atomic_init(&lane->refs, 1);
    lane->partition = partition;
    lane->signals = signals;
    pthread_mutex_init(&lane->lock, NULL);
    memcpy(lane->name, name, size);
    return lane;
}

struct lane *lane_ref(struct lane *lane)
{
    atomic_fetch_add_explicit(&lane->refs, 1, memory_order_relaxed);
    return lane;
}

void lane_unref(struct lane *lane)
{
    if (!lane || atomic_fetch_sub_explicit(&lane->refs, 1, memory_order_acq_rel) != 1)
        return;
    assert(!lane->users);
    pthread_mutex_destroy(&lane->lock);
    free(lane);
}

const char *lane_name(const struct lane *lane)
{
    return lane->name;
}

uint32_t lane_partition(const struct lane *lane)
{
    return lane->partition;
}

void lane_set_since(struct lane *lane, uint64_t unix_ns)
{
    atomic_store_explicit(&lane->since, unix_ns, memory_order_relaxed);
}

uint64_t lane_since(const struct lane *lane)
{
    return atomic_load_explicit(&lane->since, memory_order_relaxed);
}

uint64_t lane_clock(const struct lane *lane)
{
    uint64_t clock = UINT64_MAX;
    for (unsigned i = 0; i < SIGNAL_COUNT; i++) {
        uint64_t reached = atomic_load_explicit(&lane->reached[i], memory_order_acquire);
        if (lane->signals & SIGNAL_BIT(i) && reached < clock)
            clock = reached;
    }
    return clock;
}

/* One thread writes. */
void lane_reached(struct lane *lane, enum signal signal, uint64_t unix_ns)
{
    if (unix_ns > atomic_load_explicit(&lane->reached[signal], memory_order_relaxed))
        atomic_store_explicit(&lane->reached[signal], unix_ns, memory_order_release);
}

void lane_at_end(struct lane *lane, enum signal signal, uint64_t unix_ns)
{
    lane_reached(lane, signal, unix_ns);
    uint64_t clock = lane_clock(lane);
    pthread_mutex_lock(&lane->lock);
    for (struct lane_user *each = lane->users; each; each = each->next)
        if (atomic_load_explicit(&each->due, memory_order_relaxed) <= clock)
            each->wake(each);
    pthread_mutex_unlock(&lane->lock);
}

void lane_end(struct lane *lane, enum cause cause)
{
    pthread_mutex_lock(&lane->lock);
    atomic_store(&lane->ended, true);
    while (lane->users) {
        struct lane_user *user = lane->users;
        lane->users = user->next;
        user->end(user, cause);
    }
    pthread_mutex_unlock(&lane->lock);
}

bool lane_ended(const struct lane *lane)
{
    return atomic_load(&lane->ended);
}

struct lane_user *lane_find_user(struct lane *lane, const void *owner)
{
    pthread_mutex_lock(&lane->lock);
    struct lane_user *user = lane->users;
    while (user && user->owner != owner)
        user = user->next;
    pthread_mutex_unlock(&lane->lock);
    return user;
}

bool lane_join(struct lane *lane, struct lane_user *user)
{
    pthread_mutex_lock(&lane->lock);
    bool open = !atomic_load(&lane->ended);
    if (open) {
        user->next = lane->users;
        lane->users = user;
    }
    pthread_mutex_unlock(&lane->lock);
    return open;
}

bool lane_leave(struct lane *lane, struct lane_user *user)
{
    pthread_mutex_lock(&lane->lock);
    struct lane_user **at = &lane->users;
    while (*at && *at != user)
        at = &(*at)->next;
    bool found = *at;
    if (found)
        *at = user->next;
    pthread_mutex_unlock(&lane->lock);
    return found;
}
