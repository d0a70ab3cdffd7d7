#include "pipeline/ticker.h"

#include "lib/base/thread.h"

#include <stdlib.h>

struct ticker {
    const struct clock *clock;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;       /* an earlier time, or the end of a tick */
    struct ticker_entry *entries; /* this and the rest: under lock */
    struct ticker_entry *running;
    uint64_t round;
    uint64_t sleeps_until;
    bool paused;
    bool stopping;
};

struct ticker *ticker_new(const struct clock *clock)
{
    struct ticker *ticker = calloc(1, sizeof *ticker);
    if (!ticker)
        return NULL;
    ticker->clock = clock;
    pthread_mutex_init(&ticker->lock, NULL);
    thread_cond_init(&ticker->changed);
    return ticker;
}

static uint64_t earliest(const struct ticker *ticker)
{
    uint64_t due = TIME_NEVER;
    for (const struct ticker_entry *entry = ticker->entries; entry; entry = entry->next)
        if (entry->due < due)
            due = entry->due;
    return due;
}

static struct ticker_entry *next_due(struct ticker *ticker, uint64_t now)
{
    for (struct ticker_entry *entry = ticker->entries; entry; entry = entry->next)
        if (entry->due <= now && entry->round != ticker->round)
            return entry;
    return NULL;
}

static void ticker_run(struct ticker *ticker, struct ticker_entry *entry, uint64_t now)
{
    entry->due = TIME_NEVER;
    entry->round = ticker->round;
    ticker->running = entry;
    pthread_mutex_unlock(&ticker->lock);
    uint64_t next = entry->tick(entry->ctx, now);
    pthread_mutex_lock(&ticker->lock);
    if (next < entry->due)
        entry->due = next;
    ticker->running = NULL;
    pthread_cond_broadcast(&ticker->changed);
}

static uint64_t step_locked(struct ticker *ticker)
{
    uint64_t now = clock_mono(ticker->clock);
    struct ticker_entry *entry;
    ticker->round++;
    while (!ticker->paused && (entry = next_due(ticker, now)))
        ticker_run(ticker, entry, now);
    return earliest(ticker);
}

uint64_t ticker_step(struct ticker *ticker)
{
    pthread_mutex_lock(&ticker->lock);
    uint64_t next = step_locked(ticker);
    pthread_mutex_unlock(&ticker->lock);
    return next;
}

static void *tick_loop(void *ctx)
{
    struct ticker *ticker = ctx;
    pthread_mutex_lock(&ticker->lock);
    while (!ticker->stopping) {
        uint64_t next = step_locked(ticker);
        if (ticker->paused)
            next = TIME_NEVER;
        if (ticker->stopping || next <= clock_mono(ticker->clock))
            continue;
        ticker->sleeps_until = next;
        thread_cond_wait_until(&ticker->changed, &ticker->lock, next);
        ticker->sleeps_until = 0;
    }
    pthread_mutex_unlock(&ticker->lock);
    return NULL;
}

bool ticker_start(struct ticker *ticker)
{
    if (ticker->clock != &clock_system)
        return true;
    ticker->threaded = thread_start(&ticker->thread, "ticker", tick_loop, ticker);
    return ticker->threaded;
}

bool ticker_threaded(const struct ticker *ticker)
{
    return ticker->threaded;
}

void ticker_add(struct ticker *ticker, struct ticker_entry *entry)
{
    pthread_mutex_lock(&ticker->lock);
    entry->due = TIME_NEVER;
    entry->round = 0;
    entry->next = ticker->entries;
    ticker->entries = entry;
    pthread_mutex_unlock(&ticker->lock);
}

void ticker_remove(struct ticker *ticker, struct ticker_entry *entry)
{
    pthread_mutex_lock(&ticker->lock);
    while (ticker->running == entry)
        pthread_cond_wait(&ticker->changed, &ticker->lock);
    struct ticker_entry **at = &ticker->entries;
    while (*at && *at != entry)
        at = &(*at)->next;
    if (*at)
        *at = entry->next;
    pthread_mutex_unlock(&ticker->lock);
}

void ticker_at(struct ticker *ticker, struct ticker_entry *entry, uint64_t mono_ns)
{
    pthread_mutex_lock(&ticker->lock);
    if (mono_ns < entry->due)
        entry->due = mono_ns;
    if (mono_ns < ticker->sleeps_until)
        pthread_cond_broadcast(&ticker->changed);
    pthread_mutex_unlock(&ticker->lock);
}

void ticker_pause(struct ticker *ticker)
{
    pthread_mutex_lock(&ticker->lock);
    ticker->paused = true;
    while (ticker->running)
        pthread_cond_wait(&ticker->changed, &ticker->lock);
    pthread_mutex_unlock(&ticker->lock);
}

void ticker_resume(struct ticker *ticker)
{
    pthread_mutex_lock(&ticker->lock);
    ticker->paused = false;
    pthread_cond_broadcast(&ticker->changed);
    pthread_mutex_unlock(&ticker->lock);
}

void ticker_stop(struct ticker *ticker)
{
    if (!ticker)
        return;
    pthread_mutex_lock(&ticker->lock);
    ticker->stopping = true;
    pthread_cond_broadcast(&ticker->changed);
    pthread_mutex_unlock(&ticker->lock);
    if (ticker->threaded)
        pthread_join(ticker->thread, NULL);
    ticker->threaded = false;
}

void ticker_free(struct ticker *ticker)
{
    if (!ticker)
        return;
    ticker_stop(ticker);
    pthread_mutex_destroy(&ticker->lock);
    pthread_cond_destroy(&ticker->changed);
    free(ticker);
}
