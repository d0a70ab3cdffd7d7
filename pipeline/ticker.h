/*
 * One thread for all that waits for a time: ticks of components and retries of queues. It sleeps
 * until the earliest. With a clock other than the system's there is no thread: tests step it.
 */
#ifndef PIPELINE_TICKER_H
#define PIPELINE_TICKER_H

#include "lib/base/clock.h"

#include <stdbool.h>

struct ticker;

/* Embedded in what waits. The owner sets tick and ctx; the rest is the ticker's. */
struct ticker_entry {
    /* Returns when it wants to be called next; TIME_NEVER: only when asked for. */
    uint64_t (*tick)(void *ctx, uint64_t mono_ns);
    void *ctx;
    uint64_t due;
    uint64_t round;
    struct ticker_entry *next;
};

struct ticker *ticker_new(const struct clock *clock); /* NULL: no memory */
void ticker_free(struct ticker *ticker);              /* NULL is legal; ends the thread */

/* Ends the thread: no tick follows, whatever is asked for. NULL is legal, and twice. */
void ticker_stop(struct ticker *ticker);

/* Starts the thread, where the clock is the system's. False: no thread to be had. */
bool ticker_start(struct ticker *ticker);
bool ticker_threaded(const struct ticker *ticker);

void ticker_add(struct ticker *ticker, struct ticker_entry *entry);

/* Takes an entry out; its tick neither runs nor follows afterwards. Legal for one not in it. Not
 * from a tick. */
void ticker_remove(struct ticker *ticker, struct ticker_entry *entry);

/* Asks for the entry's tick at a time (0: at once); the earliest asked counts. Any thread, also
 * from a tick. */
void ticker_at(struct ticker *ticker, struct ticker_entry *entry, uint64_t mono_ns);

/* Between these no tick is under way: pause returns when the one that runs has ended. Not from a
 * tick. */
void ticker_pause(struct ticker *ticker);
void ticker_resume(struct ticker *ticker);

/* Runs what is due now, each entry once; returns when the next is due. */
uint64_t ticker_step(struct ticker *ticker);

#endif
