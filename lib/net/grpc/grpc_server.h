/*
 * gRPC server for unary calls over HTTP/2, cleartext or TLS. The only user of nghttp2. A call comes
 * whole and decompressed; it is answered exactly once, from any thread, now or later.
 */
#ifndef LIB_NET_GRPC_GRPC_SERVER_H
#define LIB_NET_GRPC_GRPC_SERVER_H

#include "lib/base/authenticator.h"
#include "lib/base/bytes.h"
#include "lib/net/endpoint.h"
#include "lib/net/grpc/grpc_keepalive.h"
#include "lib/net/refused.h"
#include "lib/net/tls/tls_server.h"
#include "lib/wire/http/status.h"

struct grpc_server;
struct grpc_call;

typedef void grpc_handler_fn(void *ctx, struct grpc_call *call);

struct grpc_server_options {
    struct endpoint endpoint;
    struct tls_server *tls; /* NULL: cleartext; taken over where the server opens */
    const _Atomic bool
        *yields;        /* its socket is to be taken over; NULL: never (lib/net/listeners.h) */
    size_t max_message; /* bytes, as they arrive and after decompression */
    unsigned threads;
    unsigned max_connections;        /* past it the longest idle one is closed */
    unsigned max_concurrent_streams; /* a connection */
    uint64_t idle_timeout_ns;        /* without a call in its handler and without progress of one
                                      * that arrives (pings do not count); 0: none */
    uint64_t stall_timeout_ns;       /* with calls, none of them in its handler, and without 16 KiB
                                      * of them or a new one or an answer; 0: none */
    uint64_t message_timeout_ns;     /* of a call that comes in, without a byte of it; 0: 10 s */
    uint64_t message_rate;           /* its least bytes a second, once that time has passed since
                                      * its begin; 0: 1 KiB. Past either: DEADLINE_EXCEEDED */
    uint64_t header_timeout_ns;      /* TLS's handshake, preface and first settings */
    struct grpc_keepalive_settings keepalive; /* max_connection_idle is idle_timeout_ns */
    struct budget *budget; /* charged as bytes arrive; where it has to refuse others, a
                            * message that comes in may give way (lib/base/arrival.h):
                            * UNAVAILABLE. Outlives every call */
    grpc_handler_fn *handler;
    /* Whether a path is served at all; else the call is refused without reading its message:
     * unserved says why. NULL: as a service that is not known, UNIMPLEMENTED. */
    bool (*serves)(void *ctx, const char *path);
    struct outcome (*unserved)(void *ctx, const char *path);
    /* Who may call; NULL: everybody. Others get UNAUTHENTICATED, or UNAVAILABLE, before the message
     * is read where that can be told. The handler may then be called from its thread. */
    const struct authenticator *auth;
    bool refuses_own;       /* what this process's exporters send (lib/net/loop.h) */
    refused_fn *refused;    /* NULL: nobody is told of what the server refuses itself */
    const char *http_is_at; /* what to tell a client of HTTP/1.1; NULL: not known */
    void *ctx;
};

/* Listens and serves. NULL: error is a sentence. bound gets the address with the real port. */
struct grpc_server *grpc_server_open(const struct grpc_server_options *options, char *bound,
                                     size_t bound_size, char *error, size_t error_size);

/* Stops accepting and sends GOAWAY; streams under way are served. */
void grpc_server_drain(struct grpc_server *server);

/* The same without haste: what waits to be accepted is served too, or left to the server that has
 * taken the socket over. Close follows. */
void grpc_server_retire(struct grpc_server *server);

/* Waits until no call is unanswered and the connections are wound up, or until the deadline
 * (monotonic), then closes all. Calls that are unanswered then stay valid until they are answered.
 * NULL is legal. */
void grpc_server_close(struct grpc_server *server, uint64_t deadline_mono_ns);

/* The call; valid until it is answered, also where its stream or connection has died. */
const char *grpc_call_path(const struct grpc_call *call);
const char *grpc_call_metadata(const struct grpc_call *call, const char *name); /* NULL: absent */
const struct peer *grpc_call_peer(const struct grpc_call *call);

/* Moves the message out, charged to the budget. */
void grpc_call_take_message(struct grpc_call *call, struct bytes *out);

/* Answers and ends the call. message: the response for GRPC_OK, copied. Else text goes into
 * grpc-message, and with retry_after_ns > 0 a google.rpc.Status with RetryInfo into
 * grpc-status-details-bin. Any thread. */
void grpc_respond(struct grpc_call *call, enum grpc_code code, const char *text,
                  uint64_t retry_after_ns, struct view message);

#endif
