/* Shared by the files of the HTTP server. Included by lib/net/http/http_*.c only. */
#ifndef LIB_NET_HTTP_HTTP_INTERNAL_H
#define LIB_NET_HTTP_HTTP_INTERNAL_H

#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/base/arrival.h"
#include "lib/net/http/http_connections.h"
#include "lib/net/http/http_server.h"

#define HTTP_EXTRA_HEADERS 16

/* Header and read buffer of one connection, in bytes; the library clears it after each request, so
 * all of it is resident. */
#define HTTP_CONNECTION_MEMORY (32u << 10)

struct http_server {
    _Atomic unsigned refs; /* the owner's and one per request */
    struct http_server_options options;
    struct MHD_Daemon *daemon;
    bool strict; /* the library refuses malformed lines itself (lib/net/http/http_head.h) */
    struct http_connections *connections;
    struct MHD_Response *accepted; /* an empty protobuf message, shared by all such responses */
    _Atomic bool draining;
    _Atomic bool retiring;   /* every response is its connection's last */
    _Atomic unsigned active; /* requests between their header and the end of their response */

    pthread_mutex_t mutex;
    pthread_cond_t quiet;         /* active fell to 0 while draining */
    struct http_request *waiting; /* suspended; linked by next and prev */
    bool closing;                 /* no further request may be suspended */
};

/*
 * Who acts next on a request in the handler. HANDLING -> ANSWERED needs no lock; transitions to and
 * from SUSPENDED happen under the server's mutex.
 */
enum http_answer_state {
    HTTP_HANDLING, /* the handler was called and has not returned yet */
    HTTP_ANSWERED,
    HTTP_SUSPENDED, /* the handler returned; the connection is suspended */
    HTTP_ABANDONED  /* the server is closed; an answer is dropped */
};

struct http_request {
    _Atomic unsigned refs; /* the connection's and the handler's */
    _Atomic enum http_answer_state state;
    struct http_server *server;
    struct http_connection *place;
    struct MHD_Connection *connection;
    struct http_request *next, *prev;

    const char *method, *path, *query;
    const char *authority; /* of a target in absolute form; NULL: none */
    struct peer peer;
    size_t target_size;   /* of path and query, as received */
    const char *wrong;    /* with its header, for the error message; NULL: nothing */
    struct bytes headers; /* method, then name and value pairs, each ending in NUL */
    size_t headers_at;    /* where the pairs begin */
    struct arrival arrival;
    struct bytes body; /* the whole body */
    uint64_t received; /* body bytes, kept or not */
    uint64_t declared; /* Content-Length; UINT64_MAX: chunked */
    enum http_fault fault;
    uint64_t hopeless_at; /* mono: when it was found to be too large; 0: it is not */
    bool expects_continue;
    bool begun;            /* the header is complete */
    bool refused;          /* arrived while draining */
    enum auth_result auth; /* of the sender, from the header */
    bool looped;           /* sent by this process */
    bool foreign;          /* sent by a web page that may not */
    bool handed;           /* to the handler */
    bool cut;              /* answered before the end of its body */
    bool last;             /* the last request of its connection */
    bool reported;         /* its refusal was reported */

    struct MHD_Response *response;
    unsigned status;
    unsigned extra_count;
    struct {
        char *name, *value;
    } extra[HTTP_EXTRA_HEADERS];
    char uri[];
};

/* Creates a request from its raw URI, which is copied; NULL: no memory. */
struct http_request *http_request_new(struct http_server *server, const char *uri);
void http_request_unref(struct http_request *request);

/* Copies method and headers and checks what libmicrohttpd does not. Returns 0, or the status to
 * refuse with. */
unsigned http_request_headers(struct http_request *request, struct MHD_Connection *connection,
                              const char *method, const char *version);

/* Receives body bytes; discards them if the request has a fault. False: the limits on how much of a
 * refused body is read, or for how long, are exceeded. */
bool http_request_receive(struct http_request *request, const char *data, size_t size);
bool http_request_may_discard(
    const struct http_request *request); /* within those limits since hopeless_at */

/* Completes the body, unless the request has a fault. */
void http_request_finish(struct http_request *request);

/* Reports, once, that the server refuses the request itself. */
void http_request_refused(struct http_request *request, const struct outcome *why);

/* Whether the body of a refused request should not be awaited: more is declared than is discarded,
 * or the client waits for 100 Continue. */
bool http_request_hopeless(const struct http_request *request);

/* A response with its body copied; NULL: no memory. */
struct MHD_Response *http_response_new(const char *content_type, struct view body,
                                       unsigned retry_after_s);
/* Adds the headers of every response, unless they are already there. */
void http_response_add_common_headers(const struct http_server *server,
                                      struct MHD_Response *response);
/* Releases a response, which may be the shared one or NULL. */
void http_response_free(struct http_server *server, struct MHD_Response *response);

/* http_auth.c: sets request->auth from the request's header. */
void http_auth_look(struct http_request *request);
/* Whether the header's credentials are known to be refused. */
bool http_auth_denies(const struct http_request *request);
/* Calls the handler, now or once the credentials are checked, or refuses the request. */
void http_auth_handle(struct http_request *request);

/* Callbacks of the library. */
enum MHD_Result http_exchange_request(void *cls, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *data,
                                      size_t *size, void **context);
void *http_exchange_uri(void *cls, const char *uri, struct MHD_Connection *connection);
void http_exchange_completed(void *cls, struct MHD_Connection *connection, void **context,
                             enum MHD_RequestTerminationCode how);

/* Releases every suspended request; later answers are dropped. */
void http_exchange_abandon(struct http_server *server);
void http_server_unref(struct http_server *server);

#endif
