/*
 * The states of lanes (pipeline/lane.h). Each has a struct correlation of its own, whose wall and
 * monotonic clocks are both the lane's. So the rules need not know about lanes, and lanes never
 * wait for one another. The configured instance (top) has what lanes share: limits, metrics, and
 * sums for the explain output.
 *
 * A lane's events, batches and ticks, run in the order of their lane time. A batch ahead of the
 * clock is parked until the clock reaches it. So decisions do not depend on the pace or the order
 * in which records are read: they are those of a process that received the batches live.
 *
 * Locks, in this order: the lane's own (lane.c), a state's, its instance's, the top's; of struct
 * lanes: inside of a lane's, and nothing inside of it.
 */
#ifndef PROCESSORS_CORRELATION_LANES_LANES_H
#define PROCESSORS_CORRELATION_LANES_LANES_H

#include "pipeline/component.h"
#include "pipeline/watch.h"

#include <pthread.h>

struct correlation;
struct lane_state;

/* Of the top. */
struct lanes {
    pthread_mutex_t lock;
    struct lane_state *first; /* under the lock, like the links */
    _Atomic unsigned count;
    _Atomic uint64_t common_bytes, common_spans; /* held beyond the lanes' own shares */
};

void lanes_init(struct lanes *lanes);

/* Consumes a batch with a lane: `consume` of struct component. RETRY also if it is ahead of the
 * lane's clock and too much is parked already. */
enum verdict lanes_consume(struct correlation *top, struct batch *batch, struct outlet *next);

/* From the top's tick: runs what is due in lanes that nobody pushes into. Returns when to call it
 * again, mono. */
uint64_t lanes_tick(struct correlation *top, uint64_t mono);

/* Hands on what the lanes hold, as at the end of an instance, and frees their states. */
void lanes_close(struct correlation *top);

/* watch_holder.waits, over all lanes. Takes the locks of each. */
bool lanes_wait(struct correlation *top, uint64_t span_id, struct watch_waiting *waiting);

/* watch_holder.visit, likewise. */
bool lanes_visit(struct correlation *top, size_t *left, watch_held_fn *visit, void *visitor);

/* Returns how long the oldest span of any lane has waited, by its lane's clock, ns. */
uint64_t lanes_oldest_age(struct correlation *top);

/* Appends lines about each lane. */
void lanes_explain(struct correlation *top, struct bytes *out);

#endif
