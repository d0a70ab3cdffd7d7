/*
 * Internal to the HTTP client: the client side of one HTTP/2 connection, one call at a time. It
 * processes bytes; sockets are up to the caller. It exists because libcurl 7.88 can neither reuse a
 * prior-knowledge connection nor read a response that comes with RST_STREAM in the middle of the
 * request body, which is how Go's gRPC servers refuse.
 */
#ifndef LIB_NET_HTTP_H2_SESSION_H
#define LIB_NET_HTTP_H2_SESSION_H

#include "lib/net/h2/h2_output.h"
#include "lib/net/http/http_reply.h"

struct h2_session;

struct h2_request {
    const char *scheme; /* all borrowed until the call has ended */
    const char *authority;
    const char *path;
    const struct http_header *headers; /* names in any case */
    size_t header_count;
    struct pieces body;
};

enum h2_state {
    H2_WAITING,  /* for the response */
    H2_ANSWERED, /* the response is complete, even if the body was not sent completely */
    H2_RESET,    /* the peer ended the call without a response; see h2_session_reason */
    H2_REFUSED   /* the peer did not process the call: it may be sent again */
};

struct h2_session *h2_session_new(void);          /* NULL: no memory */
void h2_session_free(struct h2_session *session); /* may be NULL */

/* Whether another call can be made. */
bool h2_session_usable(const struct h2_session *session);

/* Begins a POST; the previous call must have ended. False: no memory. */
bool h2_session_begin(struct h2_session *session, const struct h2_request *request,
                      struct http_reply *reply);
enum h2_state h2_session_state(const struct h2_session *session);
/* Cancels the call. */
void h2_session_cancel(struct h2_session *session);
/* Why the call was reset: the name of the HTTP/2 error code. */
const char *h2_session_reason(const struct h2_session *session);

/* Processes bytes from the peer. False: not HTTP/2, or no memory. */
bool h2_session_receive(struct h2_session *session, struct view data);

/* Appends the next output, while there is room; nothing: the session has none now. It borrows from
 * the call's body. False: no memory. */
bool h2_session_output(struct h2_session *session, struct h2_output *output);

#endif
