/* The sender's state, shared by sender.c and sender_figures.c. */
#ifndef PIPELINE_DELIVERY_SENDER_INTERNAL_H
#define PIPELINE_DELIVERY_SENDER_INTERNAL_H

#include "pipeline/delivery/batching.h"
#include "pipeline/delivery/dispatch.h"
#include "pipeline/delivery/job.h"
#include "pipeline/delivery/sender_wait.h"
#include "pipeline/delivery/wakeups.h"

#include <pthread.h>

struct sender {
    struct dispatcher dispatcher;
    uint64_t key; /* exporter_key */
    struct ticker *ticker;
    struct ticker_entry entry;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* something to take, or closing */
    pthread_cond_t empty; /* nothing queued or in flight */
    struct queue queue;   /* this and the rest: under lock */
    struct batching batching;
    pthread_t *workers;
    size_t worker_count;
    struct wakeups wakeups;
    struct jobs jobs;
    bool closing;
    struct sender_waiters waiters;
    size_t waiting;           /* how many these are */
    size_t kept;              /* places that they leave to data that found none; 0: none */
    uint64_t kept_for;        /* mono: until then */
    struct sender *successor; /* set once; what needs a retry goes there */
    struct histogram enqueued_items, enqueued_bytes;
    struct histogram taken_items, taken_bytes; /* of what batching made */
    _Atomic bool passed;    /* a batch that the exporter does not accept was logged */
    sender_serve_fn *serve; /* set once */
    void *serve_ctx;
};

/* Under the lock: notes whether data found places for which sender_reserve was called. */
void sender_keep_places(struct sender *sender, size_t places, bool found);

/* When the first request's wait for room ends; TIME_NEVER: none waits, or it ended before mono_ns
 * and sender_serve_later was called. Not under the lock. */
uint64_t sender_wait_ends(struct sender *sender, uint64_t mono_ns);

#endif
