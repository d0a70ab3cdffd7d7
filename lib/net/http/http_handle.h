/*
 * Inside of the HTTP client: a handle of libcurl with a multi of its own. The multi keeps the
 * connection between calls, and its wakeup ends a wait at once, so that nothing has to look around
 * while a call is under way. One call at a time.
 */
#ifndef LIB_NET_HTTP_HTTP_HANDLE_H
#define LIB_NET_HTTP_HTTP_HANDLE_H

#include "lib/net/http/h2_session.h"
#include "lib/net/http/http_client.h"
#include "lib/net/tls/tls_handshake.h"
#include "lib/net/tls/tls_session.h"

#include <curl/curl.h>
#include <stdatomic.h>

struct http_handle {
    struct http_handle *next_idle;
    struct http_handle *next_made;
    const struct http_client_options *options;
    struct tls_material *material;
    const _Atomic bool *aborted; /* the client's */
    CURL *easy;
    CURLM *multi;
    struct curl_slist *detour; /* to the URL's host, where libcurl is given another name */
    struct http_reply *reply;  /* of the call under way */
    struct pieces body;        /* of that call */
    struct pieces_reader unsent;
    uint64_t started; /* monotonic */
    uint64_t deadline;
    char problem[CURL_ERROR_SIZE];

    bool own_h2;             /* this call goes over h2_session, not through libcurl's HTTP */
    struct h2_session *h2;   /* while there is a connection */
    struct tls_session *tls; /* of that connection; NULL: cleartext */
    struct tls_mark mark;    /* of sessions that libcurl makes */
    char tls_name[256];      /* that their certificate is to bear */
    char tls_problem[192];   /* of theirs in the call under way */
    uint8_t *out;            /* what the socket did not take yet */
    size_t out_from;
    size_t out_size;
};

struct http_call {
    const char *url;
    const struct http_header *headers; /* all, those of the client included */
    size_t header_count;
    struct pieces body;
    bool is_get;
    uint64_t deadline; /* monotonic; 0: by the options' timeout, from now on */
};

/* http_handle.c. Takes the material over, also on failure (NULL: no memory). */
struct http_handle *http_handle_new(const struct http_client_options *options,
                                    struct tls_material *material, const _Atomic bool *aborted);
void http_handle_free(struct http_handle *line);
/* True: an answer came; else reply's error says why not. */
bool http_handle_call(struct http_handle *line, const struct http_call *call,
                      struct http_reply *reply);
/* Sets the URL, under the name that the server's certificate is to bear. */
CURLcode http_handle_aim(struct http_handle *line, const char *url);
/* The name that is to stand for the URL's host; NULL: none. */
const char *http_handle_name(const struct http_handle *line, const char *url);
/* Lets the transfer that is set up run to its end. */
CURLcode http_handle_run(struct http_handle *line);

/* http_handle_h2.c. CURLE_OK: answered; CURLE_HTTP2_STREAM: reset, with the reason in problem. */
CURLcode http_handle_h2(struct http_handle *line, const struct http_call *call);
void http_handle_hang_up(struct http_handle *line);

/* http_problem.c: the sentence for a call that had no answer. */
void http_problem_explain(const struct http_handle *line, const char *url, CURLcode code);

#endif
