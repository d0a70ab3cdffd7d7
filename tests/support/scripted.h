/*
 * Components scripted by a test: a receiver without a port, a processor that holds or passes, and
 * an exporter that answers by script. A test file makes its component_table from them.
 */
#ifndef TESTS_SUPPORT_SCRIPTED_H
#define TESTS_SUPPORT_SCRIPTED_H

#include "pipeline/component.h"

#include <pthread.h>

extern const struct component scripted_source; /* receiver "source", all signals, OTLP */
extern const struct component scripted_pprof;  /* receiver "pprof_source", profiles, pprof */
extern const struct component scripted_opaque; /* receiver "opaque_source", profiles, opaque */
extern const struct component
    scripted_guest; /* receiver "guest": as source, but a reload keeps it until its time is up */
extern const struct component scripted_holder; /* processor "holder" */
extern const struct component scripted_sink;   /* exporter "sink", OTLP; key slot: 0..3 */
extern const struct component scripted_taker;  /* exporter "taker", the same for all encodings */

/* Returns the env of an open source, of several the one opened last; NULL: none of that id is
 * open. */
const struct env *source_env(const char *id);

/* Offers a batch (taken over) to a source's intake and records the answer. */
struct answer {
    pthread_mutex_t lock;
    pthread_cond_t came;
    unsigned count;
    struct outcome outcome;
    const struct env *env; /* of the receiver that counts it */
};
void answer_init(struct answer *answer);
void source_offer(const char *id, struct batch *batch, struct answer *answer);
void source_offer_by(const struct env *env, struct batch *batch, struct answer *answer);
/* Blocks until there is an answer. */
struct outcome answer_wait(struct answer *answer);

enum { SINK_SLOTS = 4, SINK_LOG = 512 };

struct sink_entry {
    uint32_t items;
    size_t size;
    struct outcome outcome;
};

struct sink {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The answer to the nth (from 0) send; NULL: OK. */
    struct outcome (*script)(const struct batch *batch, unsigned nth);
    bool gated; /* sends block until it is cleared, or until abort */
    bool aborted;
    size_t begun; /* sends, including those that block at the gate */
    size_t count; /* sends answered */
    struct sink_entry log[SINK_LOG];
    uint64_t delivered; /* items answered OK */
};
struct sink *sink_at(unsigned slot);
void sink_gate(struct sink *sink, bool gated);
void sink_wait_begun(struct sink *sink, size_t begun);
void sink_wait_count(struct sink *sink, size_t count);
void sink_wait_delivered(struct sink *sink, uint64_t items);

/* Whether holders keep everything until close, or pass it on (default). */
void holder_keeps(bool keeps);

#endif
