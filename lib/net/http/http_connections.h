/*
 * The connections of one HTTP server and what each is doing. One thread accepts connections, closes
 * overdue ones, and makes room when the table is full. While requests arrive it checks their
 * progress several times a second, and whether their clients are still connected: the library does
 * not notice a close that arrives with the last bytes. Idle connections are watched by epoll, so
 * that they cause no wakeups.
 */
#ifndef LIB_NET_HTTP_HTTP_CONNECTIONS_H
#define LIB_NET_HTTP_HTTP_CONNECTIONS_H

#include "lib/base/budget.h"
#include "lib/base/log.h"

#include <sys/socket.h>

struct http_connections;
struct http_connection;

/* What a connection is doing; decides how long it may take. */
enum http_phase {
    HTTP_FRESH,  /* accepted, no request line yet: header timeout */
    HTTP_IDLE,   /* between requests: idle timeout */
    HTTP_HEADER, /* after the request line: header timeout */
    HTTP_BODY,   /* body_timeout since its last byte, and minimum rate */
    HTTP_BUSY,   /* in the handler: no timeout */
    HTTP_REPLY,  /* idle timeout */
    HTTP_SHUT    /* shut down by the server; its thread will read the end of the stream */
};

enum http_shut {
    HTTP_SHUT_NOT,
    HTTP_SHUT_LATE, /* beyond a time limit */
    HTTP_SHUT_LEFT, /* the client closed it */
    HTTP_SHUT_FOR_ROOM
};

struct http_connections_options {
    int listener; /* owned */
    unsigned max;
    struct budget *budget;      /* may be NULL: connections are not charged */
    size_t cost;                /* bytes charged for each */
    bool cleartext;             /* overdue clients can be sent an error */
    uint64_t header_timeout_ns; /* 0: none */
    uint64_t idle_timeout_ns;   /* 0: none */
    uint64_t body_timeout_ns;   /* without a byte of a body; 0: none */
    uint64_t body_rate; /* minimum bytes a second, once that time has passed since its start */
    /* Takes ownership of an accepted, non-blocking socket, which http_connections_add registers
     * soon after. False: it was closed. Called on the accepting thread. */
    bool (*admit)(void *ctx, int fd, const struct sockaddr *address, socklen_t size);
    void *ctx;
    struct log_source source; /* of lines about too many connections */
};

/* Takes ownership of the listener, but does not accept yet. NULL: no memory; the listener is
 * closed. */
struct http_connections *http_connections_new(const struct http_connections_options *options);

/* Starts the thread. False: no thread or descriptor available. */
bool http_connections_start(struct http_connections *connections);

/* Accepts the pending connections and closes the listener; returns when done. */
void http_connections_stop_accepting(struct http_connections *connections);

/* Stops the thread. Remaining connections may still be marked and removed. */
void http_connections_stop(struct http_connections *connections);

/* Call after http_connections_stop and the last removal. */
void http_connections_free(struct http_connections *connections);

/* Registers a connection; its socket must stay open until it is removed. Beyond the maximum or the
 * budget, the connection idle for longest is shut down, before those that have sent a part of a
 * request, which get a 503; or this one if all others are busy. NULL: no memory. */
struct http_connection *http_connections_add(struct http_connections *connections, int fd);
void http_connections_remove(struct http_connections *connections,
                             struct http_connection *connection);

/* Sets the phase. Only on the thread that serves the connection. False: the connection was shut
 * down and no response would arrive; the caller abandons the request. */
bool http_connection_mark(struct http_connection *connection, enum http_phase phase);

/* Why the connection was shut down. Any thread, as long as it has not been removed. */
enum http_shut http_connection_shut(const struct http_connection *connection);

/* Reports body progress: bytes is the total received since HTTP_BODY was marked. Thread and result
 * as for http_connection_mark. */
bool http_connection_receive(struct http_connection *connection, uint64_t bytes);

#endif
