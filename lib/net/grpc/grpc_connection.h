/*
 * Inside of the gRPC server; included by its sources and its fuzz target only.
 * A loop is a thread with an epoll set; a connection lives and dies in one loop, and so does the
 * stream side of a call. Other threads touch a loop through what its mutex guards, no more.
 */
#ifndef LIB_NET_GRPC_GRPC_CONNECTION_H
#define LIB_NET_GRPC_GRPC_CONNECTION_H

#include "lib/net/grpc/grpc_call.h"
#include "lib/net/h2/h2_ends.h"
#include "lib/net/tls/tls_session.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    GRPC_SCRATCH = 128 * 1024,        /* one read; one write */
    GRPC_CONNECTION_COST = 24 * 1024, /* session, header tables and a frame on its way out */
    GRPC_NOISE = 2000,                /* frames a second that bring no call on */
    GRPC_WASTE = 32 << 20,     /* bytes on end that belong to no call; two connection windows */
    GRPC_PROGRESS = 16 * 1024, /* message bytes; fewer are no progress */
    GRPC_OFFENCES = 200        /* resets and empty frames beyond the calls answered */
};

enum grpc_connection_state {
    GRPC_SHAKING,  /* hands, for TLS */
    GRPC_GREETING, /* preface and first settings are awaited */
    GRPC_SERVING,
    GRPC_LINGERING, /* all is sent; what the peer still sends is read past, so that it gets it */
    GRPC_DEAD       /* freed at the end of the loop's turn */
};

struct grpc_connection {
    TAILQ_ENTRY(grpc_connection) of_loop;
    STAILQ_ENTRY(grpc_connection) of_inbox;
    STAILQ_ENTRY(grpc_connection) of_dirty;
    struct grpc_loop *loop;
    nghttp2_session *session; /* NULL while lingering */
    struct tls_session *tls;  /* NULL: cleartext */
    int fd;
    struct peer peer;
    enum grpc_connection_state state;
    bool dirty;         /* has something to write */
    bool blocked;       /* the socket takes nothing now; nothing is read meanwhile either */
    bool last_goaway;   /* no further streams are taken */
    bool leaving;       /* it is told to connect again, as in a drain, but has its time */
    uint64_t progress;  /* when the last stream or much of a message came or an answer went */
    uint64_t deadline;  /* grpc_connection_expire is due */
    uint64_t calls_due; /* grpc_calls_hurry is due */
    struct bytes unsent;
    size_t unsent_from;
    struct grpc_keepalive keepalive;
    TAILQ_HEAD(, grpc_call) calls;
    unsigned handled; /* calls that their handler has */
    unsigned offences;
    size_t charged; /* to the budget, for the connection itself */
    unsigned noise; /* small frames since noise_since */
    uint64_t noise_since;
    struct h2_ends ends; /* of the peer's streams */
    size_t trickled;     /* message bytes since the last progress */
    size_t wasted;       /* bytes since the last one of a call that arrives */
};

TAILQ_HEAD(grpc_connections, grpc_connection);
STAILQ_HEAD(grpc_answers, grpc_call);
STAILQ_HEAD(grpc_inbox, grpc_connection);

struct grpc_loop {
    struct grpc_server *server;
    pthread_t thread;
    bool running;
    int epoll;
    int wake;
    size_t room; /* connections it may have */
    _Atomic size_t connection_count;
    struct grpc_connections connections;
    struct grpc_connections dead;
    struct grpc_inbox dirty;
    uint64_t now;
    uint64_t next_check; /* no connection's deadline is before it */
    bool draining;
    bool accepting; /* the listener is in this loop's set */
    uint8_t *scratch;

    pthread_mutex_t mutex; /* guards the rest */
    struct grpc_answers answered;
    struct grpc_inbox inbox;
    bool closed;
};

struct grpc_server {
    struct grpc_server_options options;
    int listener;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *settings;
    unsigned loop_count;
    struct grpc_loop *loops;
    _Atomic bool draining;
    _Atomic bool retiring; /* draining, without haste */
    _Atomic bool stopping;
    _Atomic size_t refs;   /* the owner, each connection, each call */
    pthread_mutex_t mutex; /* of the condition only */
    pthread_cond_t quiet;  /* refs has come down to the owner's */
};

/* grpc_server.c. A server without sockets or threads; NULL: no memory. */
struct grpc_server *grpc_server_new(const struct grpc_server_options *options);
void grpc_server_ref(struct grpc_server *server);
void grpc_server_unref(struct grpc_server *server);
void grpc_loop_wake(struct grpc_loop *loop);
void grpc_loop_due(struct grpc_loop *loop, uint64_t deadline);

/* Hands the answers of other threads to their sessions. The loop's thread. */
void grpc_loop_answer(struct grpc_loop *loop);
/* Frees the connections that died. */
void grpc_loop_bury(struct grpc_loop *loop);

/* grpc_connection.c; all in the loop's thread. */
bool grpc_connection_setup(struct grpc_server *server);
/* Owns fd from here on, also on failure (NULL). peer NULL: not known. */
struct grpc_connection *grpc_connection_new(struct grpc_loop *loop, int fd,
                                            const struct sockaddr *peer);
/* The session begins. False: no memory, the connection is dead. */
bool grpc_connection_start(struct grpc_connection *connection);
void grpc_connection_event(struct grpc_connection *connection, uint32_t events);
/* Bytes from the peer; the socket is not touched. */
void grpc_connection_receive(struct grpc_connection *connection, const uint8_t *data, size_t size);
/* What the session has to send, up to size (at least 32 KiB). -1: it is broken. */
ssize_t grpc_connection_gather(struct grpc_connection *connection, uint8_t *out, size_t size);
void grpc_connection_flush(struct grpc_connection *connection);
void grpc_connection_mark(struct grpc_connection *connection);
void grpc_connection_progress(struct grpc_connection *connection);
void grpc_connection_offence(struct grpc_connection *connection);
void grpc_connection_drain(struct grpc_connection *connection);
void grpc_connection_expire(struct grpc_connection *connection);
/* GOAWAY as far as the socket takes it, then dead. */
void grpc_connection_evict(struct grpc_connection *connection);
void grpc_connection_kill(struct grpc_connection *connection);

#endif
