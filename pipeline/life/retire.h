/*
 * What a reload took out of service and what still has something to end: receivers serve who is
 * connected, exporters deliver what they have, all within service.shutdown_timeout.
 */
#ifndef PIPELINE_LIFE_RETIRE_H
#define PIPELINE_LIFE_RETIRE_H

#include "pipeline/graph/graph.h"

struct runtime;

/* One reload's rest, with a thread that sees it to its end. */
struct retirement {
    struct retirement *next;
    struct retired *all;
    struct graph graph; /* what is in instances is owned; pipelines have only their shape */
    uint64_t deadline;  /* mono of clock_system */
    uint64_t number;    /* they end in order: an exporter may hand on to one that retired later */
    pthread_t thread;
    bool threaded;
    bool left; /* receivers are closed; under lock */
    bool done; /* the graph goes, or stays until the end; under lock */
};

struct retired {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct retirement *first; /* of the thread that reloads and stops */
    uint64_t begun;
    uint64_t ended; /* under lock, as the next two */
    bool hurry;
    bool held;
    struct runtime *runtime; /* whose it is; never changes */
    struct meter **meters; /* of instances that are gone and lost something; under runtime->lock */
    size_t meter_count;
};

void retired_init(struct retired *retired, struct runtime *runtime);
/* After finish, or where nothing was begun; once no answer is outstanding any more. */
void retired_release(struct retired *retired);

/* Between these no retired graph goes away; those that are done already are freed before. */
void retired_hold(struct retired *retired);
void retired_let_go(struct retired *retired);

/* Takes over the retirement (calloc'ed, with its graph) and ends it in the background. */
void retired_begin(struct runtime *runtime, struct retirement *retirement, uint64_t timeout_ns);

/* For a stop: closes the receivers at once; returns when they are closed. */
void retired_hurry(struct retired *retired);
/* Returns when everything is over, but for receivers whose clients wait for an answer: they stay
 * until release. */
void retired_finish(struct retired *retired);

#endif
