/*
 * One request's way out: bring it into the exporter's encoding, send it, split what is too large,
 * halve what is invalid, decide whether and when to retry, and account for what is lost. The place
 * to look up what follows an answer.
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
    bool waits;                 /* clients wait for the outcome */
    _Atomic bool stopping;      /* retries are cut short */
    _Atomic bool aborted;       /* nothing is tried any more */
    _Atomic uint64_t random;    /* state of the backoff's jitter */
    bool (*crowded)(void *ctx); /* whether others wait for a consumer; NULL: never. Any thread */
    void *ctx;
};

/* Retries come at least this often while stopping. */
#define DISPATCH_STOPPING_WAIT_NS (250 * NS_PER_MS)

enum dispatch_result {
    DISPATCH_DONE, /* every part was delivered or given up; the element is left without batches */
    DISPATCH_WAIT, /* the current part is to be tried again at *due */
    DISPATCH_YIELD /* there is more of the current part to send, when others had their turn */
};

/* A worker thread; blocks in the exporter's send. */
enum dispatch_result dispatch_run(struct dispatcher *dispatcher, struct queue_element *element,
                                  uint64_t *due);

/* Gives up all that is left of an element, and accounts for it. Any thread. */
void dispatch_give_up(struct dispatcher *dispatcher, struct queue_element *element,
                      const struct outcome *why);

#endif
