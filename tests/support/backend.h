/*
 * An HTTP/1.1 backend that keeps what it receives and answers by script, with an exporter in front
 * of it, whose send is called as the pipeline's workers call it.
 */
#ifndef TESTS_SUPPORT_BACKEND_H
#define TESTS_SUPPORT_BACKEND_H

#include "lib/net/http/http_server.h"
#include "tests/support/given_runtime.h"

enum { BACKEND_REQUESTS = 128 };

struct backend_request {
    char path[128];
    char query[512];
    char content_type[128];
    char content_encoding[32];
    char tenant[64]; /* X-Scope-OrgID */
    char authorization[64];
    struct view body; /* decoded */
};

struct backend_answer {
    unsigned status; /* 0: 200 */
    const char *content_type;
    struct view body;
    unsigned retry_after;
};

struct backend {
    struct http_server *server;
    char bound[160];
    pthread_mutex_t lock; /* guards everything below */
    struct backend_request requests[BACKEND_REQUESTS];
    size_t count;
    struct backend_answer answers[BACKEND_REQUESTS]; /* to the nth request; zeroed: 200, empty */
    const char *locations[BACKEND_REQUESTS];         /* its Location; NULL: none */
};

void backend_start(struct backend *backend);
void backend_stop(struct backend *backend);

/* An exporter with this YAML (its section, e.g. "pyroscope: {endpoint: http://%s}"; "%s" is the
 * backend's address, or "" for none) in a started runtime, with a pipeline of a signal. */
struct given_exporter {
    struct given_runtime given;
    struct instance *instance;
};
void exporter_start(struct given_exporter *exporter, const char *section, const char *signal,
                    const struct backend *backend);
void exporter_stop(struct given_exporter *exporter);

/* Returns the problems of a runtime with this YAML that does not start, one a line. Freed by the
 * caller. */
char *start_faults(const char *yaml);
/* Returns those that validate reports of a valid configuration; "": none. */
char *rehearsal_faults(const char *yaml);

/* Calls send once; the batch is unreferenced. */
struct outcome exporter_send(struct given_exporter *exporter, struct batch *batch);

/* The same, continuing from a progress; the batch is kept. */
struct outcome exporter_send_on(struct given_exporter *exporter, struct batch *batch,
                                struct progress *progress);

/* Makes a profile as from /ingest or Push; series in the grammar of /ingest. origin is copied. */
struct batch *pprof_batch_of(struct view raw, const char *series,
                             const struct profile_origin *origin);
struct batch *otlp_batch_of(enum signal signal, struct view request, uint32_t items);

/* Lets another process deliver the batch (batch_is_elsewhere). */
void move_elsewhere(struct batch *batch);

#endif
