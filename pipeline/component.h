/*
 * What a component is: one const table in one folder. receivers/NAME/ defines
 * `const struct component receiver_NAME` (processor_, exporter_, extension_ likewise) and is found
 * by CMake; nothing shared is edited to add one.
 *
 * One configured id (`correlation`, `batch/small`) is one instance, even when several pipelines
 * name it. The instance is `size` bytes, zeroed; its first fields are its configuration, filled,
 * checked and defaulted by `keys` before open. Start order: extensions, exporters, processors,
 * receivers; stop order is the reverse, under one deadline.
 */
#ifndef PIPELINE_COMPONENT_H
#define PIPELINE_COMPONENT_H

#include "base/authenticator.h"
#include "base/place.h"
#include "pipeline/batch.h"
#include "pipeline/env.h"
#include "settings/key.h"

enum component_kind {
    COMPONENT_RECEIVER,
    COMPONENT_PROCESSOR,
    COMPONENT_EXPORTER,
    COMPONENT_EXTENSION,
    COMPONENT_KINDS
};

struct delivery; /* pipeline/delivery.h: queue, retry and timeout settings of an exporter */

/* The way ahead of a processor in one pipeline. Lives until the processor is closed. */
struct outlet;

/* Hands a batch (borrowed) on. OK: taken by every branch. RETRY: by none, the caller keeps what
 * was accepted and offers it again from tick. REJECT: by none, ever; already counted. Any thread,
 * never blocks. A batch that is not `admitted` may get RETRY where a queue is full. */
enum verdict outlet_push(struct outlet *outlet, struct batch *batch);

struct component {
    const char *type;
    const char *alias;     /* another name for the type; NULL: none */
    const char *text;      /* one line for people */
    const char *stability; /* "beta" ... */
    enum component_kind kind;
    unsigned signals;   /* SIGNAL_BITs; extensions: 0 */
    unsigned encodings; /* BATCH_BITs: what a receiver makes, what an exporter's send takes. To one
                         * that takes OTLP but no pprof, pprofs come as OTLP. A pipeline where a
                         * receiver or an exporter fits no other is an error at start; of the rest
                         * each exporter gets what it takes (component_takes) */
    size_t size;
    const struct key *keys;

    /* Cross checks of filled keys; NULL: none. */
    void (*check)(const void *self, struct key_report *report);

    /* Starts it. False: error (size bytes) holds a sentence, with the key's path below the
     * component in front where one is to blame ("protocols.grpc.endpoint: ..."); close follows. */
    bool (*open)(void *self, const struct env *env, char *error, size_t error_size);

    /* Processors. Borrows the batch and hands on, now or later, by
     * outlet_push(next, ...). Called from several threads; never blocks on network or disk. Verdict
     * as outlet_push's. */
    enum verdict (*consume)(void *self, struct batch *batch, struct outlet *next);

    bool gathers; /* consume or send takes joined payloads; else each comes in one run */

    /* Exporters. One try to deliver, from a worker thread; blocks up to its timeout. Several
     * threads. Queue, retry, splitting and counting are around it (pipeline/delivery.h). */
    struct outcome (*send)(void *self, struct batch *batch);

    /* Exporters: makes sends under way and later ones return at once; called when a stop runs out
     * of time, before close. Any thread. NULL: sends end by themselves. */
    void (*abort)(void *self);

    /* Exporters: the delivery settings among its keys; NULL: a small queue without retry. */
    const struct delivery *(*delivery)(const void *self);

    /* Extensions: what `auth` sections that name it use, made of its filled keys; its functions
     * are called between open and close only. NULL: it is no authenticator. */
    const struct authenticator *(*authenticator)(void *self);

    /* Bytes that the process's memory budget is to have, where total is what the machine or the
     * control group gives; 0: no opinion. Before anything opens. NULL: none. */
    size_t (*memory_limit)(const void *self, size_t total);

    /* Processors: what an instance of this id noted before a restart, oldest first; between open
     * and the first data. NULL: it notes nothing. */
    void (*recall)(void *self, struct view note);

    /* Extensions: the journal in which accepted requests are to stand before they are answered;
     * open. NULL: it has none. */
    struct journal *(*journal)(const void *self);

    /* For what waits; called once after the start; returns the monotonic time at which it wants to
     * be called next, or TIME_NEVER. One thread for all instances. NULL: nothing ever waits. */
    uint64_t (*tick)(void *self, uint64_t mono_ns);

    /* Calls visit for every address that it listens on or sends to, of its filled keys. NULL: it
     * has none. */
    void (*places)(const void *self, place_visit_fn *visit, void *ctx);

    /* What `validate` asks beside the checks: reports what of open would fail, such as a file that
     * is not there, and opens nothing. NULL: nothing more can be told. */
    void (*rehearse)(const void *self, struct key_report *report);

    /* open reads files at most: then `validate` opens and closes it instead. */
    bool opens_quietly;

    /* Lines for people about what it did and why: each begins with its id and a colon. Any thread.
     * NULL: none. */
    void (*explain)(void *self, struct bytes *out);

    /* Receivers and extensions that serve: a reload takes the instance out; close follows when time
     * is up. From now on nobody new connects; who is connected is still served and told to connect
     * anew. NULL: it is closed instead. */
    void (*retire)(void *self);

    /* A reload cannot add, change or remove it: that needs a restart. */
    bool fixed;

    /* Stops intake, hands on what is held, frees. Legal after a failed open and twice: zero means
     * nothing to close. No consume, send or tick is under way or follows. */
    void (*close)(void *self);
};

/* All components, NULL-ended; written by CMake. */
extern const struct component *const component_table[];

/* The encodings that reach an exporter: those that its send takes, and pprof where that takes OTLP.
 * A batch that none ahead takes is refused at the intake; one that some take goes to those, and the
 * others count it and say so once. */
unsigned component_takes(const struct component *exporter);

/* By kind and type name or alias; NULL: unknown. */
const struct component *component_find(enum component_kind kind, const char *type);

#endif
