/*
 * Delivers one queued request: converts it to the exporter's encoding, sends it, splits it if it is
 * too large, halves it if it is invalid, decides whether and when to retry, and counts what is
 * lost. What follows each answer of a backend is decided here.
 */
#ifndef PIPELINE_DELIVERY_DISPATCH_H
#define PIPELINE_DELIVERY_DISPATCH_H

#include "pipeline/component.h"
#include "pipeline/delivery/delivery.h"
#include "pipeline/delivery/loss_log.h"
#include "pipeline/delivery/queue.h"

struct dispatcher {
    const struct component *component; /* an exporter */
    void *self;
    struct delivery settings;
    struct meter *meter;
    const struct clock *clock;
    struct loss_log losses;
    bool waits;                 /* for the outcome of what has an awaited receipt */
    _Atomic bool stopping;      /* retries are cut short */
    _Atomic bool aborted;       /* no further attempts are made */
    _Atomic bool removed;       /* it stops because a reload removed the exporter */
    _Atomic bool lingers;       /* retries take their time though it stops */
    _Atomic uint64_t random;    /* state of the backoff's jitter */
    bool (*crowded)(void *ctx); /* whether others wait for a worker; NULL: never. Any thread */
    void *ctx;
};

/* Retries come at least this often while stopping. */
#define DISPATCH_STOPPING_WAIT_NS (250 * NS_PER_MS)

enum dispatch_result {
    DISPATCH_DONE, /* every part was delivered or given up; the element has no batches left */
    DISPATCH_WAIT, /* try the current part again at *due */
    DISPATCH_YIELD /* let others go first, then send the rest of the current part */
};

/* Called on a worker thread; blocks in the exporter's send. */
enum dispatch_result dispatch_run(struct dispatcher *dispatcher, struct queue_element *element,
                                  uint64_t *due);

/* How dispatch of one element ended. */
struct dispatch_end {
    enum dispatch_result result;
    uint64_t due;
};

/* The most elements that are dispatched together. */
enum { DISPATCH_TOGETHER = 32 };

/* As dispatch_run of each element, in no particular order, but the current parts of several are
 * sent by send_together, which the exporter must have. */
void dispatch_run_together(struct dispatcher *dispatcher, struct queue_element *const *elements,
                           size_t count, struct dispatch_end *ends);

/* Why what is left is given up at the end. */
struct outcome dispatch_ended(const struct dispatcher *dispatcher);

/* Gives up everything left of an element, and counts it as lost. Any thread. */
void dispatch_give_up(struct dispatcher *dispatcher, struct queue_element *element,
                      const struct outcome *why);

#endif
