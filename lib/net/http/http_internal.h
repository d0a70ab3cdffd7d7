/* What the files of the HTTP server share. Included by net/http_*.c only. */
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

/* Header and read buffer of one connection; the library clears it after each request, so that all
 * of it is resident. */
#define HTTP_CONNECTION_MEMORY (32u << 10)

struct http_server {
    _Atomic unsigned refs; /* the owner's and one of each request */
    struct http_server_options options;
    struct MHD_Daemon *daemon;
    bool strict; /* the library is: it refuses malformed lines itself (lib/net/http/http_head.h) */
    struct http_connections *connections;
    struct MHD_Response *accepted; /* an empty protobuf message: one for all whom that answers */
    _Atomic bool draining;
    _Atomic bool retiring;   /* every answer is its connection's last */
    _Atomic unsigned active; /* requests between their header and the end of their answer */

    pthread_mutex_t mutex;
    pthread_cond_t quiet;         /* active fell to 0 while draining */
    struct http_request *waiting; /* suspended; linked by next and prev */
    bool closing;                 /* nothing may be suspended any more */
};

/*
 * Who acts next on a request that the handler has. HANDLING -> ANSWERED needs no lock; the steps
 * to and from SUSPENDED are taken under the server's mutex.
 */
enum http_answer_state {
    HTTP_HANDLING, /* the handler was called and has not returned */
    HTTP_ANSWERED,
    HTTP_SUSPENDED, /* the handler returned; the connection sleeps */
    HTTP_ABANDONED  /* the server is gone; an answer is dropped */
};

struct http_request {
    _Atomic unsigned refs; /* the connection's and the handler's */
    _Atomic enum http_answer_state state;
    struct http_server *server;
    struct http_connection *place;
    struct MHD_Connection *connection;
    struct http_request *next, *prev;

    const char *method, *path, *query;
    struct peer peer;
    size_t target_size;   /* of both, as it came */
    const char *wrong;    /* with its header, for people; NULL: nothing */
    struct bytes headers; /* method, then name and value pairs, each ending in NUL */
    size_t headers_at;    /* where the pairs begin */
    struct arrival arrival;
    struct bytes body; /* once it is whole */
    uint64_t received; /* body bytes, kept or not */
    uint64_t declared; /* Content-Length; UINT64_MAX: chunked */
    enum http_fault fault;
    uint64_t hopeless_at; /* mono; since when it is too large; 0: it is not */
    bool expects_continue;
    bool begun;            /* the header is complete */
    bool refused;          /* came while draining */
    enum auth_result auth; /* what the header told of who sends it */
    bool looped;           /* this process did */
    bool handed;           /* to the handler */
    bool cut;              /* answered in the middle of its body */
    bool last;             /* of its connection */
    bool told;             /* that it is refused */

    struct MHD_Response *response;
    unsigned status;
    unsigned extra_count;
    struct {
        char *name, *value;
    } extra[HTTP_EXTRA_HEADERS];
    char uri[];
};

/* A request that begins with its raw URI, copied; NULL: no memory. */
struct http_request *http_request_new(struct http_server *server, const char *uri);
void http_request_unref(struct http_request *request);

/* Copies method and headers and checks what 0.9.75 lets pass: 0, or the status to refuse with. */
unsigned http_request_headers(struct http_request *request, struct MHD_Connection *connection,
                              const char *method, const char *version);

/* Takes body bytes, or drops them where there is a fault. False: more, or longer, than it does. */
bool http_request_receive(struct http_request *request, const char *data, size_t size);
bool http_request_lingers(const struct http_request *request); /* below that, since hopeless_at */

/* The body is whole, unless there is a fault. */
void http_request_finish(struct http_request *request);

/* Tells once that the server refuses the request itself. */
void http_request_refused(struct http_request *request, const struct outcome *why);

/* True: a rest of that body is more than is read past, or the client waits to hear of it. */
bool http_request_hopeless(const struct http_request *request);

/* A response with its body copied; NULL: no memory. */
struct MHD_Response *http_response_new(const char *content_type, struct view body,
                                       unsigned retry_after_s);
/* Gives it the headers of every answer, unless it has them already. */
void http_response_dress(const struct http_server *server, struct MHD_Response *response);
/* Lets go of a response, which may be the one that all share; NULL is legal. */
void http_response_free(struct http_server *server, struct MHD_Response *response);

/* http_auth.c: sets request->auth from its header. */
void http_auth_look(struct http_request *request);
/* Whether the header tells that the request is not let in. */
bool http_auth_denies(const struct http_request *request);
/* Calls the handler, now or once the credentials are checked, or answers in its place. */
void http_auth_handle(struct http_request *request);

/* Callbacks of the library. */
enum MHD_Result http_exchange_request(void *cls, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *data,
                                      size_t *size, void **context);
void *http_exchange_uri(void *cls, const char *uri, struct MHD_Connection *connection);
void http_exchange_completed(void *cls, struct MHD_Connection *connection, void **context,
                             enum MHD_RequestTerminationCode how);

/* Lets go of every suspended request; later answers are dropped. */
void http_exchange_abandon(struct http_server *server);
void http_server_unref(struct http_server *server);

#endif
