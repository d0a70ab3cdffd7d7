/*
 * The first bytes of a client: which protocol they are of, and what is said to one that came to a
 * port of another.
 */
#ifndef LIB_NET_OPENING_H
#define LIB_NET_OPENING_H

#include "lib/base/verdict.h"
#include "lib/net/endpoint.h"

enum opening {
    OPENING_NONE,  /* nothing came */
    OPENING_HTTP1, /* or what begins like a method */
    OPENING_HTTP2, /* its preface, RFC 9113 section 3.4 */
    OPENING_TLS,   /* a handshake's record, RFC 8446 section 5.1 */
    OPENING_OTHER
};

/* Pure. The preface is known by its first four bytes. */
enum opening opening_of(const void *data, size_t size);

/* A port, for the sentence about who came to it by mistake. */
struct opening_port {
    const char *speaks; /* "HTTP", "gRPC" */
    const struct endpoint *endpoint;
    const char *other; /* where the other of the two is, e.g. "point it at port 4317,
                          protocols.grpc"; NULL: not known */
};

/* The refusal of a client with this opening at the port. */
struct outcome opening_refusal(enum opening opening, const struct opening_port *port);

enum { OPENING_STATUS = 512 }; /* bytes that hold any */

/* The same as an answer of HTTP/1.1; its size. */
size_t opening_status(const struct outcome *why, char *out, size_t size);

/* Tells such a client on a non-blocking socket, in words that its library shows: GOAWAY to HTTP/2,
 * a status to others. Takes what has come besides and ends this side. */
void opening_answer(int fd, enum opening opening, const struct outcome *why);

#endif
