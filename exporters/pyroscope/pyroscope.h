/* The pyroscope exporter's instance and its parts. */
#ifndef EXPORTERS_PYROSCOPE_H
#define EXPORTERS_PYROSCOPE_H

#include "lib/net/http/client_keys.h"
#include "lib/wire/pprof/pprof.h"
#include "pipeline/component.h"
#include "pipeline/delivery/delivery.h"

enum pyroscope_protocol { PROTOCOL_AUTO, PROTOCOL_PUSH, PROTOCOL_OTLP };
enum pyroscope_trace_id { TRACE_ID_KEEP, TRACE_ID_STRIP };

struct pyroscope_exporter {
    char *endpoint;
    int protocol; /* enum pyroscope_protocol */
    int trace_id; /* enum pyroscope_trace_id */
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

/* Whether Grafana finds a span's profiles by this label. */
bool links_need(struct view name);

/* The labels for pushing a pprof batch: by /ingest's rules if it was received there, with
 * external_labels, and limited to max_labels. One reference; NULL: no memory. */
struct series *push_series(struct pyroscope_exporter *self, const struct batch *batch,
                           const struct pprof *pprof, struct arena *arena);

/* Adds external_labels to a series (taken over; may be NULL) and limits it to max_labels. One
 * reference; NULL: no memory. */
struct series *limited_series(struct pyroscope_exporter *self, struct series *series,
                              const struct pprof *pprof, struct arena *arena);

/* Renames a profile's functions as the server's /ingest does. The new profile is written to out
 * (the caller's, empty) and pprof is reopened on it; out stays empty if nothing changes. False: no
 * memory. */
bool name_as_ingest(const struct batch *batch, struct pprof *pprof, struct bytes *out,
                    struct arena *arena);

/* Sends a pprof through Push, in parts if it is too large. The progress counts samples, so that
 * samples for which the server has responded are not sent again. */
struct outcome send_pprof(struct pyroscope_exporter *self, const struct batch *batch,
                          struct progress *progress);

/* Sends OTLP profiles through Push, converted to pprof as the server would do. Profiles that cannot
 * be converted are refused or, with protocol `auto`, sent to the server's OTLP endpoint. The
 * progress counts series, in the order of lib/wire/profiles/profiles_to_pprof.h. */
struct outcome send_profiles(struct pyroscope_exporter *self, const struct batch *batch,
                             struct progress *progress);

/* Send profiles to the server's OTLP endpoint: send_otlp an OTLP request unchanged,
 * send_pprof_as_otlp a pprof converted to OTLP, in parts if it is too large. */
struct outcome send_otlp(struct pyroscope_exporter *self, const struct batch *batch);
struct outcome send_pprof_as_otlp(struct pyroscope_exporter *self, struct batch *batch,
                                  struct progress *progress);

/* The current maximum size of a part: max_profile_bytes, or less after repeated 429. */
size_t parts_bytes(const struct pyroscope_exporter *self, const struct progress *progress);
/* Resets the maximum size of parts, because smaller ones are not possible. False: it was not
 * reduced. */
bool parts_enlarge(struct progress *progress);

/* Forwards a body received by /ingest to the server's /ingest. */
struct outcome send_opaque(struct pyroscope_exporter *self, const struct batch *batch);

/* The outcome of a response of Push or OTLP, or of /ingest (retry table of Pyroscope's statuses).
 */
struct outcome push_outcome(const struct http_reply *reply);
struct outcome ingest_outcome(const struct http_reply *reply);

/* One POST of a batch's data. gzip: compress the body if configured. time_ns: the profile's time,
 * after which the server accepts it for an hour; 0: not known. */
struct post {
    const char *url;
    const char *content_type;
    struct view body;
    bool gzip;
    uint64_t time_ns;
    size_t
        profile_bytes; /* of its profile, as the server's rate limiter counts; 0: cannot be split */
    long status;       /* set: HTTP status of the response */
};
struct outcome send_post(struct pyroscope_exporter *self, const struct batch *batch,
                         struct post *post,
                         struct outcome (*meaning)(const struct http_reply *reply));

/* Records the result of one of a batch's requests: permanent refusals, and repeated 429. The caller
 * advances the mark. */
void parts_answered(struct progress *progress, const struct post *post,
                    const struct outcome *outcome);

#endif
