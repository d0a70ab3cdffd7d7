/*
 * The process as the cli and the extensions see it: build from settings, start, explain, stop.
 */
#ifndef PIPELINE_LIFE_RUNTIME_H
#define PIPELINE_LIFE_RUNTIME_H

#include "lib/base/bytes.h"
#include "lib/base/clock.h"
#include "lib/settings/load.h"

struct runtime;

/* Plans the graph of a configuration, whose settings outlive it or the next reload that is done,
 * and fills every component's keys. All faults are added to problems; NULL if there was any. Opens
 * nothing: this is all that `validate` does. */
struct runtime *runtime_plan(const struct settings *settings, const struct clock *clock,
                             struct problems *problems);

/* What a plan that can run does not do as one may think, in the log. */
void runtime_log_warnings(const struct runtime *runtime);

/* Looks, for a plan that is not to be started, at what its start would find, as far as that can be
 * done without taking anything: files that are named. False: problems were added. */
bool runtime_rehearse(struct runtime *runtime, struct problems *problems);

/* Asks every backend of a plan that is not to be started, one after the other, whether it would
 * take the signals that are sent to it; a line to out for each that would. False: problems were
 * added. Blocks up to the timeout of each exporter, and some seconds more. */
bool runtime_check(struct runtime *runtime, struct problems *problems, FILE *out);

/* Opens everything. False: problems say why, and what was open is closed again. */
bool runtime_start(struct runtime *runtime, struct problems *problems);

/* What became of a reload; logged with what changed. */
enum reload_result {
    RELOAD_DONE,
    RELOAD_SAME,  /* nothing differs */
    RELOAD_FAILED /* problems say why; all goes on as before */
};

/* Goes over to other settings while data flow. RELOAD_DONE: they outlive the next one that is done,
 * and those before are not needed any more. Instances whose section is the same stay open with all
 * that they hold; the others are opened beside the old ones and take their place. What the old ones
 * hold is handed on, their queues go to those of the same id; what is left of them ends by itself
 * within service.shutdown_timeout. The thread that starts and stops. */
enum reload_result runtime_reload(struct runtime *runtime, const struct settings *settings,
                                  struct problems *problems);

/* True from a complete start until leave or stop; what health_check answers. */
bool runtime_ready(const struct runtime *runtime);

/* Says that a stop is to follow: it is not ready any more, and takes everything as before. Returns
 * how long that is to last, service.shutdown_delay, in nanoseconds. */
uint64_t runtime_leave(struct runtime *runtime);

/* What keeps it from taking requests though it runs, for people, appended to out. False: nothing.
 * Any thread. */
bool runtime_trouble(struct runtime *runtime, struct bytes *out);

/* Requests that exporters had to try again and items that they dropped, since the start; less after
 * a reload that took an exporter away. Any thread. */
uint64_t runtime_failures(struct runtime *runtime);

/* Stops: receivers first, then processors hand on what they hold, queues drain until the deadline
 * (service.shutdown_timeout), exporters and extensions last. hurry: a flag that may be set from
 * a signal handler to cut the wait short. Returns the items that were acknowledged and never
 * delivered, over the whole run; a report of them in lines is appended to report. */
uint64_t runtime_stop(struct runtime *runtime, const volatile int *hurry, struct bytes *report);

/* What every component says of itself, for people. Any thread. */
void runtime_explain(struct runtime *runtime, struct bytes *out);

/* One row of what runs: a pipeline with its parts, or an instance in use. The texts live for the
 * call of visit. */
struct runtime_row {
    const char *name;     /* "traces/2", "otlp" */
    const char *kind;     /* "receiver" ...; NULL: a pipeline */
    const char *parts[3]; /* a pipeline's receivers, processors and exporters, ", " between them */
};
typedef void runtime_visit_fn(void *ctx, const struct runtime_row *row);

/* Calls visit for each pipeline, then for each instance in use, in the order of the configuration.
 * Any thread. */
void runtime_rows(struct runtime *runtime, runtime_visit_fn *visit, void *ctx);

/* Puts service.telemetry.logs into force, but for output_paths, which start and reload open. */
void runtime_set_log(const struct runtime *runtime);

void runtime_free(struct runtime *runtime); /* NULL is legal; stop comes first */

#endif
