/* The otlp receiver's instance, shared by its two doors. */
#ifndef RECEIVERS_OTLP_H
#define RECEIVERS_OTLP_H

#include "net/grpc_server.h"
#include "net/otlp_http.h"
#include "pipeline/component.h"

struct otlp_grpc_settings {
    char *endpoint;
    int transport;
    int64_t max_recv_msg_size_mib;
    int64_t max_concurrent_streams;
    int64_t threads;
    bool include_metadata;
};

struct otlp_http_settings {
    char *endpoint;
    int transport;
    int64_t max_request_body_size;
    int64_t threads;
    bool include_metadata;
    char *paths[SIGNAL_COUNT];
    uint64_t read_header_timeout;
    uint64_t idle_timeout;
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
    struct http_server *http_server;
    struct grpc_server *grpc_server;
};

/* Handlers of the doors; ctx is the struct otlp_receiver. Their servers' threads. */
void otlp_http_handle(void *ctx, struct http_request *request);
void otlp_grpc_handle(void *ctx, struct grpc_call *call);
bool otlp_grpc_serves(void *ctx, const char *path);

/* Counts a request's end for the receiver's meter. */
void otlp_receiver_count(const struct otlp_receiver *self, enum signal signal, uint32_t received,
                uint32_t accepted);

#endif
