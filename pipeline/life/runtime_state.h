/* The state of the running process, shared by runtime.c, reload.c, retire.c and stop.c. */
#ifndef PIPELINE_LIFE_RUNTIME_STATE_H
#define PIPELINE_LIFE_RUNTIME_STATE_H

#include "pipeline/graph/graph.h"
#include "pipeline/graph/replay.h"
#include "pipeline/life/retire.h"
#include "pipeline/life/runtime.h"
#include "pipeline/life/service.h"
#include "pipeline/telemetry/telemetry.h"

#include <pthread.h>

enum runtime_phase { RUNTIME_PLANNED, RUNTIME_READY, RUNTIME_STOPPING, RUNTIME_STOPPED };

struct runtime {
    const struct clock *clock;
    const struct node *root; /* of the settings in force; borrowed */
    struct budget budget;
    struct service_settings service;
    struct graph graph;
    struct gate gate; /* around every request, in front of the graph */
    struct ticker *ticker;
    struct ticker_entry settling; /* returns memory after a burst */
    struct journal *journal;      /* an extension's; NULL: none */
    struct replay *replay;
    struct watch watch;
    struct retired retired;
    struct telemetry *telemetry; /* used by the thread that starts, reloads and stops */
    _Atomic uint64_t reloads[RELOAD_FAILED + 1]; /* by enum reload_result */
    struct runtime_refusal refused;              /* under lock */
    pthread_mutex_t lock; /* held while phase or graph changes, while runtime_explain runs, and
                           * while a sender is freed */
    _Atomic int phase;
    _Atomic bool leaving; /* no longer ready, though running */
    _Atomic bool hurried;
    bool (*interrupts)(void); /* NULL: nothing ends a start early */
    bool interrupted;
    bool abandoned;         /* a thread of ours still uses it: never freed */
    _Atomic bool handed_on; /* a stop: processors hold nothing any more */
};

/* Calls visit for each instance in use of a kind. */
void runtime_each(struct runtime *runtime, enum component_kind kind,
                  void (*visit)(struct runtime *runtime, struct instance *instance));

/* Gives each instance of a graph without an env and sender its own, and wires the graph. False: no
 * memory. */
bool runtime_prepare(struct runtime *runtime, struct graph *graph);

/* Opens instances in use in a graph that are not open yet; a kind only after all of the one before
 * it opened. */
bool runtime_open(struct runtime *runtime, const struct graph *graph, struct problems *problems);

/* Opens service.telemetry of settings that are about to take effect. NULL: problems were added. */
struct telemetry *runtime_open_telemetry(struct runtime *runtime,
                                         const struct service_settings *service,
                                         const struct node *root, struct problems *problems);

/* Adds the metrics of the process and of its components; ctx: a struct runtime. Any thread. */
void runtime_measure(void *ctx, struct metrics *metrics);

/* Sets the limit and the reserve of the memory budget to what the graph asks for. */
void runtime_set_budget(struct runtime *runtime);
/* Warns, severely, if the budget leaves no room for data beside what is charged before any. */
void runtime_warn_budget(const struct graph *graph, struct problems *problems);

/* Closes the open processors of a graph, except those in `but` (NULL: none), front to back. */
void runtime_close_processors(const struct graph *graph, const struct graph *but);

/* Stops what runtime_start opened, in order, up to a deadline on the runtime's clock. */
void runtime_close_all(struct runtime *runtime, uint64_t deadline_mono_ns);

#endif
