/*
 * The delivery side of one exporter: its queue with the worker threads behind it. Threads start
 * when there is work for them, up to num_consumers, and sleep without any wake-up otherwise.
 */
#ifndef PIPELINE_DELIVERY_SENDER_H
#define PIPELINE_DELIVERY_SENDER_H

#include "pipeline/component.h"
#include "pipeline/ticker.h"

struct sender;

/* For an exporter's instance; env must outlive it. NULL: no memory. */
struct sender *sender_new(const struct component *component, void *self, const struct env *env);
/* After sender_abort: waits for the workers to end. Legal twice. */
void sender_join(struct sender *sender);
void sender_free(struct sender *sender); /* joins; NULL is legal */

/* Whether clients are to wait for the backend's answer. */
bool sender_waits(const struct sender *sender);

/* The encodings that the exporter gets (component_takes). */
unsigned sender_takes(const struct sender *sender);

/* Counts a batch that the exporter does not take and that goes to others alone; the first one is
 * logged. Any thread. */
void sender_pass(struct sender *sender, const struct batch *batch);

/* Promises places, all or none. Any thread. */
bool sender_reserve(struct sender *sender, size_t places);
void sender_release(struct sender *sender, size_t places);

/* Counts a batch for which there was no place. Any thread. */
void sender_count_full(struct sender *sender, const struct batch *batch);

/* Takes a batch (referenced) over a promise. Any thread, never blocks. */
void sender_put(struct sender *sender, struct batch *batch);

/* From now on retries are cut short; waiting clients are told to retry instead. */
void sender_hasten(struct sender *sender);

/* While all is true every batch is taken: what processors hold at their close. */
void sender_take_all(struct sender *sender, bool all);

/* Hands what is queued to another, whose exporter takes the place of this one's; what is under way
 * follows where it is to be tried again. While nobody puts. The successor outlives this one. */
void sender_hand_over(struct sender *sender, struct sender *successor);
bool sender_has_successor(const struct sender *sender);

/* Blocks until nothing is queued or under way, or until a time of clock_system's mono. */
bool sender_wait_empty(struct sender *sender, uint64_t until_mono_ns);

/* Gives up what is queued and interrupts what is under way. With an successor it interrupts alone.
 */
void sender_abort(struct sender *sender);

/* Items queued or under way, when called. */
uint64_t sender_pending(struct sender *sender);

/* What is queued or under way, of a signal, in requests; takes no lock. Any thread. */
struct sender_figures {
    uint64_t held;      /* places in use */
    uint64_t in_flight; /* of these, those that a worker has, or that wait for a retry */
};
struct sender_figures sender_figures(const struct sender *sender, enum signal signal);
uint64_t sender_capacity(const struct sender *sender); /* places, for all signals together */

/* Of requests as they came to the queue, at the level detailed; of all signals. */
const struct histogram *sender_enqueued_items(const struct sender *sender);
const struct histogram *sender_enqueued_bytes(const struct sender *sender);

/* A line about the queue. */
void sender_explain(struct sender *sender, struct bytes *out);

#endif
