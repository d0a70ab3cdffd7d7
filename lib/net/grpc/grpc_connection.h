/*
 * Internal to the gRPC server; included by its sources and its fuzz target only. A loop is a thread
 * with an epoll set. A connection belongs to one loop for its whole life, and so does the stream
 * side of a call. Other threads use only the fields of a loop that its mutex guards.
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
    GRPC_CONNECTION_COST = 24 * 1024, /* session, header tables and an outgoing frame */
    GRPC_NOISE = 2000,                /* frames a second that advance no call */
    GRPC_WASTE = 32 << 20, /* consecutive bytes that belong to no call; two connection windows */
    GRPC_PROGRESS = 16 * 1024, /* message bytes that count as progress */
    GRPC_OFFENCES = 200        /* resets and empty frames beyond the calls answered */
};

enum grpc_connection_state {
    GRPC_SHAKING,  /* TLS handshake */
    GRPC_GREETING, /* waiting for the preface and first SETTINGS */
    GRPC_SERVING,
    GRPC_LINGERING, /* everything is sent; further input is discarded, so that the peer can read it
                       all */
    GRPC_DEAD       /* freed at the end of the loop's iteration */
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
    bool blocked;       /* the socket cannot be written now; reading pauses too */
    bool last_goaway;   /* no further streams are accepted */
    bool leaving;       /* GOAWAY was sent, as in a drain, but without a deadline */
    uint64_t progress;  /* when a stream began, much of a message arrived, or a response was sent */
    uint64_t deadline;  /* when grpc_connection_expire is due */
    uint64_t calls_due; /* when grpc_calls_check_deadlines is due */
    struct bytes unsent;
    size_t unsent_from;
    struct grpc_keepalive keepalive;
    TAILQ_HEAD(, grpc_call) calls;
    unsigned handled; /* calls in their handler */
    unsigned offences;
    size_t charged; /* budget charge of the connection itself */
    unsigned noise; /* small frames since noise_since */
    uint64_t noise_since;
    struct h2_ends ends; /* ended streams of the peer */
    size_t header_bytes; /* decoded of the current header block */
    size_t trickled;     /* message bytes since the last progress */
    size_t wasted;       /* bytes since the last one that belonged to an arriving call */
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
    size_t room; /* maximum number of connections */
    _Atomic size_t connection_count;
    struct grpc_connections connections;
    struct grpc_connections dead;
    struct grpc_inbox dirty;
    uint64_t now;
    uint64_t next_check; /* no connection's deadline is earlier */
    bool draining;
    bool accepting;   /* the listener is in this loop's epoll set */
    uint64_t lack_ns; /* see room_tell_lack */
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
    _Atomic bool retiring; /* draining, without a deadline */
    _Atomic bool stopping;
    _Atomic size_t refs;   /* the owner, each connection, each call */
    pthread_mutex_t mutex; /* for the condition only */
    pthread_cond_t quiet;  /* only the owner's reference is left */
};

/* grpc_server.c. Creates a server without sockets or threads; NULL: no memory. */
struct grpc_server *grpc_server_new(const struct grpc_server_options *options);
void grpc_server_ref(struct grpc_server *server);
void grpc_server_unref(struct grpc_server *server);
void grpc_loop_wake(struct grpc_loop *loop);
void grpc_loop_due(struct grpc_loop *loop, uint64_t deadline);

/* Passes responses from other threads to their sessions. The loop's thread. */
void grpc_loop_answer(struct grpc_loop *loop);
/* Frees dead connections. */
void grpc_loop_reap(struct grpc_loop *loop);

/* grpc_connection.c; all on the loop's thread. */
bool grpc_connection_setup(struct grpc_server *server);
/* Takes ownership of fd, also on failure (NULL: no memory). peer NULL: unknown. */
struct grpc_connection *grpc_connection_new(struct grpc_loop *loop, int fd,
                                            const struct sockaddr *peer);
/* Starts the HTTP/2 session. False: no memory; the connection is dead. */
bool grpc_connection_start(struct grpc_connection *connection);
void grpc_connection_event(struct grpc_connection *connection, uint32_t events);
/* Processes bytes from the peer; does not use the socket. */
void grpc_connection_receive(struct grpc_connection *connection, const uint8_t *data, size_t size);
/* Copies the session's output to out; size is at least 32 KiB. -1: the session failed. */
ssize_t grpc_connection_gather(struct grpc_connection *connection, uint8_t *out, size_t size);
void grpc_connection_flush(struct grpc_connection *connection);
void grpc_connection_mark(struct grpc_connection *connection);
void grpc_connection_progress(struct grpc_connection *connection);
void grpc_connection_offence(struct grpc_connection *connection);
void grpc_connection_drain(struct grpc_connection *connection);
void grpc_connection_expire(struct grpc_connection *connection);
/* Sends GOAWAY if the socket accepts it, then marks the connection dead. */
void grpc_connection_evict(struct grpc_connection *connection);
void grpc_connection_kill(struct grpc_connection *connection);

#endif
