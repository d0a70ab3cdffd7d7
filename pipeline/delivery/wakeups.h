/*
 * How many workers of a pool sleep, and how many of these have been signalled and do not run yet:
 * work that a signal is on its way for needs no other. Guarded by the pool's lock.
 */
#ifndef PIPELINE_DELIVERY_WAKEUPS_H
#define PIPELINE_DELIVERY_WAKEUPS_H

#include <stddef.h>

struct wakeups {
    size_t idle;   /* workers asleep, signalled or just started, until they run */
    size_t waking; /* of these, the signalled and the just started */
};

/* A worker was started. */
static inline void wakeups_start(struct wakeups *wakeups)
{
    wakeups->idle++;
    wakeups->waking++;
}

/* A worker is about to wait. */
static inline void wakeups_sleep(struct wakeups *wakeups)
{
    wakeups->idle++;
}

/* A worker runs, after its start or a wait, which may also end without a signal. */
static inline void wakeups_run(struct wakeups *wakeups)
{
    wakeups->idle--;
    wakeups->waking -= wakeups->waking > 0;
}

/* Returns how many workers the caller must signal now for `tasks` that one worker each can take; it
 * may do so after it has released the lock. */
static inline size_t wakeups_signals(struct wakeups *wakeups, size_t tasks)
{
    size_t wanted = tasks < wakeups->idle ? tasks : wakeups->idle;
    wanted -= wanted < wakeups->waking ? wanted : wakeups->waking;
    wakeups->waking += wanted;
    return wanted;
}

#endif
