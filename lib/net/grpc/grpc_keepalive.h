/*
 * How long a connection of the gRPC server may live and idle, whether its peer is still there, and
 * how often that one may ask. Keys, meanings and defaults are those of grpc-go's servers, and so of
 * the Collector's; but that nothing is enforced unless enforcement_policy is given.
 */
#ifndef LIB_NET_GRPC_GRPC_KEEPALIVE_H
#define LIB_NET_GRPC_GRPC_KEEPALIVE_H

#include "lib/settings/key.h"

struct grpc_keepalive_server {
    uint64_t max_connection_idle;      /* nanoseconds, as all here; 0: for ever */
    uint64_t max_connection_age;       /* give or take a tenth; 0: for ever */
    uint64_t max_connection_age_grace; /* for calls under way then; 0: for ever */
    uint64_t time;                     /* of silence, before the peer is pinged; 0: 2 h */
    uint64_t timeout;                  /* for its answer; 0: 20 s */
};

struct grpc_keepalive_policy {
    uint64_t min_time; /* between a client's pings; 0: 5 min */
    bool permit_without_stream;
};

struct grpc_keepalive_settings {
    struct grpc_keepalive_server server;
    bool has_policy;
    struct grpc_keepalive_policy policy;
};

extern const struct key grpc_keepalive_keys[]; /* over struct grpc_keepalive_settings */

/* The state of a connection. */
struct grpc_keepalive {
    uint64_t due;    /* grpc_keepalive_expire is, mono; TIME_NEVER: never */
    uint64_t heard;  /* mono: when its last bytes came */
    uint64_t pinged; /* mono: since when a ping of ours is unanswered; 0: none is */
    uint64_t leaves; /* mono: when it is too old; TIME_NEVER: never, or it is told */
    uint64_t ends;   /* mono: when its time after that is over; TIME_NEVER: never */
    uint64_t asked;  /* mono: the peer's last ping; 0: none */
    unsigned strikes;
};

struct grpc_connection;

/* All in the loop's thread: the session begins; bytes came; the peer pings; an answer goes, which
 * forgives pings before it; due has come. */
void grpc_keepalive_begin(struct grpc_connection *connection);
void grpc_keepalive_pinged(struct grpc_connection *connection);
void grpc_keepalive_answered(struct grpc_connection *connection);
void grpc_keepalive_expire(struct grpc_connection *connection);

#endif
