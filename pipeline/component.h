/*
 * A component is one const table in one folder. receivers/NAME/ defines
 * `const struct component receiver_NAME` (processor_, exporter_, extension_ likewise); CMake finds
 * the folder, so adding one edits no shared file.
 *
 * One configured id (`correlation`, `batch/small`) is one instance, however many pipelines name it.
 * The instance is `size` zeroed bytes; its first fields are its configuration, filled and checked
 * by `keys` before open. Start: extensions, exporters, processors, receivers; stop: in reverse.
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
#include "pipeline/reliance.h"

enum component_kind {
    COMPONENT_RECEIVER,
    COMPONENT_PROCESSOR,
    COMPONENT_EXPORTER,
    COMPONENT_EXTENSION,
    COMPONENT_KINDS
};

struct delivery; /* pipeline/delivery/delivery.h: an exporter's queue, retry and timeout */

/* Mandatory: type, text, stability, kind; signals, except for extensions; encodings of receivers
 * and exporters; size if there are keys; consume, step or send. Every other pointer may be NULL. */
struct component {
    const char *type;
    const char *alias;     /* another name for the type; NULL: none */
    const char *text;      /* one-line description */
    const char *stability; /* "beta", so far the only value; shown by `spanlink components` */
    enum component_kind kind;
    unsigned signals;       /* SIGNAL_BITs; extensions: 0 */
    unsigned encodings;     /* BATCH_BITs: what a receiver makes, what an exporter's send accepts */
    bool gathers;           /* consume or send accepts joined payloads; else each is contiguous */
    unsigned takes_over;    /* processors: SIGNAL_BITs of data that clients do not wait for */
    unsigned holds;         /* the same, of which it may hold a part with receipt_of_held */
    bool fixed;             /* a reload cannot add, change or remove it; that needs a restart */
    bool misplaced_refused; /* what misplaced returns is an error: nothing starts */
    size_t size;
    const struct key *keys;

    /* Validates combinations of keys; a key invalid on its own has its default. NULL: none. */
    void (*check)(const void *self, struct key_report *report);

    /* Starts the instance. False: error (size bytes) holds a sentence, prefixed with the path of
     * the key at fault ("protocols.grpc.endpoint: ..."); close follows. NULL: nothing to start. */
    bool (*open)(void *self, const struct env *env, char *error, size_t error_size);

    /* Processors. Borrows the batch. Passes it on with outlet_push(next, ...), now or later;
     * returns its verdict, or OK if it keeps the data, until close at most (never with step). No
     * blocking on network or disk. Several threads: a receiver's, its authenticator's, the ticker's
     * or a profile's, the journal's, that of a stop or reload. NULL: step always makes one. */
    enum verdict (*consume)(void *self, struct batch *batch, struct outlet *next);
    pass_step_fn *step; /* processors: the step of an OTLP batch; false, NULL: consume */

    /* Exporters; mandatory. One attempt to deliver, on one of several workers; blocks up to its
     * timeout. The pipeline provides queue, retries, splitting and counters. */
    struct outcome (*send)(void *self, struct batch *batch);
    /* Instead of send: in several requests, continuing at the progress. NULL: all or nothing. */
    struct outcome (*send_on)(void *self, struct batch *batch, struct progress *progress);
    void (*send_together)(void *self, struct joint_send *sends, size_t count); /* progress.h */

    /* Exporters, open: sends one empty request as send would. Receivers, not open: asks for what
     * they read of a signal. False: result says what is wrong. Blocks. NULL: no backend. */
    bool (*probe)(void *self, enum signal signal, struct probe_result *result);
    /* Exporters: makes all sends return at once. Any thread. NULL: they end by themselves. */
    void (*abort)(void *self);
    /* Exporters: the delivery settings among its keys; NULL: a small queue without retry. */
    const struct delivery *(*delivery)(const void *self);

    /* Extensions: the authenticator for `auth` sections that name this one; its functions are
     * called only between open and close. NULL: it is no authenticator. */
    const struct authenticator *(*authenticator)(void *self);
    /* Bytes for the memory budget; 0, NULL: no preference. Called before anything opens. */
    size_t (*memory_limit)(const void *self, size_t total);
    size_t charges; /* bytes of that budget that an open instance takes before any data */

    /* Returns why using it only in pipelines of these signals (SIGNAL_BITs) is a mistake, a static
     * sentence; NULL: it is not. *severe: `validate` must fail. NULL: it fits anywhere. */
    const char *(*misplaced)(const void *self, unsigned signals, bool *severe);
    bool (*wants_traces)(const void *self); /* processors: sets whole_traces of those in front */
    /* Processors: attributes that others must not alter; and where it alters such ones. For
     * warnings: pipeline/reliance.h. NULL: none, nowhere. */
    const struct reliance *relies;
    alters_fn *alters;
    enum metadata_of (*metadata)(const void *self);    /* receivers; NULL: METADATA_OF_NONE */
    const char *(*header)(const void *self, size_t i); /* processors: the i-th that it reads */

    /* Processors: receives a note that the instance with this id saved (env_note) before a restart,
     * oldest first, between open and the first data. NULL: it saves no notes. */
    void (*recall)(void *self, struct view note);
    /* Extensions: the open journal, written before requests are answered. NULL: none. */
    struct journal *(*journal)(const void *self);

    /* Called once after the start; returns the monotonic time of the next call, or TIME_NEVER. One
     * thread for all instances. NULL: it needs no ticks. */
    uint64_t (*tick)(void *self, uint64_t mono_ns);
    /* Calls visit for each address of its keys that it listens on or sends to. NULL: none. */
    void (*places)(const void *self, place_visit_fn *visit, void *ctx);
    /* For `validate`: reports what would make open fail, and opens nothing. NULL: nothing more. */
    void (*rehearse)(const void *self, struct key_report *report);
    bool opens_quietly; /* open only reads files: `validate` calls open and close, not rehearse */

    /* Appends human-readable lines: what it did and why. Any thread. NULL: none. */
    void (*explain)(void *self, struct bytes *out);
    /* Receivers: appends why nothing can be received yet, so that the process is not ready; false:
     * it can. Between open and close. Any thread. NULL: it can from open on. */
    bool (*trouble)(void *self, struct bytes *out);
    /* Receivers, exporters: the same of what an operator should see though data pass. */
    bool (*concern)(void *self, struct bytes *out);

    /* Its own metrics; rows over fields of the instance need nothing more. NULL: none. */
    const struct metric *metrics;
    /* Adds points of rows without a field; takes no lock of the data path. Between open and close.
     * Any thread. NULL: none. */
    void (*measure)(void *self, struct metrics *metrics);
    /* Processors: adds what one counted for measure, in whose place it comes at a reload. */
    void (*inherit)(void *self, const void *old);
    /* Exporters: where a signal goes, a URL or unix:/path; between open and close. NULL: none. */
    const char *(*url)(const void *self, enum signal signal);

    /* Receivers and extensions that serve: a reload removed the instance. It serves only those it
     * has and tells them to reconnect; close follows later. NULL: close at once. */
    void (*retire)(void *self);

    /* Stops intake, hands on what is held, frees. Allowed after a failed open, and twice. No
     * consume, send or tick runs during or after it. NULL: only `keys` have memory. */
    void (*close)(void *self);
};

/* All components, NULL-terminated; generated by CMake. */
extern const struct component *const component_table[];

/* The encodings that an exporter may be given: those that its send accepts, and pprof, converted to
 * OTLP profiles, if it accepts OTLP. The intake rejects what no downstream exporter accepts; each
 * exporter gets the encodings it accepts and counts the rest as passed. */
unsigned component_takes(const struct component *exporter);

/* Finds a component by kind and type or alias; NULL: unknown. */
const struct component *component_find(enum component_kind kind, const char *type);

#endif
