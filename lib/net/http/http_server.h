/*
 * HTTP/1.1 server, with TLS or without. The only user of libmicrohttpd. Requests come whole: a
 * handler sees method, path, query, headers and the body as it arrived. It must answer each request
 * exactly once, from any thread, now or later; the connection is suspended meanwhile.
 */
#ifndef LIB_NET_HTTP_HTTP_SERVER_H
#define LIB_NET_HTTP_HTTP_SERVER_H

#include "lib/base/authenticator.h"
#include "lib/base/bytes.h"
#include "lib/base/verdict.h"
#include "lib/net/endpoint.h"
#include "lib/net/http/http_cors.h"
#include "lib/net/refused.h"
#include "lib/net/tls/tls_server.h"
#include "lib/wire/codec/compress.h"

struct http_server;
struct http_request;

/* Why a request did not arrive whole; the handler words the answer in its protocol. */
enum http_fault {
    HTTP_FAULT_NONE,
    HTTP_FAULT_TOO_LARGE, /* past max_body: answer 413 */
    HTTP_FAULT_MEMORY     /* past the budget: answer 503 */
};

typedef void http_handler_fn(void *ctx, struct http_request *request);

struct http_server_options {
    struct endpoint endpoint;
    struct tls_server *tls; /* NULL: cleartext; taken over where the server opens */
    const _Atomic bool
        *yields;        /* its socket is to be taken over; NULL: never (lib/net/listeners.h) */
    size_t max_body;    /* bytes as they arrive, and again after decompression */
    unsigned encodings; /* that bodies may have (ENCODING_BITs); 0: all */
    unsigned threads;
    unsigned max_connections;   /* past it the longest idle connection is closed */
    uint64_t header_timeout_ns; /* to the end of the header, counted from the connection's begin,
                                   later from a request's first byte; 0: none */
    uint64_t idle_timeout_ns;   /* between requests, and for an answer; 0: none */
    uint64_t body_timeout_ns;   /* without a byte of a body; 0: 10 s */
    uint64_t body_rate;         /* least bytes a second of a body, once that time has passed since
                                   its begin; 0: 1 KiB */
    struct budget *budget;      /* charged as body bytes arrive; where it has to refuse others, a
                                   body may give way (lib/base/arrival.h): its request then has the
                                   fault MEMORY; outlives every request */
    http_handler_fn *handler;
    /* Who may send; NULL: everybody. The handler gets requests that it has let in, and may be
     * called from its thread. Others are read past, not kept, and answered 401 with
     * WWW-Authenticate, or 503, by deny (NULL: in plain text); of a refusal it makes no more than
     * the body. */
    const struct authenticator *auth;
    void (*deny)(void *ctx, struct http_request *request, const struct outcome *outcome);
    bool refuses_own;                 /* what this process's exporters send (lib/net/loop.h) */
    refused_fn *refused;              /* NULL: nobody is told of what the server refuses itself */
    const char *grpc_is_at;           /* what to tell a client of gRPC, e.g. "point it at port 4317,
                                         protocols.grpc"; NULL: not known */
    const struct cors_settings *cors; /* NULL: no page of another origin is let in */
    const struct key_map *response_headers; /* of every answer; NULL: none */
    bool closes;                            /* each connection, with its first answer */
    void *ctx;
};

/* Listens and serves. NULL: error is a sentence. bound gets the address with the real port. Takes
 * fewer than max_connections where open files or the budget, which each is charged to, do not allow
 * them (lib/net/room.h). */
struct http_server *http_server_open(const struct http_server_options *options, char *bound,
                                     size_t bound_size, char *error, size_t error_size);

/* Stops accepting; connections get their answers with "Connection: close"; new requests on open
 * connections are answered 503 + Retry-After by the server itself. */
void http_server_drain(struct http_server *server);

/* Stops accepting, or leaves that to the server that has taken the socket over; serves open
 * connections on, with "Connection: close" in every answer. Drain or close follows. */
void http_server_retire(struct http_server *server);

/* Drains; waits until no request is unanswered or until the deadline (monotonic), then closes all.
 * A request that the handler still has stays valid until it is answered; that answer is dropped.
 * NULL is legal. */
void http_server_close(struct http_server *server, uint64_t deadline_mono_ns);

/* The request; views live until it is answered. */
const char *http_request_method(const struct http_request *request);
const char *http_request_path(const struct http_request *request);  /* without query */
const char *http_request_query(const struct http_request *request); /* raw; "" for none */
const char *http_request_header(const struct http_request *request, const char *name); /* NULL */
enum http_fault http_request_fault(const struct http_request *request);
const struct peer *http_request_peer(const struct http_request *request);
unsigned http_request_encodings(const struct http_request *request); /* that its server takes */

/* The body with its Content-Encoding undone, in bytes charged to the budget; without an encoding
 * the body itself is moved out. The request's own body is then empty; on failure it stays, and out
 * is empty. ENCODING_UNKNOWN is the caller's to refuse before. */
enum inflate_result http_request_take_body(struct http_request *request, struct bytes *out);

/* The media type of OTLP's protobuf. An empty answer of it costs least. */
#define HTTP_PROTOBUF "application/x-protobuf"

/* Answers and ends the request. content_type NULL: none. retry_after_s 0: no such header. The body
 * is copied. Any thread. */
void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct view body, unsigned retry_after_s);

/* Adds a header to the answer; before http_respond. 16 at most; both texts are copied. */
void http_response_header(struct http_request *request, const char *name, const char *value);

#endif
