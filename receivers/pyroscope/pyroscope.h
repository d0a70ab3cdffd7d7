/* The pyroscope receiver's instance and its server. */
#ifndef RECEIVERS_PYROSCOPE_H
#define RECEIVERS_PYROSCOPE_H

#include "lib/net/auth.h"
#include "lib/net/http/otlp_http.h"
#include "lib/net/server/server_keys.h"
#include "lib/net/tls/tls_server.h"
#include "pipeline/component.h"

struct pyroscope_receiver {
    struct server_http_settings http;
    uint64_t reject_older_than; /* 0: never */
    uint64_t reject_newer_than;
    int64_t max_label_name_length;
    int64_t max_label_value_length;
    const struct env *env;
    struct http_server *server;
};

/* The batches of one HTTP request while the intake processes them. The client gets its response
 * when the last batch is done. */
struct submission;

/* Sends the response; called once, with the worst outcome. Any thread. */
typedef void submission_answer_fn(const struct pyroscope_receiver *self,
                                  struct http_request *request, const struct outcome *outcome);

/* NULL: no memory. */
struct submission *submission_new(const struct pyroscope_receiver *self,
                                  struct http_request *request, submission_answer_fn *answer);

/* Adds a batch (taken over), with the request's tenant and authorization if include_metadata is
 * set. False: no memory, the batch is freed. */
bool submission_add(struct submission *submission, struct batch *batch);

/* Offers all batches to the intake, which frees the submission once all are done. Without batches,
 * the response is OK. */
void submission_offer(struct submission *submission);

/* Answers with outcome and frees the submission without offering anything. */
void submission_refuse(struct submission *submission, const struct outcome *outcome);

/* Makes and offers a submission of one batch if outcome is OK and batch is not NULL; otherwise
 * answers with outcome. Takes over the batch. */
void submission_run(const struct pyroscope_receiver *self, struct http_request *request,
                    submission_answer_fn *answer, const struct outcome *outcome,
                    struct batch *batch);

/* How a pprof was received. */
struct pprof_source {
    bool by_ingest;
    bool is_dotnet;      /* repair the errors of old .NET agents */
    uint64_t no_time_ns; /* used if the profile has no time; 0: the time of arrival */
};

/* Checks a gzip or plain pprof and makes a batch of it. OK with *batch NULL: an empty profile.
 * Takes over the series in every case. */
struct outcome pprof_batch(const struct pyroscope_receiver *self, struct view pprof,
                           const struct pprof_source *way, struct series *series,
                           struct batch **batch);

/* Refuse labels and profile times (0: none) that Pyroscope would refuse permanently, so that the
 * sender gets the error. */
struct outcome check_labels(const struct pyroscope_receiver *self, const struct series *series);
struct outcome check_time(const struct pyroscope_receiver *self, const struct series *series,
                          uint64_t time_ns);

/* Counts a request that is refused (OK: partly refused), with the number of its items that were
 * read. Call before sending the response. Any thread. */
void pyroscope_count_refused(const struct pyroscope_receiver *self,
                             const struct http_request *request, const struct outcome *why,
                             uint32_t items);

/* A time of the query in nanoseconds since 1970; 0: none. A time further in the future than the
 * server accepts becomes `now`: otherwise the request would never become too old, and the windows
 * of its service would stay open. */
uint64_t ingest_query_time(const char *query, const char *name, uint64_t now);

/* The query to forward: the same parameters, percent-encoded again so that any bytes can be sent,
 * with times in the future replaced as above. malloc'ed; NULL: no memory. */
char *ingest_query_rewrite(const char *query, uint64_t now);

/* The handlers of the paths; each sends the response. */
void handle_ingest(const struct pyroscope_receiver *self, struct http_request *request);
void handle_push(const struct pyroscope_receiver *self, struct http_request *request);
void handle_otlp(const struct pyroscope_receiver *self, struct http_request *request);

#endif
