/* The process as the cli and the extensions see it: plan, start, reload, explain, stop. */
#ifndef PIPELINE_LIFE_RUNTIME_H
#define PIPELINE_LIFE_RUNTIME_H

#include "lib/base/bytes.h"
#include "lib/base/clock.h"
#include "lib/base/place.h"
#include "lib/settings/load.h"

struct metrics;
struct runtime;

/* Plans the graph of a configuration and fills every component's keys. The settings must outlive
 * the runtime, or the next reload that is done. All faults are added to problems; NULL if there was
 * any. Opens nothing; `validate` then calls runtime_rehearse. */
struct runtime *runtime_plan(const struct settings *settings, const struct clock *clock,
                             struct problems *problems);

/* Warns about valid settings that may not do what the user expects. */
void runtime_log_warnings(const struct runtime *runtime);

/* For a plan that is not started: checks, without taking anything, what a start would find, such as
 * the files it names. False: problems were added. */
bool runtime_rehearse(struct runtime *runtime, struct problems *problems);

/* For a plan that is not started: asks every backend, one after the other, whether it accepts the
 * signals sent to it; writes a line to out for each that does. False: problems were added. Blocks
 * up to the timeout of each exporter, and some seconds more. */
bool runtime_check(struct runtime *runtime, struct problems *problems, FILE *out);

/* Opens everything. False: problems say why (none: it was interrupted), and all is closed again. */
bool runtime_start(struct runtime *runtime, struct problems *problems);
void runtime_interrupt(struct runtime *runtime, bool (*interrupts)(void)); /* true: it ends */

/* Logged with what changed. */
enum reload_result {
    RELOAD_DONE,
    RELOAD_SAME,  /* nothing changed */
    RELOAD_FAILED /* problems say why; everything continues as before */
};

/* Switches to other settings while data flow. settings NULL: they could not be read, and problems
 * say why; that counts as a failed reload. RELOAD_DONE: the new settings must outlive the next
 * reload that is done, and the old ones are no longer used. Instances whose section is the same
 * stay open with all that they hold; the others are opened beside the old ones and replace them.
 * What the old ones hold is handed on, and their queues pass to exporters of the same id; the rest
 * of them ends by itself within service.shutdown_timeout. Only on the thread that starts and
 * stops. */
enum reload_result runtime_reload(struct runtime *runtime, const struct settings *settings,
                                  struct problems *problems);

/* Why the last reload failed; `at` is 0 once one has succeeded. Any thread. */
struct runtime_refusal {
    uint64_t at;      /* wall, ns */
    char error[1024]; /* the problems, redacted */
};
struct runtime_refusal runtime_refused_reload(struct runtime *runtime);

/* From a complete start until leave or stop; health_check answers with it. */
bool runtime_ready(const struct runtime *runtime);

/* Announces a stop: the process is no longer ready, but accepts everything as before. Returns for
 * how long: service.shutdown_delay, ns. */
uint64_t runtime_leave(struct runtime *runtime);

/* Appends why it cannot accept requests although it is running, human-readable. False: nothing
 * prevents it. Any thread. */
bool runtime_trouble(struct runtime *runtime, struct bytes *out);

/* Attempts of exporters that failed and are retried, plus requests that they dropped, since the
 * start; decreases when a reload removes an exporter. Any thread. */
uint64_t runtime_failures(struct runtime *runtime);

/* Stops: receivers first, then processors hand on what they hold, queues drain until the deadline
 * (service.shutdown_timeout), exporters and extensions last. hurry: a flag that a signal handler
 * may set to cut the wait short. Returns the items that were acknowledged and never delivered, over
 * the whole run; lines about them are appended to report. */
uint64_t runtime_stop(struct runtime *runtime, const volatile int *hurry, struct bytes *report);

/* Appends every component's own human-readable lines. Any thread. */
void runtime_explain(struct runtime *runtime, struct bytes *out);

/* Adds what is told of the process and of all components. Any thread. */
void runtime_figures(struct runtime *runtime, struct metrics *metrics);
uint64_t runtime_began(void); /* when the process started, wall, ns; any thread */

/* The settings in force as YAML, secrets redacted. Any thread. */
void runtime_config(struct runtime *runtime, struct bytes *out);

/* A key of an instance in use that its section does not give. The texts live for the call. */
struct runtime_default {
    const char *path;  /* "processors.correlation.link" */
    const char *value; /* the default as it would be written */
    const char *text;  /* one human-readable line */
};
typedef void runtime_default_fn(void *ctx, const struct runtime_default *found);
void runtime_defaults(struct runtime *runtime, runtime_default_fn *visit, void *ctx);

struct instance;

/* One row of the running graph: a pipeline with its parts, or an instance in use. The texts are
 * valid during visit. */
struct runtime_row {
    const char *name;     /* "traces/2", "otlp" */
    const char *kind;     /* "receiver" ...; NULL: a pipeline */
    const char *parts[3]; /* a pipeline's receivers, processors and exporters, ", " between them */
    const struct instance *instance; /* NULL: a pipeline */
    unsigned signals;                /* SIGNAL_BITs of the pipelines that an instance is in */
};
typedef void runtime_visit_fn(void *ctx, const struct runtime_row *row);

/* While the row is visited: calls visit for each address that it listens on or sends to. */
void runtime_row_places(const struct runtime_row *row, place_visit_fn *visit, void *ctx);

/* Of attempts. Times are wall, ns; 0: never. */
struct runtime_delivery {
    uint64_t failing_since;     /* when an incident began (incident.h); 0: there is none */
    uint64_t recovered;         /* since when it delivers again, before the incident is over */
    uint64_t failed, succeeded; /* the last attempt that did */
    uint64_t again;             /* the first success after the last failure */
    bool drops;                 /* what fails is dropped, or some was since then; false: it waits */
    uint64_t slow_ns;           /* what the last request took, if that is long and others waited */
    uint64_t oldest_ns;         /* how long the oldest request has been in the queue */
    uint64_t retry_ns;          /* until its next attempt, if it waits for that; else 0 */
    char error[512];            /* how much failed, and of the last attempt that did, redacted */
};
/* While the row is visited: the redacted URL of its exporter, how delivery goes. False: none. */
bool runtime_row_url(const struct runtime_row *row, int signal, char *out, size_t size);
bool runtime_row_delivery(const struct runtime_row *row, struct runtime_delivery *out);

/* Calls visit for each pipeline, then for each instance in use, in the order of the configuration.
 * Any thread. */
void runtime_rows(struct runtime *runtime, runtime_visit_fn *visit, void *ctx);

/* Applies service.telemetry.logs, except output_paths, which start and reload open. */
void runtime_set_log(const struct runtime *runtime);

/* Opens the log's files again, after they were renamed or removed. On the thread that starts and
 * stops. */
void runtime_reopen_log(const struct runtime *runtime);

void runtime_free(struct runtime *runtime); /* may be NULL; stop comes first */

/* Appends all components of the program with their keys, as `spanlink components` prints them. */
void components_list(struct bytes *out);

/* The same of one, by a path such as "receivers/otlp". False: there is none. */
bool components_describe(const char *path, struct bytes *out);

#endif
