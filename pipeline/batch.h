/*
 * A batch: telemetry of one signal in wire form on its way through the pipeline. Refcounted, and
 * immutable once handed on: a change makes a new batch. Any thread.
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
    BATCH_OPAQUE /* payload: a body forwarded unchanged; opaque is set */
};
#define BATCH_BIT(encoding) (1u << (encoding))

/* Writes the names of a set of encodings for log lines, with `joint` between them. */
void batch_encoding_words(unsigned encodings, const char *joint, char *out, size_t size);

/* Request headers that are sent on when a receiver has include_metadata. */
struct metadata {
    _Atomic unsigned refs;
    char *tenant;          /* X-Scope-OrgID; NULL: none */
    char *authorization;   /* Authorization; NULL: none */
    struct budget *budget; /* that it is charged to; NULL: none */
};

/* BATCH_PPROF: what the request gave besides the pprof. */
struct profile_origin {
    bool by_ingest;             /* received on /ingest: __name__ is the app name, not the type */
    uint64_t from_ns, until_ns; /* /ingest's window; 0: not given */
    char *sample_type_config;   /* JSON text; NULL: none */
    char *spy_name;             /* NULL: none */
};

/* BATCH_OPAQUE: a POST to the backend's /ingest. */
struct opaque_request {
    char *query;            /* as received, without '?' */
    char *content_type;     /* as received; NULL: none */
    size_t plain_size;      /* inflated size, if it may have to be sent inflated; 0: never */
    struct budget *pledged; /* the budget in which plain_size bytes are pledged; NULL: none */
};

struct addressees; /* each has its header in pipeline/ */
struct lane;
struct client_info;

struct batch {
    _Atomic unsigned refs;
    enum signal signal;
    enum batch_encoding encoding;
    uint32_t items;         /* spans, data points, log records, profiles */
    uint32_t samples;       /* in profiles; a body that is not parsed counts as one */
    bool admitted;          /* its request has a place reserved in every downstream queue */
    bool answered, forced;  /* its senders have had their answer: see pipeline/answered.h */
    struct buffer *payload; /* one contiguous run, unless a processor joined several */
    struct buffer *notes;   /* traces: struct otlp_span_note of the payload's spans; NULL: none */
    struct metadata *metadata;       /* NULL: none */
    struct addressees *delivered_to; /* exporters that pass it over; NULL: none */
    uint64_t exporter;          /* whose alone it is, and all that is made of it; 0: nobody's yet */
    struct client_info *client; /* who sent it; NULL: not known, or several */
    struct series *series;
    struct profile_origin *profile;
    struct opaque_request *opaque;
    struct lane *lane; /* which part of a log it was read from; NULL: not from a log */
    uint64_t recorded; /* when it was accepted, or the log's time; unix ns; 0: not known */
    uint64_t starts;   /* when a pprof's window does, where its time says something else; unix ns;
                          0: it does not; only those who get this batch know */
    bool ids_only;     /* profiles that were delivered before: nobody delivers them again */
    struct receipt **receipts; /* one reference each */
    size_t receipt_count;
    struct receipt *receipt_inline[1];
};

struct batch_part { /* of the list of batches that one was cut into */
    struct batch *batch;
    struct batch_part *next;
};

/* Makes a batch that takes over the payload's reference and takes one of its own to the receipt
 * (NULL: none). NULL: no memory; the payload is then released. */
struct batch *batch_new(enum signal signal, enum batch_encoding encoding, struct buffer *payload,
                        uint32_t items, struct receipt *receipt);

/* The count reported in metrics: samples for profiles, items otherwise. */
static inline uint32_t batch_counted(const struct batch *batch)
{
    return batch->signal == SIGNAL_PROFILES ? batch->samples : batch->items;
}

/* A copy with another payload (taken over) and item count, without notes. NULL: no memory. */
struct batch *batch_with_payload(const struct batch *batch, struct buffer *payload, uint32_t items);

/* Returns a copy of the batch, with its notes and `recorded`, without lane. NULL: no memory. */
struct batch *batch_without_lane(const struct batch *batch);

/* Returns the batch, or a copy, with its payload in one run (buffer_flat). NULL: no memory. */
struct batch *batch_flat(struct batch *batch);

/* Adds references to all of batch's receipts to `to`, which now contains some of its data. Call it
 * before `to` is handed on. False: no memory. */
bool batch_add_receipts(struct batch *to, const struct batch *batch);
bool batch_add_receipt(struct batch *batch, struct receipt *receipt);

/* Splits an OTLP batch into a front of at most max_items items and max_bytes bytes (0: no limit; at
 * least one item) and the rest. Both have its receipts, and their bytes are charged to the budget
 * even past its limit. False: another encoding, only one piece, or no memory. */
bool batch_split(const struct batch *batch, uint32_t max_items, size_t max_bytes,
                 struct batch **front, struct batch **rest);

/* Returns the batch as that of an exporter alone (its key), if a receipt counts that
 * (receipt_share_out) and there is memory; else the same one. A new reference. */
struct batch *batch_for(struct batch *batch, uint64_t exporter);

/* Whether two batches may be merged: same signal, metadata, delivered_to and lane, both OTLP,
 * neither marked as ids_only, accepted at most 30 s apart. */
bool batch_mergeable(const struct batch *a, const struct batch *b);

/* Bytes that a processor or exporter may allocate to work on the batch or send it. */
size_t batch_work(const struct batch *batch);

/* Lets an opaque batch be sent only as received. Call it before the batch is handed on. */
void batch_forgo_plain(struct batch *batch);

/* Each setter passes ownership to the batch; metadata and client are charged to its budget. profile
 * and opaque are malloc'ed, with malloc'ed texts; of opaque the caller sets these alone. */
void batch_set_profile(struct batch *batch, struct profile_origin *profile);
void batch_set_opaque(struct batch *batch, struct opaque_request *opaque);
void batch_set_series(struct batch *batch, struct series *series);
void batch_set_metadata(struct batch *batch, struct metadata *metadata);
void batch_set_client(struct batch *batch, struct client_info *client);

/* Takes a reference to the lane. recorded: the time that the log gives the batch, unix ns. */
void batch_set_lane(struct batch *batch, struct lane *lane, uint64_t recorded);

/* Marks profiles that are read again for their span ids alone. */
void batch_set_ids_only(struct batch *batch);

struct batch *batch_ref(struct batch *batch);
void batch_unref(struct batch *batch); /* may be NULL */

/* Copies the texts. NULL: both are empty, or no memory (then *failed is set). */
struct metadata *metadata_new(struct view tenant, struct view authorization, bool *failed);
struct metadata *metadata_ref(struct metadata *metadata);
void metadata_unref(struct metadata *metadata);

#endif
