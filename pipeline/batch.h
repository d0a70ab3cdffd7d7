/*
 * A batch: telemetry of one signal in wire form on its way through the pipeline. Refcounted and
 * immutable once it was handed on; a change makes a new batch. Any thread.
 */
#ifndef PIPELINE_BATCH_H
#define PIPELINE_BATCH_H

#include "lib/base/buffer.h"
#include "lib/wire/otlp/signal.h"
#include "lib/wire/pprof/series.h"
#include "pipeline/receipt.h"

enum batch_encoding {
    BATCH_OTLP,  /* payload: a checked Export*ServiceRequest */
    BATCH_PPROF, /* payload: one inflated, checked pprof; series and profile are set */
    BATCH_OPAQUE /* payload: a body to be forwarded as it is; opaque is set */
};
#define BATCH_BIT(encoding) (1u << (encoding))

/* Names of a set of encodings for people, joined by `joint`; "" for none. */
void batch_encoding_words(unsigned encodings, const char *joint, char *out, size_t size);

/* What is sent on of the request's headers when a receiver has include_metadata. Never mixed:
 * batches merge only where these are equal. */
struct metadata {
    _Atomic unsigned refs;
    char *tenant;        /* X-Scope-OrgID; NULL: none */
    char *authorization; /* Authorization; NULL: none */
};

/* BATCH_PPROF: what stands beside the pprof. */
struct profile_origin {
    bool by_ingest;   /* came by /ingest: __name__ is the app name, not the type */
    uint64_t from_ns; /* /ingest's window; 0: not given */
    uint64_t until_ns;
    char *sample_type_config; /* JSON text; NULL: none */
    char *spy_name;           /* NULL: none */
};

/* BATCH_OPAQUE: a POST to the backend's /ingest. */
struct opaque_request {
    char *query;            /* as it came, without '?' */
    char *content_type;     /* as it came; NULL: none */
    size_t plain_size;      /* it may have to be sent inflated, to so many bytes; 0: it will not */
    struct budget *pledged; /* which keeps room for that; NULL: none */
};

struct batch {
    _Atomic unsigned refs;
    enum signal signal;
    enum batch_encoding encoding;
    uint32_t items;         /* spans, data points, log records, profiles */
    uint32_t samples;       /* of profiles; a body that is not read has one */
    bool admitted;          /* its request has a place reserved in every queue ahead */
    struct buffer *payload; /* joined at most behind a processor */
    struct buffer *notes;   /* traces: struct otlp_span_note of the payload's spans; NULL: none */
    struct metadata *metadata; /* NULL: none */
    struct series *series;
    struct profile_origin *profile;
    struct opaque_request *opaque;
    struct receipt **receipts; /* one reference each */
    size_t receipt_count;
    struct receipt *receipt_inline[1];
};

/* One of the batches that one was cut into. */
struct batch_part {
    struct batch *batch;
    struct batch_part *next;
};

/* A batch over a payload, whose reference it takes over. The receipt (NULL: none) is referenced.
 * NULL: no memory; the payload is then unreferenced. */
struct batch *batch_new(enum signal signal, enum batch_encoding encoding, struct buffer *payload,
                        uint32_t items, struct receipt *receipt);

/* What metrics pages count: samples of profiles, else items. */
static inline uint32_t batch_counted(const struct batch *batch)
{
    return batch->signal == SIGNAL_PROFILES ? batch->samples : batch->items;
}

/* The same batch with another payload (taken over) and item count, and without notes: everything
 * else is shared, `admitted` too. NULL: no memory. */
struct batch *batch_with_payload(const struct batch *batch, struct buffer *payload, uint32_t items);

/* The same batch with its payload in one run (buffer_flat): a reference to itself where it is.
 * NULL: no memory. */
struct batch *batch_flat(struct batch *batch);

/* Adds references to all receipts of another batch, for one that holds some of its data. Only
 * before the batch is handed on. False: no memory. */
bool batch_add_receipts(struct batch *batch, const struct batch *from);
bool batch_add_receipt(struct batch *batch, struct receipt *receipt);

/* Splits an OTLP batch into a front of at most max_items items and max_bytes bytes (at least one
 * item; 0: no limit) and the rest, both with its receipts and the bytes forced on the budget.
 * False: another encoding, one piece, or no memory. */
bool batch_split(const struct batch *batch, uint32_t max_items, size_t max_bytes,
                 struct batch **front, struct batch **rest);

/* Whether two batches may become one: signal, OTLP encoding, metadata. */
bool batch_mergeable(const struct batch *a, const struct batch *b);

/* Bytes that one who works on the batch or sends it may take for that. */
size_t batch_work(const struct batch *batch);

/* An opaque batch is sent as it came, whatever it would take inflated. Before it is handed on. */
void batch_forgo_plain(struct batch *batch);

/* Ownership of profile and opaque (malloc'ed structs with malloc'ed texts) goes to the batch; of
 * opaque only the texts are set, which the rest comes from. */
void batch_set_profile(struct batch *batch, struct profile_origin *profile);
void batch_set_opaque(struct batch *batch, struct opaque_request *opaque);
void batch_set_series(struct batch *batch, struct series *series);
void batch_set_metadata(struct batch *batch, struct metadata *metadata);

struct batch *batch_ref(struct batch *batch);
void batch_unref(struct batch *batch); /* NULL is legal */

/* Copies the texts; NULL for none of both, or without memory (then *failed). */
struct metadata *metadata_new(struct view tenant, struct view authorization, bool *failed);
struct metadata *metadata_ref(struct metadata *metadata);
void metadata_unref(struct metadata *metadata);

#endif
