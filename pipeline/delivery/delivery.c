#include "pipeline/delivery/delivery.h"

static const char *const on_full_words[] = {"refuse", "drop_oldest", NULL};
const char *const queue_sizers[] = {"requests", "items", "bytes", NULL};

static const char *const batching_sizers[] = {"items", "bytes", "", NULL};

static const struct key partition_keys[] = {
    KEY_IGNORED("metadata_keys", "accepted; requests of different tenants are never mixed"),
    KEY_END,
};

static const struct key batching_keys[] = {
    KEY_DURATION(struct batching_settings, flush_timeout, "flush_timeout", "200ms", 0,
                 "requests are sent after this time however few they are"),
    KEY_INT(struct batching_settings, min_size, "min_size", "8192", 0, 4294967295.0,
            "size at which requests are sent at once"),
    KEY_INT(struct batching_settings, max_size, "max_size", "0", 0, 4294967295.0,
            "larger requests are split, and the rest waits for more; 0: no limit"),
    KEY_CHOICE(struct batching_settings, sizer, "sizer", "", batching_sizers,
               "what min_size and max_size count; not set: the same as sending_queue.sizer, but "
               "items if that is requests"),
    {.name = "partition",
     .type = KEY_TYPE_GROUP,
     .rows = partition_keys,
     .text = "which requests are kept apart"},
    KEY_END,
};

const struct key queue_keys[] = {
    KEY_BOOL(struct queue_settings, enabled, "enabled", "true",
             "false: clients wait for the backend's answer"),
    KEY_INT(struct queue_settings, num_consumers, "num_consumers", "10", 1, 1024,
            "requests in flight at once"),
    KEY_INT(struct queue_settings, queue_size, "queue_size", "1000", 1, 1e12,
            "size of the queue, including requests in flight, in units of sizer"),
    KEY_CHOICE(struct queue_settings, on_full, "on_full", "refuse", on_full_words,
               "a full queue tells clients to retry, or drops its oldest request"),
    KEY_BOOL(struct queue_settings, block_on_overflow, "block_on_overflow", "false",
             "a request that finds the queue full waits up to 5s for room before its client is "
             "told to retry"),
    KEY_BOOL(struct queue_settings, wait_for_result, "wait_for_result", "false",
             "clients wait for the backend's answer"),
    KEY_CHOICE(struct queue_settings, sizer, "sizer", "requests", queue_sizers,
               "what queue_size counts: requests, their items (spans, data points, log records, "
               "samples of profiles), or their uncompressed bytes"),
    KEY_SWITCHED(struct queue_settings, batch, struct batching_settings, has_batch, "batch",
                 batching_keys,
                 "requests are combined while they wait in the queue; not profiles, nor those "
                 "that a client waits for"),
    KEY_END,
};

const struct key retry_keys[] = {
    KEY_BOOL(struct retry_settings, enabled, "enabled", "true",
             "false: a request that fails is dropped"),
    KEY_DURATION(struct retry_settings, initial_interval, "initial_interval", "5s", 0,
                 "wait before the first retry"),
    KEY_NUMBER(struct retry_settings, randomization_factor, "randomization_factor", "0.5", 0, 1,
               "each wait is longer or shorter by up to this share, at random"),
    KEY_NUMBER(struct retry_settings, multiplier, "multiplier", "1.5", 0, 1e6,
               "factor from each wait to the next"),
    KEY_DURATION(struct retry_settings, max_interval, "max_interval", "30s", 0,
                 "longest wait, unless the server asks for more"),
    KEY_DURATION(struct retry_settings, max_elapsed_time, "max_elapsed_time", "0s", 0,
                 "time after the first attempt at which retries end; 0: never"),
    KEY_END,
};

enum batching_sizer queue_batching_sizer(const struct queue_settings *settings)
{
    if (settings->batch.sizer != BATCHING_AS_QUEUE)
        return (enum batching_sizer)settings->batch.sizer;
    return settings->sizer == QUEUE_BYTES ? BATCHING_BYTES : BATCHING_ITEMS;
}

/* Whether queue_size and min_size count the same. */
static bool sizers_agree(const struct queue_settings *settings)
{
    bool bytes = queue_batching_sizer(settings) == BATCHING_BYTES;
    return settings->sizer == (bytes ? QUEUE_BYTES : QUEUE_ITEMS);
}

void delivery_check(const struct delivery *delivery, struct key_report *report)
{
    const struct retry_settings *retry = &delivery->retry;
    const struct batching_settings *batch = &delivery->queue.batch;
    if (delivery->queue.has_batch && batch->flush_timeout == 0)
        key_report_add(report, "sending_queue.batch.flush_timeout", "must be greater than 0");
    if (delivery->queue.has_batch && batch->max_size && batch->max_size < batch->min_size)
        key_report_add(report, "sending_queue.batch.max_size",
                       "must be greater than or equal to min_size");
    if (delivery->queue.has_batch && sizers_agree(&delivery->queue) &&
        batch->min_size > delivery->queue.queue_size)
        key_report_add(report, "sending_queue.batch.min_size",
                       "must be less than or equal to queue_size");
    if (retry->max_elapsed_time == 0)
        return;
    if (retry->max_elapsed_time < retry->initial_interval)
        key_report_add(report, "retry_on_failure.max_elapsed_time",
                       "must not be less than initial_interval");
    if (retry->max_elapsed_time < retry->max_interval)
        key_report_add(report, "retry_on_failure.max_elapsed_time",
                       "must not be less than max_interval");
}
