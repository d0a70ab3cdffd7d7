/* What runtime.c and stop.c share: the running process. */
#ifndef PIPELINE_RUNTIME_STATE_H
#define PIPELINE_RUNTIME_STATE_H

#include "pipeline/graph.h"
#include "pipeline/replay.h"
#include "pipeline/runtime.h"
#include "pipeline/service.h"

#include <pthread.h>

enum runtime_phase { RUNTIME_PLANNED, RUNTIME_READY, RUNTIME_STOPPING, RUNTIME_STOPPED };

struct runtime {
    const struct clock *clock;
    struct budget budget;
    struct service_settings service;
    struct graph graph;
    struct ticker *ticker;
    struct journal *journal; /* an extension's; NULL: none */
    struct replay *replay;
    pthread_mutex_t lock; /* held while phase changes, while runtime_explain runs, and while a
                           * sender is freed */
    _Atomic int phase;
    _Atomic bool hurried;
    bool abandoned; /* threads of ours still use it: never freed */
};

/* Calls visit for each instance in use of a kind. */
void runtime_each(struct runtime *runtime, enum component_kind kind,
                  void (*visit)(struct runtime *runtime, struct instance *instance));

/* Stops what runtime_start opened, in order, up to a deadline of the runtime's clock. */
void runtime_close_all(struct runtime *runtime, uint64_t deadline_mono_ns);

/* For tests with a clock of their own: runs the ticks that are due; returns the next time. */
uint64_t runtime_step(struct runtime *runtime);

#endif
