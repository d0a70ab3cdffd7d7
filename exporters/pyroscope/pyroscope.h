/* The pyroscope exporter's instance and its parts. */
#ifndef EXPORTERS_PYROSCOPE_H
#define EXPORTERS_PYROSCOPE_H

#include "net/client_keys.h"
#include "pipeline/component.h"
#include "pipeline/delivery.h"
#include "wire/pprof.h"

struct pyroscope_exporter {
    char *endpoint;
    struct client_settings client;
    struct key_map external_labels;
    int64_t max_profile_samples;
    int64_t max_profile_bytes;
    int64_t max_labels;
    struct delivery delivery;
    char *push_url;
    char *otlp_url;
    char *ingest_url;
    struct http_client *http;
    const struct env *env;
    _Atomic uint64_t labels_cut;
};

/* The labels under which a pprof batch is pushed: by /ingest's rules where it came so, with
 * external_labels, and cut to the server's limit. One reference; NULL: no memory. */
struct series *push_series(struct pyroscope_exporter *self, const struct batch *batch,
                           const struct pprof *pprof, struct arena *arena);

/* Sends a pprof by Push, in parts where it is too large. */
struct outcome send_pprof(struct pyroscope_exporter *self, const struct batch *batch);

/* What an answer of Push, /ingest or OTLP means (retry table of Pyroscope's statuses). */
struct outcome push_outcome(const struct http_reply *reply);
struct outcome ingest_outcome(const struct http_reply *reply);

/* Headers of a batch's sender, where it has any, behind those given; returns the new count. */
size_t add_metadata(const struct batch *batch, struct http_header *headers, size_t count);

#endif
