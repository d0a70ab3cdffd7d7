/* What an instance of a component is given at its start. */
#ifndef PIPELINE_ENV_H
#define PIPELINE_ENV_H

#include "base/budget.h"
#include "base/clock.h"
#include "pipeline/batch.h"
#include "pipeline/intake.h"
#include "pipeline/meter.h"

struct journal; /* journal/journal.h */

/* What an instance gets at open; everything in it outlives the instance. */
struct env {
    const char *id;                       /* "otlp/2" */
    _Atomic bool yields;                  /* a reload is about to close it: others may take its
                                           * sockets over (net/listeners.h) */
    const struct clock *clock;            /* the only source of time */
    struct budget *budget;                /* the process's memory budget */
    struct meter *meter;                  /* this instance's counters */
    struct intake *intakes[SIGNAL_COUNT]; /* receivers; NULL: no pipeline of that signal */
    struct runtime *runtime;              /* pipeline/runtime.h */
    struct ticker *ticker;                /* for env_tick_at */
    struct journal *journal;              /* NULL: none */
    void *instance;
};

/* Asks for tick at a monotonic time (0: at once). The earliest one asked counts. Any thread. */
void env_tick_at(const struct env *env, uint64_t mono_ns);

/* Keeps content for keep_ns, over a crash, where there is a journal: the next process's instance of
 * this id gets it by `recall`. Any thread. */
void env_note(const struct env *env, struct view content, uint64_t keep_ns);

#endif
