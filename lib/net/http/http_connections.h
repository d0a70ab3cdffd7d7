/*
 * The connections of one HTTP server: who is open, since when, and what for. One thread accepts,
 * closes what is overdue, and makes room when the table is full. While requests come in it looks
 * several times a second how they get on, and whether their clients are still there: the library
 * does not learn of an end that comes with the last bytes. Connections that stay idle are watched
 * by epoll, so that idle clients cost no wakeup.
 */
#ifndef LIB_NET_HTTP_HTTP_CONNECTIONS_H
#define LIB_NET_HTTP_HTTP_CONNECTIONS_H

#include "lib/base/budget.h"

#include <sys/socket.h>

struct http_connections;
struct http_connection;

/* What a connection is doing; decides how long it may take. */
enum http_phase {
    HTTP_FRESH,  /* accepted, no request line yet: header timeout */
    HTTP_IDLE,   /* between requests: idle timeout */
    HTTP_HEADER, /* the request line is there: header timeout */
    HTTP_BODY,   /* body_timeout since its last byte, and its least rate */
    HTTP_BUSY,   /* the handler has it: no timeout */
    HTTP_REPLY,  /* idle timeout */
    HTTP_SHUT    /* shut by us; its thread will see the end of the stream */
};

struct http_connections_options {
    int listener; /* taken over */
    unsigned max;
    struct budget *budget;      /* NULL: connections are not charged */
    size_t cost;                /* bytes charged for each */
    bool cleartext;             /* who is late can be told so */
    uint64_t header_timeout_ns; /* 0: none */
    uint64_t idle_timeout_ns;   /* 0: none */
    uint64_t body_timeout_ns;   /* without a byte of a body; 0: none */
    uint64_t body_rate;         /* bytes a second, once that time has passed since its begin */
    /* Takes over an accepted, non-blocking socket, which is added soon. False: it was closed.
     * Called on the accepting thread. */
    bool (*admit)(void *ctx, int fd, const struct sockaddr *address, socklen_t size);
    void *ctx;
};

/* Takes over the listener, but does nothing yet. NULL: no memory; the listener is closed. */
struct http_connections *http_connections_new(const struct http_connections_options *options);

/* Starts the thread. False: no thread or descriptor. */
bool http_connections_start(struct http_connections *connections);

/* Takes what still waits to be accepted and closes the listener; returns when that is done. */
void http_connections_refuse(struct http_connections *connections);

/* Stops the thread. Connections that are still there may be marked and removed. */
void http_connections_stop(struct http_connections *connections);

/* After stop and the last removal. */
void http_connections_free(struct http_connections *connections);

/* A connection whose socket stays open until it is removed. Past the maximum or the budget the one
 * without activity for longest is shut, or this one when all others are busy. NULL: no memory. */
struct http_connection *http_connections_add(struct http_connections *connections, int fd);
void http_connections_remove(struct http_connections *connections,
                             struct http_connection *connection);

/* Only from the thread that serves the connection. False: it was shut, so that no answer would
 * arrive; the caller drops what it was about to do. */
bool http_connection_mark(struct http_connection *connection, enum http_phase phase);

/* The same for the bytes of the body that have come since HTTP_BODY was marked, all together. */
bool http_connection_receive(struct http_connection *connection, uint64_t bytes);

#endif
