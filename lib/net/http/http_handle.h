/*
 * Internal to the HTTP client: a libcurl easy handle with its own multi handle. The multi keeps the
 * connection between calls, and its wakeup interrupts a wait immediately, so that no polling is
 * needed during a call. One call at a time.
 */
#ifndef LIB_NET_HTTP_HTTP_HANDLE_H
#define LIB_NET_HTTP_HTTP_HANDLE_H

#include "lib/net/http/h2_session.h"
#include "lib/net/http/http_client.h"
#include "lib/net/tls/tls_handshake.h"
#include "lib/net/tls/tls_session.h"

#include <curl/curl.h>
#include <stdatomic.h>

/* Of a client: what its handles have in common. */
struct http_life {
    _Atomic bool aborted;
    _Atomic bool answered; /* a response was received */
};

struct http_handle {
    struct http_handle *next_idle;
    struct http_handle *next_made;
    const struct http_client_options *options;
    struct tls_material *material;
    struct http_life *life;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *detour; /* to the URL's host, if libcurl is given another name */
    struct http_reply *reply;  /* of the current call, as the next two */
    struct veto veto;
    struct pieces body;
    struct pieces_reader unsent;
    uint64_t started; /* monotonic */
    uint64_t deadline;
    char problem[CURL_ERROR_SIZE];
    int no_socket; /* errno of a socket that could not be made for the current call */

    bool own_h2;             /* this call uses h2_session instead of libcurl's HTTP */
    struct h2_session *h2;   /* while connected */
    struct tls_session *tls; /* of that connection; NULL: cleartext */
    struct tls_mark mark;    /* of sessions that libcurl makes */
    char tls_name[256];      /* expected in their certificate */
    char tls_problem[192];   /* of theirs in the current call */
    struct h2_output out;    /* not yet sent */
};

struct http_call {
    const char *url;
    const struct http_header *headers; /* all, including the client's */
    size_t header_count;
    struct pieces body;
    struct veto veto;
    bool is_get;
    uint64_t deadline; /* monotonic; 0: the options' timeout from now */
};

/* http_handle.c. Takes ownership of material, also on failure (NULL: no memory). */
struct http_handle *http_handle_new(const struct http_client_options *options,
                                    struct tls_material *material, struct http_life *life);
void http_handle_free(struct http_handle *handle);
/* Makes a call. True: a response was received; else reply->error is the reason. */
bool http_handle_call(struct http_handle *handle, const struct http_call *call,
                      struct http_reply *reply);
/* The name to use instead of the URL's host; NULL: none. */
const char *http_handle_name(const struct http_handle *handle, const char *url);
/* Whether the current call is vetoed; then notes it in the reply. To be called right before the
 * request is written. */
bool http_handle_withholds(struct http_handle *handle);
/* Runs the prepared transfer to its end. */
CURLcode http_handle_run(struct http_handle *handle);

/* http_handle_h2.c. CURLE_OK: response received; CURLE_HTTP2_STREAM: reset, with the reason in
 * `problem`. */
CURLcode http_handle_h2(struct http_handle *handle, const struct http_call *call);
void http_handle_disconnect(struct http_handle *handle);

/* http_problem.c: sets the error sentence for a call without a response. */
void http_problem_explain(const struct http_handle *handle, const char *url, CURLcode code);

#endif
