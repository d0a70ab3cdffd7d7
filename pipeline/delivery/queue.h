/*
 * The bounded queue in front of one exporter: order, places, reservations, and elements that wait
 * for a retry. A passive structure: its owner holds a lock around every call.
 */
#ifndef PIPELINE_DELIVERY_QUEUE_H
#define PIPELINE_DELIVERY_QUEUE_H

#include "pipeline/batch.h"
#include "pipeline/progress.h"

#include <stdbool.h>

/* One request in the queue: its current part, the parts after it, and what happened to it so
 * far. */
struct queue_element {
    struct queue_element *next;
    enum signal signal;
    struct batch *batch;
    struct batch_part *rest; /* not tried yet */
    uint64_t due;            /* parked: when to retry */
    /* When our own backoff would retry, ignoring the delay the server requested. */
    uint64_t own_due;
    uint64_t probe_due; /* if the server asked for a long wait: when to probe it earlier; 0: it did
                           not */
    uint64_t first_try; /* time of the current part's first attempt */
    unsigned attempt;   /* attempts at the current part that ended in RETRY */
    unsigned limited[CAUSE_COUNT]; /* attempts counted against outcome.max_tries, by cause */
    struct progress progress;      /* of the current part */
    unsigned halvings;             /* after "invalid" */
    bool delivered_any;
    uint32_t refused;     /* items of a waiting client that were not delivered */
    struct outcome worst; /* of those items */
    struct batch *last_refused;
};

struct queue_list {
    struct queue_element *head, *tail;
};

struct queue {
    size_t size;      /* places */
    size_t consumers; /* how many elements may be active at once, including parked ones */
    bool drop_oldest;
    bool unbounded;       /* while stopping: every element is taken */
    uint64_t probe_every; /* ns; 0: never */
    uint64_t probe_at;    /* monotonic; no probe before that */
    struct queue_list fresh, ready, parked;
    size_t queued;   /* fresh */
    size_t aside;    /* parked, not occupying a consumer */
    size_t active;   /* ready, parked while occupying a consumer, and in flight */
    size_t reserved; /* places reserved */

    /* Read without the lock. */
    _Atomic uint64_t used_by[SIGNAL_COUNT];   /* queued, aside and active */
    _Atomic uint64_t queued_by[SIGNAL_COUNT]; /* queued only */
};

/* Makes an element for a batch (referenced). NULL: no memory. */
struct queue_element *queue_element_new(struct batch *batch);
void queue_element_free(struct queue_element *element); /* may be NULL */
uint64_t queue_element_items(const struct queue_element *element);

/* Reserves n places, all or none (false): used + reserved + n <= size. */
bool queue_reserve(struct queue *queue, size_t n);
void queue_release(struct queue *queue, size_t n);

/* Appends an element whose place was reserved: never refuses. Returns the oldest element if
 * drop_oldest displaced it, else NULL. */
struct queue_element *queue_put(struct queue *queue, struct queue_element *element);

/* Returns the next element to deliver: one whose retry is due, else the oldest while a consumer is
 * free. */
struct queue_element *queue_take(struct queue *queue);
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

/* Frees the place of a taken element, of that signal, that is finished. */
void queue_finish(struct queue *queue, enum signal signal);

/* Empties the queue except for what is in flight; returns the elements as a list. */
struct queue_element *queue_clear(struct queue *queue);

/* Takes over the list that queue_clear of another queue returned, in its order, to be tried at
 * once. Never refuses. */
void queue_take_over(struct queue *queue, struct queue_element *list);

static inline size_t queue_used(const struct queue *queue)
{
    return queue->queued + queue->aside + queue->active;
}

#endif
