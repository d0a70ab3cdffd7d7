/*
 * Keepalive of the gRPC server: how long a connection may live and stay idle, pings to check that
 * the peer is alive, and how often the peer may ping. Keys, meanings and defaults are those of
 * grpc-go's server and thus of the Collector, except that nothing is enforced unless
 * enforcement_policy is given.
 */
#ifndef LIB_NET_GRPC_GRPC_KEEPALIVE_H
#define LIB_NET_GRPC_GRPC_KEEPALIVE_H

#include "lib/settings/key.h"

struct grpc_keepalive_server {
    uint64_t max_connection_idle;      /* nanoseconds, like all times here; 0: unlimited */
    uint64_t max_connection_age;       /* plus or minus 10 %; 0: unlimited */
    uint64_t max_connection_age_grace; /* for calls in progress at that age; 0: unlimited */
    uint64_t time;                     /* of inactivity before the peer is pinged; 0: 2 h */
    uint64_t timeout;                  /* for its reply; 0: 20 s */
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

/* State of a connection. */
struct grpc_keepalive {
    uint64_t due;         /* mono: when grpc_keepalive_expire is due; TIME_NEVER: never */
    uint64_t received_at; /* mono: when bytes were last received */
    uint64_t pinged;      /* mono: when the pending ping was sent; 0: none is pending */
    uint64_t
        leaves; /* mono: when it reaches its maximum age; TIME_NEVER: never, or GOAWAY was sent */
    uint64_t ends;  /* mono: when the grace period after that ends; TIME_NEVER: never */
    uint64_t asked; /* mono: when the peer last pinged; 0: never */
    unsigned strikes;
};

struct grpc_connection;

/* All on the loop's thread. Call when, in order: the session begins; the peer pings; a response is
 * sent (which resets the strikes); due is reached. */
void grpc_keepalive_begin(struct grpc_connection *connection);
void grpc_keepalive_pinged(struct grpc_connection *connection);
void grpc_keepalive_answered(struct grpc_connection *connection);
void grpc_keepalive_expire(struct grpc_connection *connection);

/* The loop read nothing for so long, also no reply to a ping. */
void grpc_keepalive_postpone(struct grpc_connection *connection, uint64_t ns);

#endif
