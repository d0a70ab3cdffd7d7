/*
 * The bounded queue in front of one exporter: order, places, reservations, and elements that wait
 * for a retry. A passive structure: its owner holds a lock around every call.
 */
#ifndef PIPELINE_DELIVERY_QUEUE_H
#define PIPELINE_DELIVERY_QUEUE_H

#include "pipeline/batch.h"
#include "pipeline/delivery/delivery.h"
#include "pipeline/progress.h"

#include <stdbool.h>

/* What something takes in the queue. */
struct queue_share {
    uint32_t requests;
    size_t places; /* in units of the sizer */
};

/* One request in the queue: its current part, the parts after it, and what happened to it so
 * far. */
struct queue_element {
    struct queue_element *next;
    struct queue_element *before; /* while taken */
    uint64_t since;               /* mono, when it was accepted; set by its owner */
    enum signal signal;
    struct queue_share share;    /* for the requests that it was gathered from */
    struct queue_share gathered; /* before it is put: of queue_gather, what it takes over */
    struct batch *batch;
    struct batch_part *rest; /* not tried yet */
    uint64_t due;            /* parked: when to retry */
    uint64_t own_due;        /* the same without the delay that the server asked for */
    uint64_t probe_due;      /* after the server asked for a long wait: an earlier probe; else 0 */
    uint64_t first_try;      /* time of the current part's first attempt */
    unsigned attempt;        /* attempts at the current part that ended in RETRY */
    unsigned limited[CAUSE_COUNT]; /* attempts counted against outcome.max_tries, by cause */
    struct progress progress;      /* of the current part */
    unsigned halvings;             /* after "invalid" */
    bool delivered_any;
    uint32_t refused;         /* items of a waiting client that were not delivered */
    uint64_t refused_samples; /* the same in samples of profiles */
    struct outcome worst;     /* of those items */
    struct batch *last_refused;
};

struct queue_list {
    struct queue_element *head, *tail;
};

struct queue {
    size_t size; /* places: requests, items or bytes, by the sizer */
    enum queue_sizer sizer;
    size_t consumers; /* no element is taken by itself while as many are active, including parked
                         ones */
    bool drop_oldest;
    bool unbounded;       /* while stopping: every element is taken */
    uint64_t probe_every; /* ns; 0: never */
    uint64_t probe_at;    /* monotonic; no probe before that */
    struct queue_list fresh, ready, parked;
    struct queue_element *taken; /* in no particular order */
    size_t queued;               /* fresh */
    size_t aside;                /* parked, not occupying a consumer */
    size_t active;               /* ready, parked while occupying a consumer, and in flight */
    size_t used;     /* places of elements, and of requests that are not an element yet */
    size_t reserved; /* places reserved */

    /* Read without the lock. */
    _Atomic uint64_t used_by[SIGNAL_COUNT];   /* used */
    _Atomic uint64_t held_by[SIGNAL_COUNT];   /* requests: queued, gathered, aside and active */
    _Atomic uint64_t queued_by[SIGNAL_COUNT]; /* requests: queued and gathered only */
};

/* The places that a batch takes in a queue; at least 1. */
size_t queue_places(enum queue_sizer sizer, const struct batch *batch);

/* Makes an element of one request for a batch (referenced). NULL: no memory. */
struct queue_element *queue_element_new(enum queue_sizer sizer, struct batch *batch);
void queue_element_free(struct queue_element *element); /* may be NULL */
uint64_t queue_element_items(const struct queue_element *element);

/* Appends a list to another; each may be NULL. */
struct queue_element *queue_join(struct queue_element *first, struct queue_element *then);

/* Reserves n places, all or none (false): used + reserved + n <= size. An empty queue gives any
 * number, so that accepted data larger than it can pass. */
bool queue_reserve(struct queue *queue, size_t n);
void queue_release(struct queue *queue, size_t n);

/* Appends an element whose places were reserved: never refuses. Returns the list of the oldest
 * elements if drop_oldest displaced some, else NULL. */
struct queue_element *queue_put(struct queue *queue, struct queue_element *element);

/* Returns the next element to deliver: one whose retry is due, else the oldest while a consumer is
 * free. */
struct queue_element *queue_take(struct queue *queue);
/* The same, even if no consumer is free: for an element that is sent together with one that
 * queue_take returned. */
struct queue_element *queue_take_also(struct queue *queue);
/* How many elements queue_take would return before NULL. */
size_t queue_takeable(const struct queue *queue);

/* Parks a taken element until due. It keeps its place. It also keeps its consumer, unless it is
 * sent in several requests: a large one must not block the others. */
void queue_park(struct queue *queue, struct queue_element *element, uint64_t due);

/* Puts a taken element after all others; it keeps its place. */
void queue_yield(struct queue *queue, struct queue_element *element);

/* Makes a taken element the next to be taken again; it keeps its place and consumer. */
void queue_put_back(struct queue *queue, struct queue_element *element);

/* Makes parked elements ready that are due; returns when the next one is due. If all elements wait,
 * one delayed at the server's request is occasionally tried as a probe, as the delay may be wrong
 * or its cause gone. */
uint64_t queue_wake(struct queue *queue, uint64_t now);

/* After the server accepted a request: elements that wait because it asked them to now wait no
 * longer than their own backoff. Returns when the next one is due; TIME_NEVER: none is parked. */
uint64_t queue_wake_parked(struct queue *queue);

/* Frees the places of a taken element that is finished; the element remains the caller's. */
void queue_finish(struct queue *queue, struct queue_element *element);

/* Takes places for a request that is gathered, or gives some back, when such requests become an
 * element that is put into the queue. */
void queue_gather(struct queue *queue, const struct batch *batch);
void queue_ungather(struct queue *queue, enum signal signal, struct queue_share share);

/* Empties the queue except for what is in flight; returns the elements as a list. */
struct queue_element *queue_clear(struct queue *queue);

/* Takes over the list that queue_clear of another queue returned, in its order, to be tried at
 * once. Their places are counted again: the other queue's sizer may differ. Never refuses. */
void queue_take_over(struct queue *queue, struct queue_element *list);

/* When the oldest request was accepted, in flight or not; TIME_NEVER: the queue is empty. *due:
 * when its next attempt is, if it is parked; else 0. */
uint64_t queue_oldest(const struct queue *queue, uint64_t *due);

/* Items of the elements that are not in flight. */
uint64_t queue_items(const struct queue *queue);

/* Appends "3 of 1000 requests, 1 in flight". */
void queue_explain(const struct queue *queue, struct bytes *out);

static inline size_t queue_used(const struct queue *queue)
{
    return queue->used;
}
#endif
