/* The state of one lane in one instance; see lanes.h for its locks. */
#ifndef PROCESSORS_CORRELATION_LANES_STATE_H
#define PROCESSORS_CORRELATION_LANES_STATE_H

#include "pipeline/lane.h"
#include "processors/correlation/correlation.h"

/* A batch that is ahead of the lane's clock. */
struct parked {
    struct parked *next;
    struct batch *batch;
    struct outlet *outlet;
};

struct parking {
    struct parked *first, *last; /* in the order of their times, equal ones in that of the log */
    struct parked *put;          /* the one put in most recently; NULL: it was taken out */
    size_t bytes;
};

/* The log's time, unix ns, as both clocks; moves only with events. */
struct lane_time {
    struct clock clock;
    _Atomic uint64_t now;
};

struct lane_state {
    struct lane_user user;   /* first */
    struct lane_state *next; /* of the top's lanes */
    _Atomic unsigned refs;
    struct lane *lane;
    struct correlation *top;
    struct lane_time time;
    struct env env;

    pthread_mutex_t lock; /* held while events of the lane run; guards what follows */
    bool gone;            /* it has ended */
    bool stalled;         /* the next stage is full; no event runs until it has room */
    struct parking parked[SIGNAL_COUNT];
    bool dirty;                          /* has counts that were not added to the top's yet */
    uint64_t flushed;                    /* when they last were, mono of the top */
    unsigned lanes;                      /* number of lanes when the limits were last split */
    uint64_t excess_bytes, excess_spans; /* its part of the common ones */
    struct correlation self;             /* open from the first event on */
};

/* ---- run.c: events; under the state's lock ---- */

/* Runs what happens up to a lane time: ticks, and parked batches. */
void state_run(struct lane_state *state, uint64_t until);

/* Runs a batch, or parks it if it is ahead of the clock. */
enum verdict state_consume(struct lane_state *state, struct batch *batch, struct outlet *next);

/* Returns the lane time of the next event; TIME_NEVER: none is known. */
uint64_t state_due(struct lane_state *state);

/* Runs everything parked, whatever the clock says. */
void state_run_all(struct lane_state *state);

/* Gives up what is parked; its receipts get the outcome. */
void state_drop_parked(struct lane_state *state, const struct outcome *outcome);

/* ---- share.c: what belongs to all lanes; under the state's lock ---- */

/* Sets the limits of the hold and the index from what the other lanes use. */
void state_limit(struct lane_state *state);

/* Reports what it uses to the top. */
void state_note_use(struct lane_state *state);

/* Adds its counts to the top's. */
void state_flush(struct lane_state *state);

#endif
