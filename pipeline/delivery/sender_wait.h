/*
 * Requests that wait for room in a sender's full queue (sending_queue.block_on_overflow), in the
 * order of arrival.
 */
#ifndef PIPELINE_DELIVERY_SENDER_WAIT_H
#define PIPELINE_DELIVERY_SENDER_WAIT_H

#include "lib/base/clock.h"
#include "pipeline/delivery/sender.h"

#define SENDER_WAIT_NS (5 * NS_PER_S) /* SDKs give up after 10 s by default */

/* Embedded in a request that may wait, and zeroed; the rest is the sender's. */
struct sender_waiter {
    size_t places; /* that it needs; set before sender_wait */
    struct sender_waiter *next;
    uint64_t due; /* mono: when it is refused, and so the order of arrival; 0: it has not waited */
};

/* Some of them, in the order of arrival. */
struct sender_waiters {
    struct sender_waiter *first, *last;
};

enum sender_turn {
    SENDER_RESERVED, /* it has its places */
    SENDER_WAITS,    /* it is the sender's until sender_next or sender_take_waiters returns it */
    SENDER_FULL,     /* no room, and it may not wait, or no longer */
    SENDER_STOPS     /* the process stops */
};

/* Whether requests wait for room while the queue is full. */
bool sender_blocks(const struct sender *sender);

/* serve is called when requests wait and may find room, on threads that hold no lock: those of the
 * sender, its ticker and the stop. It calls sender_next until there is none. */
typedef void sender_serve_fn(void *ctx, struct sender *sender);
void sender_on_room(struct sender *sender, sender_serve_fn *serve, void *ctx);

/* Reserves places unless requests that came earlier wait; else the request waits, for at most
 * SENDER_WAIT_NS over all queues in which it does: RESERVED, WAITS or FULL. Any thread. */
enum sender_turn sender_wait(struct sender *sender, struct sender_waiter *waiter);

/* Takes out the first request, if its places are free and now reserved for it (RESERVED), its time
 * is up (FULL), or the process stops (STOPS). *waiter NULL: there is none. Any thread. */
enum sender_turn sender_next(struct sender *sender, struct sender_waiter **waiter);

/* Has serve called a little later. Any thread. */
void sender_serve_later(struct sender *sender);

/* Takes all of them out and adds them to others. */
void sender_take_waiters(struct sender *sender, struct sender_waiters *to);

#endif
