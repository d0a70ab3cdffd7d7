/* What an instance is given at open, and how a processor hands batches on. */
#ifndef PIPELINE_ENV_H
#define PIPELINE_ENV_H

#include "lib/base/budget.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "pipeline/batch.h"
#include "pipeline/intake.h"
#include "pipeline/meter.h"
#include "pipeline/watch.h"

struct journal; /* lib/journal/journal.h */

/* Where a processor hands on batches in one pipeline. Valid until the processor is closed. */
struct outlet;

/* Hands a batch (borrowed) to the next stage. OK: every branch took it. RETRY: none did; a caller
 * that holds accepted data keeps it and offers it again from tick. REJECT: none did and none ever
 * will; already counted. A batch that is not `admitted` gets RETRY while a downstream queue is
 * full. Any thread, never blocks. */
enum verdict outlet_push(struct outlet *outlet, struct batch *batch);

/* The outlet's (pipeline/pace.h), borrowed. */
struct part_pace *outlet_pace(struct outlet *outlet);

/* Makes the step of a batch (pipeline/batch_pass.h). False: the processor has none for it. */
struct pass_step;
typedef bool pass_step_fn(void *self, const struct batch *batch, struct pass_step *step);

/* Of which requests a receiver hands on the metadata. */
enum metadata_of { METADATA_OF_NONE, METADATA_OF_SOME, METADATA_OF_ALL };

/* What an instance is given at open; all of it outlives the instance. */
struct env {
    const char *id;            /* "otlp/2" */
    const char *kind;          /* "receiver"; NULL in tests */
    _Atomic bool yields;       /* a reload is about to close it: others may take over its sockets
                                  (lib/net/listeners.h) */
    _Atomic uint64_t stop_by;  /* processors: until then (mono) close of a stop may wait for room
                                  downstream; 0: no stop, close must not wait long */
    bool by_reload;            /* a reload opens it: the process ran before */
    const struct clock *clock; /* the only source of time */
    struct budget *budget;     /* the process's memory budget */
    struct meter *meter;       /* this instance's counters */
    _Atomic unsigned metadata_signals; /* processors: SIGNAL_BITs; all data have it */
    _Atomic bool whole_traces; /* processors: one behind it treats the spans of a trace by what
                                  their local root is, so they leave no earlier than it */
    struct intake *intakes[SIGNAL_COUNT]; /* receivers; NULL: no pipeline of that signal */
    struct runtime *runtime;              /* pipeline/life/runtime.h */
    struct ticker *ticker;                /* for env_tick_at */
    struct journal *journal;              /* NULL: none */
    struct watch *watch;                  /* who looks at what passes; NULL: nobody */
    void *instance;
};

/* Asks for a tick at a monotonic time (0: at once). The earliest request counts. Any thread. */
void env_tick_at(const struct env *env, uint64_t mono_ns);

/* A line of the log about an instance. */
#define env_log(env, level, ...)                                                                   \
    log_of(&(struct log_source){.id = (env)->id, .kind = (env)->kind}, (level), __VA_ARGS__)
#define env_info(env, ...)  env_log(env, LOG_INFO, __VA_ARGS__)
#define env_warn(env, ...)  env_log(env, LOG_WARN, __VA_ARGS__)
#define env_error(env, ...) env_log(env, LOG_ERROR, __VA_ARGS__)

/* If there is a journal, stores content for keep_ns so that it survives a crash: `recall` passes it
 * to this id's instance in the next process. Any thread. */
void env_note(const struct env *env, struct view content, uint64_t keep_ns);

#endif
