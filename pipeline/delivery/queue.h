/*
 * The bounded queue in front of one exporter: order, places, reservations and what waits for a
 * retry. A passive structure: its owner holds a lock around every call.
 */
#ifndef PIPELINE_DELIVERY_QUEUE_H
#define PIPELINE_DELIVERY_QUEUE_H

#include "pipeline/batch.h"
#include "pipeline/progress.h"

#include <stdbool.h>

/* One request on its way: its current part, what is left of it, and what became of it so far. */
struct queue_element {
    struct queue_element *next;
    enum signal signal;
    struct batch *current;
    struct batch_part *rest; /* not tried yet */
    uint64_t due;            /* parked: when to try again */
    uint64_t own_due;        /* the same without what the server asked for */
    uint64_t probe_due; /* where it asked for long: when one may try all the same; 0: it did not */
    uint64_t first_try; /* of the current part */
    unsigned attempt;   /* tries of the current part that were answered RETRY */
    unsigned limited[CAUSE_COUNT]; /* those whose answer allowed so many of its cause alone */
    struct progress progress;      /* of the current part */
    unsigned halvings;             /* after "invalid" */
    bool delivered_any;
    uint32_t refused;     /* items of a waiting client that were not delivered */
    struct outcome worst; /* of those */
    struct batch *last_refused;
};

struct queue_list {
    struct queue_element *head, *tail;
};

struct queue {
    size_t size;      /* places */
    size_t consumers; /* elements that may be under way at once, those parked included */
    bool drop_oldest;
    bool unbounded;       /* while stopping: everything is taken */
    uint64_t probe_every; /* ns; 0: never */
    uint64_t probe_at;    /* mono; no probe before that */
    struct queue_list fresh, ready, parked;
    size_t queued;   /* fresh */
    size_t aside;    /* parked without a consumer */
    size_t active;   /* ready, parked otherwise and in flight */
    size_t reserved; /* places promised */

    /* Who asks for these has no lock. */
    _Atomic uint64_t used_by[SIGNAL_COUNT];   /* queued, aside and active */
    _Atomic uint64_t queued_by[SIGNAL_COUNT]; /* queued alone */
};

/* An element over a batch (referenced). NULL: no memory. */
struct queue_element *queue_element_new(struct batch *batch);
void queue_element_free(struct queue_element *element); /* NULL is legal */
uint64_t queue_element_items(const struct queue_element *element);

/* Promises n places, or none and answers false: used + reserved + n <= size. */
bool queue_reserve(struct queue *queue, size_t n);
void queue_release(struct queue *queue, size_t n);

/* Takes an element in, over a promise: never refuses. Returns the oldest one, which it displaced
 * under drop_oldest, or NULL. */
struct queue_element *queue_put(struct queue *queue, struct queue_element *element);

/* The next to deliver: what waited for its retry, else the oldest while consumers are free. */
struct queue_element *queue_take(struct queue *queue);
/* How many queue_take would give in a row. */
size_t queue_takeable(const struct queue *queue);

/* What was taken waits until due; its place stays occupied, and its consumer, unless it goes in
 * several requests: one that is large must not keep the others waiting. */
void queue_park(struct queue *queue, struct queue_element *element, uint64_t due);

/* What was taken goes behind all others; its place stays occupied. */
void queue_yield(struct queue *queue, struct queue_element *element);

/* What was taken is the next to be taken again; its place and consumer stay occupied. */
void queue_put_back(struct queue *queue, struct queue_element *element);

/* Makes parked ones ready whose time has come; returns when the next one's comes. Where all wait,
 * one of those that the server asked to wait long probes it every so often: what it asked for may
 * have been wrong, or be over. */
uint64_t queue_wake(struct queue *queue, uint64_t now);

/* The server took another one: what waits because it asked for that waits no longer than it would
 * by itself. Returns when the next one's time comes; TIME_NEVER: none is parked. */
uint64_t queue_wake_parked(struct queue *queue);

/* What was taken, of a signal, is finished with: its place is free. */
void queue_finish(struct queue *queue, enum signal signal);

/* Empties it but for what is in flight; returns the elements as a list. */
struct queue_element *queue_clear(struct queue *queue);

/* Takes in what queue_clear of another gave, in this order, ahead of nothing: it is tried at once.
 * Never refuses. */
void queue_take_over(struct queue *queue, struct queue_element *list);

static inline size_t queue_used(const struct queue *queue)
{
    return queue->queued + queue->aside + queue->active;
}

#endif
