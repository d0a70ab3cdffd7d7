/*
 * Detects a client's protocol from its first bytes, and answers clients that connected to a port of
 * another protocol.
 */
#ifndef LIB_NET_OPENING_H
#define LIB_NET_OPENING_H

#include "lib/base/verdict.h"
#include "lib/net/endpoint.h"

enum opening {
    OPENING_NONE,  /* no bytes received */
    OPENING_HTTP1, /* or anything that begins like a method */
    OPENING_HTTP2, /* its preface, RFC 9113 section 3.4 */
    OPENING_TLS,   /* a handshake record, RFC 8446 section 5.1 */
    OPENING_OTHER
};

/* Pure. Four bytes are enough to recognise the preface. */
enum opening opening_of(const void *data, size_t size);

/* A port, for the error message to clients that connected to it by mistake. */
struct opening_port {
    const char *speaks; /* "HTTP", "gRPC" */
    const struct endpoint *endpoint;
    const char *other; /* where the server for the other protocol listens, e.g. "point it at port
                          4317, protocols.grpc"; NULL: unknown */
};

/* The outcome for a client with this opening at the port. */
struct outcome opening_refusal(enum opening opening, const struct opening_port *port);

enum { OPENING_STATUS = 512 }; /* enough for every status */

/* Formats the outcome as an HTTP/1.1 response; returns its size. */
size_t opening_status(const struct outcome *why, char *out, size_t size);

/* Sends such a client, on a non-blocking socket, the outcome as an HTTP/1.1 response, then discards
 * pending input and shuts down the sending side. gRPC clients get it too: they report UNAVAILABLE
 * at once and back off, whereas after SETTINGS and GOAWAY they reconnect without delay. */
void opening_answer(int fd, const struct outcome *why);

#endif
