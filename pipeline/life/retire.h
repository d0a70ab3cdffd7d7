/*
 * What a reload removed and what has not finished yet: receivers serve their connected clients,
 * exporters deliver what they have, all within service.shutdown_timeout; with the journal,
 * exporters go on until they have delivered it, or the process stops.
 */
#ifndef PIPELINE_LIFE_RETIRE_H
#define PIPELINE_LIFE_RETIRE_H

#include "pipeline/graph/graph.h"

struct runtime;

/* What one reload removed, with the thread that finishes it. */
struct retirement {
    struct retirement *next;
    struct retired *all;
    struct graph graph; /* owns what is in instances; its pipelines exist only to describe them */
    uint64_t deadline;  /* monotonic, of clock_system */
    uint64_t number;    /* they end in order: an exporter may hand over to one that retired later */
    pthread_t thread;
    bool threaded;
    bool told; /* its exporters' senders exist; under lock */
    bool left; /* receivers are closed; under lock */
    bool done; /* the graph may be freed, or is kept until the end; under lock */
};

struct retired_meter {
    enum component_kind kind;
    struct meter *meter;
};

struct retired {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct retirement *first; /* changed by the thread that reloads and stops, under lock */
    uint64_t begun;
    uint64_t ended; /* under lock, as are the next two */
    bool hurry;
    bool held;
    struct runtime *runtime;      /* its owner; never changes */
    struct retired_meter *meters; /* of processors and exporters that were removed, one for an id;
                                     under runtime->lock */
    size_t meter_count;
};

void retired_init(struct retired *retired, struct runtime *runtime);
/* After finish, or if nothing was begun; once no answer is outstanding. */
void retired_release(struct retired *retired);

/* The meter of an instance that was removed; NULL: none. Under runtime->lock. */
struct meter *retired_meter(const struct retired *retired, enum component_kind kind,
                            const char *id);

/* Whether no instance in use has its id, and so counts its losses too. Under runtime->lock. */
bool retired_counts(const struct runtime *runtime, const struct retired_meter *gone);

/* Between these no retired graph is freed; hold first frees those that are done. */
void retired_hold(struct retired *retired);
void retired_let_go(struct retired *retired);

/* Takes over the retirement (calloc'ed, with its graph) and finishes it in the background. */
void retired_begin(struct runtime *runtime, struct retirement *retirement, uint64_t timeout_ns);

/* For a stop: closes the receivers at once; returns when they are closed. */
void retired_hurry(struct retired *retired);
/* Returns when everything has ended except receivers whose clients still wait for an answer: they
 * stay until release. */
void retired_finish(struct retired *retired);

#endif
