#include "pipeline/delivery/delivery.h"

static const char *const on_full_words[] = {"refuse", "drop_oldest", NULL};
static const char *const sizers[] = {"requests", NULL};

const struct key queue_keys[] = {
    KEY_BOOL(struct queue_settings, enabled, "enabled", "true",
             "false: clients wait for the backend's answer"),
    KEY_INT(struct queue_settings, num_consumers, "num_consumers", "10", 1, 1024,
            "requests in flight at once"),
    KEY_INT(struct queue_settings, queue_size, "queue_size", "1000", 1, 1e9,
            "requests in the queue, including those in flight"),
    KEY_CHOICE(struct queue_settings, on_full, "on_full", "refuse", on_full_words,
               "a full queue tells clients to retry, or drops its oldest request"),
    KEY_BOOL(struct queue_settings, block_on_overflow, "block_on_overflow", "false",
             "accepted; a full queue never blocks, clients are told to retry"),
    KEY_BOOL(struct queue_settings, wait_for_result, "wait_for_result", "false",
             "clients wait for the backend's answer"),
    KEY_CHOICE(struct queue_settings, sizer, "sizer", "requests", sizers, "what queue_size counts"),
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

void delivery_check(const struct delivery *delivery, struct key_report *report)
{
    const struct retry_settings *retry = &delivery->retry;
    if (retry->max_elapsed_time == 0)
        return;
    if (retry->max_elapsed_time < retry->initial_interval)
        key_report_add(report, "retry_on_failure.max_elapsed_time",
                       "must not be less than initial_interval");
    if (retry->max_elapsed_time < retry->max_interval)
        key_report_add(report, "retry_on_failure.max_elapsed_time",
                       "must not be less than max_interval");
}
