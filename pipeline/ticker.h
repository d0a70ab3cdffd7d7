/*
 * One thread that runs everything scheduled for a time: ticks of components and retries of queues.
 * It sleeps until the earliest one. With a clock other than the system's there is no thread, and
 * tests call ticker_step.
 */
#ifndef PIPELINE_TICKER_H
#define PIPELINE_TICKER_H

#include "lib/base/clock.h"

#include <stdbool.h>

struct ticker;

/* Embedded in the struct that waits. The owner sets tick and ctx; the rest is the ticker's. */
struct ticker_entry {
    /* Returns when it is to be called next; TIME_NEVER: only on request. */
    uint64_t (*tick)(void *ctx, uint64_t mono_ns);
    void *ctx;
    uint64_t due;
    uint64_t round;
    struct ticker_entry *next;
};

struct ticker *ticker_new(const struct clock *clock); /* NULL: no memory */
void ticker_free(struct ticker *ticker);              /* may be NULL; ends the thread */

/* Ends the thread: no tick follows, even if requested. May be NULL, and may be called twice. */
void ticker_stop(struct ticker *ticker);

/* Starts the thread, if the clock is the system's. False: the thread could not be started. */
bool ticker_start(struct ticker *ticker);
bool ticker_threaded(const struct ticker *ticker);

void ticker_add(struct ticker *ticker, struct ticker_entry *entry);

/* Removes an entry; its tick is not running when this returns and is not called again. Allowed for
 * one that was never added. Must not be called from a tick. */
void ticker_remove(struct ticker *ticker, struct ticker_entry *entry);

/* Requests the entry's tick at a time (0: at once); the earliest request counts. Any thread, also
 * from a tick. */
void ticker_at(struct ticker *ticker, struct ticker_entry *entry, uint64_t mono_ns);

/* No tick runs between pause and resume: pause returns when the running one has ended. Must not be
 * called from a tick. */
void ticker_pause(struct ticker *ticker);
void ticker_resume(struct ticker *ticker);

/* Runs what is due now, each entry once; returns when the next one is due. */
uint64_t ticker_step(struct ticker *ticker);

#endif
