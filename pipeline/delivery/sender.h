/*
 * The delivery side of one exporter: its queue and the worker threads. Threads start when there is
 * work for them, up to num_consumers, and otherwise sleep without waking up.
 */
#ifndef PIPELINE_DELIVERY_SENDER_H
#define PIPELINE_DELIVERY_SENDER_H

#include "pipeline/component.h"
#include "pipeline/delivery/loss_log.h"
#include "pipeline/ticker.h"

struct sender;

/* Makes the sender of an exporter's instance; env must outlive it. NULL: no memory. */
struct sender *sender_new(const struct component *component, void *self, const struct env *env);
/* After sender_abort: waits for the workers to end. May be called twice. */
void sender_join(struct sender *sender);
void sender_free(struct sender *sender); /* joins; may be NULL */

/* Its exporter's id. */
const char *sender_id(const struct sender *sender);

/* exporter_key() of its exporter. */
uint64_t sender_key(const struct sender *sender);

/* Whether clients are to wait for the backend's answer. */
bool sender_waits(const struct sender *sender);

/* The encodings that the exporter is given (component_takes). */
unsigned sender_takes(const struct sender *sender);

/* Counts a batch in an encoding that only other exporters accept; logs the first one. Any
 * thread. */
void sender_pass(struct sender *sender, const struct batch *batch);

/* The places that a batch takes: 1, or what sending_queue.sizer counts of it. Any thread. */
size_t sender_places(const struct sender *sender, const struct batch *batch);

/* Whether the queue has so many places, used or not. Any thread. */
bool sender_may_hold(const struct sender *sender, size_t places);

/* Reserves places, all or none. sender_reserve is for data that come again on failure: for a while
 * requests that wait for room leave them as many places. sender_reserve_last fails while such
 * requests wait. Any thread. */
bool sender_reserve(struct sender *sender, size_t places);
bool sender_reserve_last(struct sender *sender, size_t places);
void sender_release(struct sender *sender, size_t places);

/* Counts a batch that found the queue full. Any thread. */
void sender_count_full(struct sender *sender, const struct batch *batch);

/* Queues a batch (referenced) for which places were reserved. Any thread, never blocks. */
void sender_put(struct sender *sender, struct batch *batch);

/* From now on retries are cut short, and waiting clients are told to retry themselves. */
void sender_hasten(struct sender *sender);

/* The same at a reload that removes the exporter: what is given up says so. */
void sender_remove(struct sender *sender);
/* After sender_remove: what is left is retried at the configured intervals, until an abort. */
void sender_linger(struct sender *sender);

/* While `all` is true, accepts batches even if full: used while closing processors hand on what
 * they hold. */
void sender_take_all(struct sender *sender, bool all);

/* Hands what is queued to another sender, whose exporter replaces this one's; what is in flight
 * follows if it needs a retry. No thread may call sender_put meanwhile. The successor must outlive
 * this sender. */
void sender_hand_over(struct sender *sender, struct sender *successor);
bool sender_has_successor(const struct sender *sender);

/* Blocks until nothing is queued or in flight, or until a time of clock_system's mono. */
bool sender_wait_empty(struct sender *sender, uint64_t until_mono_ns);

/* Gives up what is queued and interrupts what is in flight. With a successor it only interrupts. */
void sender_abort(struct sender *sender);

/* Items queued or in flight at the time of the call. */
uint64_t sender_pending(struct sender *sender);

/* What of a signal is queued or in flight; takes no lock. Any thread. */
struct sender_figures {
    uint64_t held;      /* places in use */
    uint64_t in_flight; /* requests that a worker took, or that wait for a retry */
};
struct sender_figures sender_figures(const struct sender *sender, enum signal signal);
/* Places, shared by all signals; 0: sending_queue is off. */
uint64_t sender_capacity(const struct sender *sender);

/* Sizes of requests that were to enter the queue, over all signals; at level detailed only. */
const struct histogram *sender_enqueued_items(const struct sender *sender);
const struct histogram *sender_enqueued_bytes(const struct sender *sender);

/* Sizes of what sending_queue.batch made, once a worker took it to send; at level detailed only.
 * NULL: there is no sending_queue.batch. */
const struct histogram *sender_taken_items(const struct sender *sender);
const struct histogram *sender_taken_bytes(const struct sender *sender);

/* How delivery goes. Any thread. */
struct sender_state {
    struct loss_log_state delivery;
    uint64_t oldest_ns; /* how long the oldest request has been in the queue; 0: it is empty */
    uint64_t retry_ns;  /* until its next attempt, if it waits for that; else 0 */
};
struct sender_state sender_state(struct sender *sender);

/* Appends a line about the queue. */
void sender_explain(struct sender *sender, struct bytes *out);

#endif
