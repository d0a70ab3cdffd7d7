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

/* The labels under which a pprof batch is pushed: by /ingest's rules where it came so, with
 * external_labels, and cut to the server's limit. One reference; NULL: no memory. */
struct series *push_series(struct pyroscope_exporter *self, const struct batch *batch,
                           const struct pprof *pprof, struct arena *arena);

/* A series (taken over; NULL is legal) with external_labels, cut to the server's limit. NULL: no
 * memory. */
struct series *limited_series(struct pyroscope_exporter *self, struct series *series,
                              const struct pprof *pprof, struct arena *arena);

/* Names a profile's functions as the server's /ingest would have, in out (of the caller, empty),
 * which stays empty where there is nothing to do; the profile is opened anew over it. False: no
 * memory. */
bool name_as_ingest(const struct batch *batch, struct pprof *pprof, struct bytes *out,
                    struct arena *arena);

/* Sends a pprof by Push, in parts where it is too large. What the server answered for is not sent
 * again: the progress counts samples. */
struct outcome send_pprof(struct pyroscope_exporter *self, const struct batch *batch,
                          struct progress *progress);

/* Sends OTLP profiles by Push, as the pprofs that the server would make of them. What cannot become
 * pprof is refused, or under `auto` goes to the server's OTLP endpoint. The progress counts series,
 * in the order of lib/wire/profiles/profiles_to_pprof.h. */
struct outcome send_profiles(struct pyroscope_exporter *self, const struct batch *batch,
                             struct progress *progress);

/* Sends profiles to the server's OTLP endpoint: a request as it is, a pprof as the request made of
 * it, in parts where it is too large. */
struct outcome send_otlp(struct pyroscope_exporter *self, const struct batch *batch);
struct outcome send_pprof_as_otlp(struct pyroscope_exporter *self, struct batch *batch,
                                  struct progress *progress);

/* How large a part may be now: max_profile_bytes, or less where the server kept putting parts off.
 */
size_t parts_bytes(const struct pyroscope_exporter *self, const struct progress *progress);
/* Parts become as large as they may be, since smaller ones cannot be cut. False: they are. */
bool parts_enlarge(struct progress *progress);

/* Sends a body of /ingest to /ingest. */
struct outcome send_opaque(struct pyroscope_exporter *self, const struct batch *batch);

/* What an answer of Push and OTLP means, or of /ingest (retry table of Pyroscope's statuses). */
struct outcome push_outcome(const struct http_reply *reply);
struct outcome ingest_outcome(const struct http_reply *reply);

/* One POST of a batch's data, gzip where it is told so. time_ns: the profile's own time, past which
 * the server takes it for an hour; 0: not known. */
struct post {
    const char *url;
    const char *content_type;
    struct view body;
    bool gzip;
    uint64_t time_ns;
    size_t profile_bytes; /* those in it, as the server's limiter counts them; 0: it is not cut */
    long status;          /* set: of the answer */
};
struct outcome send_post(struct pyroscope_exporter *self, const struct batch *batch,
                         struct post *post,
                         struct outcome (*meaning)(const struct http_reply *reply));

/* Notes what one request of a batch came to: what was refused for good, and how often a part was
 * put off. The mark is the caller's. */
void parts_answered(struct progress *progress, const struct post *post,
                    const struct outcome *outcome);

#endif
