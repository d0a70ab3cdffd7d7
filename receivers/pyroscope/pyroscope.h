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

/* The batches of one HTTP request on their way through the intake; its client is answered when
 * the last one was. */
struct submission;

/* Answers the client; called once, with the gravest outcome. Any thread. */
typedef void submission_answer_fn(const struct pyroscope_receiver *self,
                                  struct http_request *request, const struct outcome *outcome);

/* NULL: no memory. */
struct submission *submission_new(const struct pyroscope_receiver *self,
                                  struct http_request *request, submission_answer_fn *answer);

/* Adds a batch (taken over); the request's tenant and authorization are set on it where the
 * configuration says so. False: no memory, the batch is freed. */
bool submission_add(struct submission *submission, struct batch *batch);

/* Offers all batches and ends the submission; without any, the answer is OK. */
void submission_offer(struct submission *submission);

/* Ends it without offering anything, the answer being outcome. */
void submission_refuse(struct submission *submission, const struct outcome *outcome);

/* A whole submission of one batch (taken over; NULL: nothing to offer), where outcome is OK; else
 * the answer is outcome. */
void submission_run(const struct pyroscope_receiver *self, struct http_request *request,
                    submission_answer_fn *answer, const struct outcome *outcome,
                    struct batch *batch);

/* How a pprof came. */
struct pprof_source {
    bool by_ingest;
    bool is_dotnet;      /* what old ones of the agent have wrong is repaired */
    uint64_t no_time_ns; /* the time that stands for a missing one; 0: the arrival */
};

/* Checks a gzip or plain pprof and makes a batch of it. OK with *batch NULL: an empty profile. The
 * series is taken over in every case. */
struct outcome pprof_batch(const struct pyroscope_receiver *self, struct view pprof,
                           const struct pprof_source *way, struct series *series,
                           struct batch **batch);

/* What Pyroscope refuses for good of labels and of a profile's time (0: it has none), so that the
 * sender learns it. */
struct outcome check_labels(const struct pyroscope_receiver *self, const struct series *series);
struct outcome check_time(const struct pyroscope_receiver *self, uint64_t time_ns);

/* Counts a request that is not taken (OK: not whole), and items of it that were read. Before its
 * answer. Any thread. */
void pyroscope_count_refused(const struct pyroscope_receiver *self,
                             const struct http_request *request, const struct outcome *why,
                             uint32_t items);

/* A time of the query in nanoseconds since 1970; 0: none. One that is further ahead than the server
 * takes is `now`: it would keep a request from ever growing old, and its service's windows open. */
uint64_t ingest_query_time(const char *query, const char *name, uint64_t now);

/* The query as it is sent on: the same parameters, percent-encoded anew, so that it can be sent
 * whatever bytes it came with, and times far ahead as above. malloc'ed; NULL: no memory. */
char *ingest_query_rewrite(const char *query, uint64_t now);

/* One handler a path; each answers the request. */
void handle_ingest(const struct pyroscope_receiver *self, struct http_request *request);
void handle_push(const struct pyroscope_receiver *self, struct http_request *request);
void handle_otlp(const struct pyroscope_receiver *self, struct http_request *request);

#endif
