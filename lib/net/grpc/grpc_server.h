/*
 * gRPC server for unary calls over HTTP/2, cleartext or TLS. The handler gets calls whole and
 * decompressed, and must answer each exactly once, from any thread, immediately or later.
 */
#ifndef LIB_NET_GRPC_GRPC_SERVER_H
#define LIB_NET_GRPC_GRPC_SERVER_H

#include "lib/base/authenticator.h"
#include "lib/base/bytes.h"
#include "lib/base/log.h"
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
    struct tls_server *tls; /* NULL: cleartext; owned by the server once it opens */
    const _Atomic bool
        *yields;        /* its socket may be taken over; NULL: never (lib/net/listeners.h) */
    size_t max_message; /* bytes, both as received and after decompression */
    unsigned threads;
    unsigned max_connections;        /* beyond it the longest idle one is closed */
    unsigned max_concurrent_streams; /* per connection */
    uint64_t idle_timeout_ns; /* without a call in its handler or progress of an arriving one (pings
                                 do not count); 0: none */
    uint64_t stall_timeout_ns; /* with calls, none in its handler, and without 16 KiB of messages, a
                                  new call or a response; 0: none */
    uint64_t message_timeout_ns; /* without a byte of an arriving call; 0: 10 s */
    uint64_t message_rate; /* minimum bytes a second, once that time has passed since its start; 0:
                              1 KiB. If either is violated: DEADLINE_EXCEEDED */
    uint64_t header_timeout_ns;               /* TLS handshake, preface and first SETTINGS */
    struct grpc_keepalive_settings keepalive; /* max_connection_idle is idle_timeout_ns */
    struct budget *budget; /* charged as bytes arrive; when it runs out, an arriving message may
                              give way (lib/base/arrival.h): UNAVAILABLE. Outlives every call */
    grpc_handler_fn *handler;
    /* Whether a path is served; else the call is refused without reading its message, with the
     * outcome from unserved. unserved NULL: UNIMPLEMENTED, as for an unknown service. */
    bool (*serves)(void *ctx, const char *path);
    struct outcome (*unserved)(void *ctx, const char *path);
    /* Checks who may call; NULL: everybody may. Others get UNAUTHENTICATED or UNAVAILABLE, before
     * the message is read if possible. The handler may then be called from the authenticator's
     * thread. */
    const struct authenticator *auth;
    bool refuses_own;       /* refuse requests from this process's own exporters (lib/net/loop.h) */
    refused_fn *refused;    /* called for what the server refuses itself; may be NULL */
    const char *http_is_at; /* advice for HTTP/1.1 clients; NULL: none */
    void *ctx;
    struct log_source source; /* of lines about connections */
};

/* Listens and serves. NULL: error is a sentence. bound is set to the address with the actual
 * port. */
struct grpc_server *grpc_server_open(const struct grpc_server_options *options, char *bound,
                                     size_t bound_size, char *error, size_t error_size);

/* Stops accepting and sends GOAWAY; existing streams are still served. */
void grpc_server_drain(struct grpc_server *server);

/* Drains without a deadline: connections waiting to be accepted are served too, or left to the
 * server that has taken over the socket. grpc_server_close must follow. */
void grpc_server_retire(struct grpc_server *server);

/* Waits until every call is answered and the connections have ended, or until the deadline
 * (monotonic), then closes everything. Calls still unanswered stay valid until they are answered.
 * May be NULL. */
void grpc_server_close(struct grpc_server *server, uint64_t deadline_mono_ns);

/* Properties of a call; valid until it is answered, even if its stream or connection has ended. */
const char *grpc_call_path(const struct grpc_call *call);
/* All of it: "name\0value\0" each. */
struct view grpc_call_metadata_all(const struct grpc_call *call);
const char *grpc_call_metadata(const struct grpc_call *call, const char *name); /* NULL: absent */
const struct peer *grpc_call_peer(const struct grpc_call *call);

/* Moves the message, charged to the budget, to out. */
void grpc_call_take_message(struct grpc_call *call, struct bytes *out);

/* Answers and ends the call. For GRPC_OK message is the response, copied. Otherwise text is sent as
 * grpc-message, and if retry_after_ns > 0, a google.rpc.Status with RetryInfo as
 * grpc-status-details-bin. Any thread. */
void grpc_respond(struct grpc_call *call, enum grpc_code code, const char *text,
                  uint64_t retry_after_ns, struct view message);

#endif
