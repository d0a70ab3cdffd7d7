/*
 * HTTP/1.1 server, with or without TLS. The only user of libmicrohttpd. The handler gets complete
 * requests: method, path, query, headers and the body as received. It must answer each request
 * exactly once, from any thread, immediately or later; the connection is suspended meanwhile.
 */
#ifndef LIB_NET_HTTP_HTTP_SERVER_H
#define LIB_NET_HTTP_HTTP_SERVER_H

#include "lib/base/authenticator.h"
#include "lib/base/bytes.h"
#include "lib/base/log.h"
#include "lib/base/verdict.h"
#include "lib/net/endpoint.h"
#include "lib/net/http/http_cors.h"
#include "lib/net/refused.h"
#include "lib/net/tls/tls_server.h"
#include "lib/wire/codec/compress.h"

#include <stddef.h>

struct http_server;
struct http_request;

/* Why a request's body was not kept; the handler formats the error for its protocol. */
enum http_fault {
    HTTP_FAULT_NONE,
    HTTP_FAULT_TOO_LARGE, /* beyond max_body: answer 413 */
    HTTP_FAULT_MEMORY     /* beyond the budget: answer 503 */
};

typedef void http_handler_fn(void *ctx, struct http_request *request);

struct http_server_options {
    struct endpoint endpoint;
    struct tls_server *tls; /* NULL: cleartext; owned by the server once it opens */
    const _Atomic bool
        *yields;        /* its socket may be taken over; NULL: never (lib/net/listeners.h) */
    size_t max_body;    /* bytes, both as received and after decompression */
    unsigned encodings; /* accepted for bodies (ENCODING_BITs); 0: all */
    unsigned threads;
    unsigned max_connections;   /* beyond it the longest idle connection is closed */
    uint64_t header_timeout_ns; /* to the end of the header, from the connection's start, for later
                                   requests from their first byte; 0: none */
    uint64_t idle_timeout_ns;   /* between requests, and for sending a response; 0: none */
    uint64_t body_timeout_ns;   /* without a byte of the body; 0: 10 s */
    uint64_t body_rate;    /* minimum bytes a second of a body, once that time has passed since its
                              start; 0: 1 KiB */
    struct budget *budget; /* charged as body bytes arrive; when it runs out, a body may give way
                              (lib/base/arrival.h): its request then has the fault MEMORY. Outlives
                              every request */
    http_handler_fn *handler;
    /* Checks who may send; NULL: everybody may. The handler only gets admitted requests, and may be
     * called from the authenticator's thread. The bodies of others are discarded, and they are
     * answered 401 with WWW-Authenticate, or 503, by deny (NULL: as plain text), which only formats
     * the body. */
    const struct authenticator *auth;
    void (*deny)(void *ctx, struct http_request *request, const struct outcome *outcome);
    bool refuses_own;       /* refuse requests from this process's own exporters (lib/net/loop.h) */
    refused_fn *refused;    /* called for what the server refuses itself; may be NULL */
    const char *grpc_is_at; /* advice for gRPC clients, e.g. "point it at port 4317,
                               protocols.grpc"; NULL: none */
    const struct cors_settings *cors; /* NULL: pages of other origins are not allowed */
    bool refuses_pages; /* answer requests of pages that cors does not allow with 403, by deny, too:
                           a browser sends simple ones without asking, and only hides the answer */
    const struct key_map *response_headers; /* of every response; NULL: none */
    bool closes;                            /* close each connection after its first response */
    struct log_source source;               /* of lines about too many connections */
    void *ctx;
};

/* Listens and serves. NULL: error is a sentence. bound is set to the address with the actual port.
 * Accepts fewer than max_connections if the limit of open files, or the budget that each is charged
 * to, is too small (lib/net/room.h). */
struct http_server *http_server_open(const struct http_server_options *options, char *bound,
                                     size_t bound_size, char *error, size_t error_size);

/* Stops accepting; responses carry "Connection: close"; the server itself answers new requests on
 * open connections with 503 and Retry-After. */
void http_server_drain(struct http_server *server);

/* Stops accepting, or leaves that to the server that has taken over the socket; continues to serve
 * open connections, with "Connection: close" in every response. Drain or close must follow. */
void http_server_retire(struct http_server *server);

/* Drains; waits until every request is answered or until the deadline (monotonic), then closes
 * everything. A request still in the handler stays valid until it is answered; that answer is
 * dropped. May be NULL. */
void http_server_close(struct http_server *server, uint64_t deadline_mono_ns);

/* Properties of a request; valid until it is answered. */
const char *http_request_method(const struct http_request *request);
const char *http_request_path(const struct http_request *request);  /* without query */
const char *http_request_query(const struct http_request *request); /* raw; "": none */
/* All of them: "name\0value\0" each. */
struct view http_request_all_headers(const struct http_request *request);
const char *http_request_header(const struct http_request *request, const char *name); /* NULL */
/* The host that was asked for, with its port if there is one: that of a target in absolute form, so
 * RFC 9112, 3.2.2, or else the Host header's. NULL: none. */
const char *http_request_authority(const struct http_request *request);
/* Whether several header fields have this name. */
bool http_request_header_repeats(const struct http_request *request, const char *name);
enum http_fault http_request_fault(const struct http_request *request);
const struct peer *http_request_peer(const struct http_request *request);
unsigned http_request_encodings(const struct http_request *request); /* that its server accepts */

/* Moves the body, decoded by its Content-Encoding and charged to the budget, to out. The request's
 * own body is then empty; on failure it is unchanged and out is empty. The caller must have refused
 * ENCODING_UNKNOWN before. */
enum inflate_result http_request_take_body(struct http_request *request, struct bytes *out);

/* The media type of OTLP's protobuf. An empty response of this type is the cheapest. */
#define HTTP_PROTOBUF "application/x-protobuf"

/* Answers and ends the request. content_type NULL: none. retry_after_s 0: no Retry-After. The body
 * is copied. Any thread. */
void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct view body, unsigned retry_after_s);

/* The same with a body that is taken over, not copied: it is empty on return, and its memory is
 * released once the response has been sent. */
void http_respond_bytes(struct http_request *request, unsigned status, const char *content_type,
                        struct bytes *body, unsigned retry_after_s);

/* A response body that is produced while it is sent, by the server's threads. */
struct http_stream {
    /* Writes at most size bytes to out. Returns how many, 0 at the end of the body, or -1 to break
     * the connection off. Must not block. */
    ptrdiff_t (*read)(void *ctx, uint8_t *out, size_t size);
    void (*end)(void *ctx); /* called once, also if the body was not sent to its end */
    void *ctx;
};

/* The same with a body of unknown length: chunked, or up to the connection's end for HTTP/1.0. A
 * response to HEAD reads nothing and closes the connection. */
void http_respond_stream(struct http_request *request, unsigned status, const char *content_type,
                         const struct http_stream *stream);

/* Adds a header to the response; call it before http_respond. At most 16; both strings are
 * copied. */
void http_response_header(struct http_request *request, const char *name, const char *value);

#endif
