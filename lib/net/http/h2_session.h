/*
 * Inside of the HTTP client: the client's side of one HTTP/2 connection, one call at a time. Bytes
 * go in and out; sockets are the caller's. It stands here because libcurl 7.88 can neither use a
 * connection with prior knowledge twice nor read an answer that comes with RST_STREAM in the middle
 * of a body, as gRPC servers in Go refuse.
 */
#ifndef LIB_NET_HTTP_H2_SESSION_H
#define LIB_NET_HTTP_H2_SESSION_H

#include "lib/net/http/http_reply.h"

#include <sys/types.h>

struct h2_session;

struct h2_request {
    const char *scheme; /* all are borrowed until the call has ended */
    const char *authority;
    const char *path;
    const struct http_header *headers; /* as in the request, names in any case */
    size_t header_count;
    struct pieces body;
};

enum h2_state {
    H2_WAITING,  /* for the answer */
    H2_ANSWERED, /* it is whole, whatever of the body was not sent */
    H2_RESET,    /* the peer ended the call without an answer; see h2_session_reason */
    H2_REFUSED   /* the peer says that it has not looked at the call: it may be sent again */
};

struct h2_session *h2_session_new(void);          /* NULL: no memory */
void h2_session_free(struct h2_session *session); /* NULL is legal */

/* Whether a further call can be made. */
bool h2_session_usable(const struct h2_session *session);

/* Begins a POST; the last one has ended. False: no memory. */
bool h2_session_begin(struct h2_session *session, const struct h2_request *request,
                      struct http_reply *reply);
enum h2_state h2_session_state(const struct h2_session *session);
/* Gives the call up. */
void h2_session_cancel(struct h2_session *session);
/* Why the call was reset, in HTTP/2's word for it. */
const char *h2_session_reason(const struct h2_session *session);

/* Bytes from the peer. False: they are not HTTP/2, or there is no memory. */
bool h2_session_receive(struct h2_session *session, struct view data);

/* Writes what is to be sent to out, of at least 32 KiB; 0: nothing now. -1: no memory. */
ssize_t h2_session_gather(struct h2_session *session, uint8_t *out, size_t size);

#endif
