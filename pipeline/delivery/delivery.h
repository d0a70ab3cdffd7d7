/*
 * Settings for delivering an exporter's batches: bounded queue, workers, retry with backoff,
 * splitting and halving. Keys and defaults are the Collector's.
 */
#ifndef PIPELINE_DELIVERY_DELIVERY_H
#define PIPELINE_DELIVERY_DELIVERY_H

#include "lib/settings/key.h"

enum queue_on_full { QUEUE_REFUSE, QUEUE_DROP_OLDEST };

struct queue_settings {
    bool enabled; /* false: clients wait for the backend's answer */
    int64_t num_consumers;
    int64_t queue_size; /* requests, including those in flight */
    int on_full;        /* enum queue_on_full */
    bool block_on_overflow;
    bool wait_for_result;
    int sizer;
};

struct retry_settings {
    bool enabled;
    uint64_t initial_interval;
    double randomization_factor;
    double multiplier;
    uint64_t max_interval;
    uint64_t max_elapsed_time; /* 0: for ever */
};

struct delivery {
    struct queue_settings queue;
    struct retry_settings retry;
    int64_t max_request_bytes; /* 0: no limit; inflated bytes, OTLP only */
};

extern const struct key queue_keys[]; /* group sending_queue over struct queue_settings */
extern const struct key retry_keys[]; /* group retry_on_failure over struct retry_settings */

/* The Collector's checks across both groups. */
void delivery_check(const struct delivery *delivery, struct key_report *report);

#endif
