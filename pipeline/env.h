/* What surrounds an instance: what it gets at open, and the way ahead of a processor. */
#ifndef PIPELINE_ENV_H
#define PIPELINE_ENV_H

#include "lib/base/budget.h"
#include "lib/base/clock.h"
#include "pipeline/batch.h"
#include "pipeline/intake.h"
#include "pipeline/meter.h"

struct journal; /* lib/journal/journal.h */

/* The way ahead of a processor in one pipeline. Lives until the processor is closed. */
struct outlet;

/* Hands a batch (borrowed) on. OK: taken by every branch. RETRY: by none, the caller keeps what
 * was accepted and offers it again from tick. REJECT: by none, ever; already counted. Any thread,
 * never blocks. A batch that is not `admitted` may get RETRY where a queue is full. */
enum verdict outlet_push(struct outlet *outlet, struct batch *batch);

/* What an instance gets at open; everything in it outlives the instance. */
struct env {
    const char *id;                       /* "otlp/2" */
    _Atomic bool yields;                  /* a reload is about to close it: others may take its
                                           * sockets over (lib/net/listeners.h) */
    const struct clock *clock;            /* the only source of time */
    struct budget *budget;                /* the process's memory budget */
    struct meter *meter;                  /* this instance's counters */
    _Atomic unsigned metadata_signals;    /* processors: SIGNAL_BITs that come with metadata */
    struct intake *intakes[SIGNAL_COUNT]; /* receivers; NULL: no pipeline of that signal */
    struct runtime *runtime;              /* pipeline/life/runtime.h */
    struct ticker *ticker;                /* for env_tick_at */
    struct journal *journal;              /* NULL: none */
    void *instance;
};

/* Asks for tick at a monotonic time (0: at once). The earliest one counts. Any thread. */
void env_tick_at(const struct env *env, uint64_t mono_ns);

/* Keeps content for keep_ns, over a crash, where there is a journal: the next process's instance of
 * this id gets it by `recall`. Any thread. */
void env_note(const struct env *env, struct view content, uint64_t keep_ns);

#endif
