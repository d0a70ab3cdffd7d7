/* The otlp receiver's instance, shared by its two servers. */
#ifndef RECEIVERS_OTLP_H
#define RECEIVERS_OTLP_H

#include "lib/net/auth.h"
#include "lib/net/grpc/grpc_server.h"
#include "lib/net/http/otlp_http.h"
#include "lib/net/server/server_keys.h"
#include "lib/net/tls/tls_server.h"
#include "pipeline/component.h"
#include "pipeline/otlp_request.h"

struct otlp_grpc_settings {
    char *endpoint;
    int transport;
    int64_t max_recv_msg_size_mib;
    int64_t max_concurrent_streams;
    int64_t threads;
    struct auth_settings auth;
    bool include_metadata;
    struct grpc_keepalive_settings keepalive;
    struct tls_server_settings tls;
};

struct otlp_http_settings {
    struct server_http_settings server;
    char *paths[SIGNAL_COUNT];
};

struct otlp_protocols {
    bool has_grpc;
    bool has_http;
    struct otlp_grpc_settings grpc;
    struct otlp_http_settings http;
};

struct otlp_receiver {
    struct otlp_protocols protocols;
    const struct env *env;
    char grpc_is_at[160], http_is_at[160]; /* hints for clients on the wrong port */
    struct http_server *http_server;
    struct grpc_server *grpc_server;
};

/* One export request, from its arrival to its response. */
struct otlp_export {
    struct otlp_receiver *self;
    const struct otlp_transport *transport;
    void *call; /* struct http_request or struct grpc_call */
    enum signal signal;
    bool json;
    struct otlp_request read;
};

/* Protocol-specific access to a request and its response. Any thread. */
struct otlp_transport {
    enum admission_transport transport;
    const struct peer *(*peer)(const struct otlp_export *export);
    bool (*sends_metadata_on)(const struct otlp_receiver *self);
    bool (*checks_clients)(const struct otlp_receiver *self); /* their credentials are for us */
    const char *(*header)(const struct otlp_export *export, const char *name); /* NULL: absent */
    struct view (*headers)(const struct otlp_export *export); /* "name\0value\0" each */
    /* rejected: number of items not accepted; reason: why, NULL if rejected is 0. */
    void (*succeed)(const struct otlp_export *export, uint32_t rejected, const char *reason);
    void (*refuse)(const struct otlp_export *export, const struct outcome *outcome);
};

/* Counts a refused request and sends the response. */
void otlp_export_refuse(const struct otlp_export *export, const struct outcome *why);

/* Reads the message (takes over its content), offers its items to the pipelines and sends the
 * response, now or later. */
void otlp_export_run(struct otlp_export *export, struct bytes *message);

/* The signal whose path this is, or SIGNAL_COUNT. paths has SIGNAL_COUNT elements. */
int otlp_export_signal(const char *path, const char *const paths[]);

/* The error for a signal without a pipeline, such as "no pipeline for logs uses this receiver". */
struct outcome otlp_outcome_no_pipeline(enum signal signal);

/* Handlers for the servers; ctx is the struct otlp_receiver. On threads of the servers. */
void otlp_http_handle(void *ctx, struct http_request *request);
void otlp_http_deny(void *ctx, struct http_request *request, const struct outcome *outcome);
void otlp_http_refused(void *ctx, const char *path, const struct peer *peer,
                       const struct outcome *why);
void otlp_grpc_handle(void *ctx, struct grpc_call *call);
bool otlp_grpc_serves(void *ctx, const char *path);
struct outcome otlp_grpc_unserved(void *ctx, const char *path);
void otlp_grpc_refused(void *ctx, const char *path, const struct peer *peer,
                       const struct outcome *why);

#endif
