/*
 * Settings for delivering an exporter's batches: bounded queue, workers, retry with backoff,
 * splitting and halving. Keys and defaults are the Collector's.
 */
#ifndef PIPELINE_DELIVERY_DELIVERY_H
#define PIPELINE_DELIVERY_DELIVERY_H

#include "lib/settings/key.h"

enum queue_on_full { QUEUE_REFUSE, QUEUE_DROP_OLDEST };

enum queue_sizer { QUEUE_REQUESTS, QUEUE_ITEMS, QUEUE_BYTES };

/* BATCHING_AS_QUEUE: as queue_size is counted, but items if that is requests. */
enum batching_sizer { BATCHING_ITEMS, BATCHING_BYTES, BATCHING_AS_QUEUE };

struct batching_settings {
    uint64_t flush_timeout;
    int64_t min_size; /* in units of the sizer */
    int64_t max_size; /* 0: no limit */
    int sizer;        /* enum batching_sizer */
};

struct queue_settings {
    bool enabled; /* false: clients wait for the backend's answer */
    int64_t num_consumers;
    int64_t queue_size; /* in units of the sizer, including requests in flight */
    int on_full;        /* enum queue_on_full */
    bool block_on_overflow;
    bool wait_for_result;
    int sizer; /* enum queue_sizer */
    struct batching_settings batch;
    bool has_batch;
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

/* "requests", "items", "bytes"; by enum queue_sizer. */
extern const char *const queue_sizers[];

/* The sizer of sending_queue.batch: BATCHING_ITEMS or BATCHING_BYTES. */
enum batching_sizer queue_batching_sizer(const struct queue_settings *settings);

/* The Collector's checks across both groups. */
void delivery_check(const struct delivery *delivery, struct key_report *report);

#endif
