/* The sender's state, shared by sender.c and sender_figures.c. */
#ifndef PIPELINE_DELIVERY_SENDER_INTERNAL_H
#define PIPELINE_DELIVERY_SENDER_INTERNAL_H

#include "pipeline/delivery/batching.h"
#include "pipeline/delivery/dispatch.h"
#include "pipeline/delivery/job.h"
#include "pipeline/delivery/sender.h"
#include "pipeline/delivery/wakeups.h"

#include <pthread.h>

struct sender {
    struct dispatcher dispatcher;
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
    struct sender *successor; /* set once; what needs a retry goes there */
    struct histogram enqueued_items, enqueued_bytes;
    struct histogram taken_items, taken_bytes; /* of what batching made */
    _Atomic bool passed; /* a batch that the exporter does not accept was logged */
};

#endif
