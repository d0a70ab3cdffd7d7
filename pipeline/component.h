/*
 * What a component is: one const table in one folder. receivers/NAME/ defines
 * `const struct component receiver_NAME` (processor_, exporter_, extension_ likewise) and is found
 * by CMake; nothing shared is edited to add one.
 *
 * One configured id (`correlation`, `batch/small`) is one instance, whatever pipelines name it. The
 * instance is `size` bytes, zeroed; its first fields are its configuration, filled and checked by
 * `keys` before open. Start order: extensions, exporters, processors, receivers; stop order is the
 * reverse, under one deadline.
 */
#ifndef PIPELINE_COMPONENT_H
#define PIPELINE_COMPONENT_H

#include "lib/base/authenticator.h"
#include "lib/base/place.h"
#include "lib/metrics/metrics.h"
#include "lib/settings/key.h"
#include "pipeline/env.h"
#include "pipeline/probe_result.h"
#include "pipeline/progress.h"

enum component_kind {
    COMPONENT_RECEIVER,
    COMPONENT_PROCESSOR,
    COMPONENT_EXPORTER,
    COMPONENT_EXTENSION,
    COMPONENT_KINDS
};

struct delivery; /* pipeline/delivery/delivery.h: an exporter's queue, retry and timeout */

struct component {
    const char *type;
    const char *alias;     /* another name for the type; NULL: none */
    const char *text;      /* one line for people */
    const char *stability; /* "beta" */
    enum component_kind kind;
    unsigned signals;   /* SIGNAL_BITs; extensions: 0 */
    unsigned encodings; /* BATCH_BITs: what a receiver makes, what an exporter's send takes */
    size_t size;
    const struct key *keys;

    /* Cross checks of filled keys; NULL: none. */
    void (*check)(const void *self, struct key_report *report);

    /* Starts it. False: error (size bytes) holds a sentence, with the path of the key to blame in
     * front ("protocols.grpc.endpoint: ..."); close follows. */
    bool (*open)(void *self, const struct env *env, char *error, size_t error_size);

    /* Processors. Borrows the batch and hands on, now or later, by outlet_push(next, ...). Several
     * threads; never blocks on network or disk. Verdict as outlet_push's. */
    enum verdict (*consume)(void *self, struct batch *batch, struct outlet *next);

    bool gathers; /* consume or send takes joined payloads; else each comes in one run */

    /* Exporters. One try to deliver, from one of several worker threads; blocks up to its timeout.
     * Queue, retry, splitting and counting are around it (pipeline/delivery/delivery.h). */
    struct outcome (*send)(void *self, struct batch *batch);

    /* The same for one that may send a batch in several requests: in place of send; goes on where
     * the progress stands (pipeline/progress.h). NULL: a try is all or nothing. */
    struct outcome (*send_on)(void *self, struct batch *batch, struct progress *progress);

    /* Exporters, open: whether the backend takes data of a signal, by one empty request that is
     * sent as send would. False: result says why not. Blocks. NULL: it has no backend. */
    bool (*probe)(void *self, enum signal signal, struct probe_result *result);

    /* Exporters: makes all sends return at once; called when a stop runs out of time, before close.
     * Any thread. NULL: sends end by themselves. */
    void (*abort)(void *self);

    /* Exporters: the delivery settings among its keys; NULL: a small queue without retry. */
    const struct delivery *(*delivery)(const void *self);

    /* Extensions: what `auth` sections that name it use; its functions are called between open and
     * close only. NULL: it is no authenticator. */
    const struct authenticator *(*authenticator)(void *self);

    /* Bytes for the process's memory budget, of the total that the machine or control group gives;
     * 0: no opinion. Before anything opens. NULL: none. */
    size_t (*memory_limit)(const void *self, size_t total);

    /* What is wrong with standing in pipelines of these signals (SIGNAL_BITs) alone, a static
     * sentence; NULL: nothing. *severe: `validate` is to refuse it. NULL: it fits anywhere. */
    const char *(*misplaced)(const void *self, unsigned signals, bool *severe);

    bool (*gives_metadata)(const void *self); /* receivers: whether batches do; NULL: never */

    /* Processors: what its id noted before a restart, oldest first; between open and the first
     * data. NULL: it notes nothing. */
    void (*recall)(void *self, struct view note);

    /* Extensions: the open journal in which requests stand before they are answered. */
    struct journal *(*journal)(const void *self);

    /* Called once after the start; returns the monotonic time of the next call, or TIME_NEVER. One
     * thread for all instances. NULL: nothing ever waits. */
    uint64_t (*tick)(void *self, uint64_t mono_ns);

    /* Calls visit for every address that it listens on or sends to, of its filled keys. NULL: it
     * has none. */
    void (*places)(const void *self, place_visit_fn *visit, void *ctx);

    /* What `validate` asks beside the checks: reports what of open would fail, such as a file that
     * is not there, and opens nothing. NULL: nothing more can be told. */
    void (*rehearse)(const void *self, struct key_report *report);

    /* open reads files at most: then `validate` opens and closes it instead. */
    bool opens_quietly;

    /* Lines for people: what it did and why. Any thread. NULL: none. */
    void (*explain)(void *self, struct bytes *out);

    /* Rows of what it tells of itself beside what every component of its kind does: those over
     * fields of the instance need nothing more. NULL: none. */
    const struct metric *metrics;

    /* Adds the points of the rows without a field; takes no lock that data need. Between open and
     * close. Any thread. NULL: none. */
    void (*measure)(void *self, struct metrics *metrics);

    /* Exporters: the URL that requests of a signal go to; between open and close. NULL: it sends to
     * no URL. */
    const char *(*url)(const void *self, enum signal signal);

    /* Receivers and extensions that serve: a reload takes the instance out; close follows when time
     * is up. Nobody new connects; who is connected is served and told to connect anew. NULL: it is
     * closed instead. */
    void (*retire)(void *self);

    /* A reload cannot add, change or remove it: that needs a restart. */
    bool fixed;

    /* Stops intake, hands on what is held, frees. Legal after a failed open and twice. No consume,
     * send or tick is under way or follows. */
    void (*close)(void *self);
};

/* All components, NULL-ended; written by CMake. */
extern const struct component *const component_table[];

/* The encodings that reach an exporter: those that its send takes, and pprof, as OTLP profiles,
 * where that takes OTLP. What none ahead takes is refused at the intake; of the rest each gets its
 * own, and the others count it. */
unsigned component_takes(const struct component *exporter);

/* By kind and type or alias; NULL: unknown. */
const struct component *component_find(enum component_kind kind, const char *type);

#endif
