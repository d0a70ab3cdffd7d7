#ifndef BENCH_LOAD_LOAD_H
#define BENCH_LOAD_LOAD_H

#include "bench/pool.h"

#include <stdbool.h>
#include <stdint.h>

/* A load generator for OTLP over HTTP/1.1 and gRPC. It sends each body of a pool in turn, keeps
 * every request until it is answered (a retryable answer is tried again), and so knows exactly what
 * was accepted. One thread, one epoll. */

struct load_options {
    const char *host;
    const char *port;
    const char *path;
    unsigned clients;  /* connections */
    unsigned streams;  /* requests in flight on each; 1 with HTTP/1.1 */
    double seconds;    /* no new request after this; 0: no limit */
    uint64_t requests; /* no more than these; 0: no limit */
    double rate;       /* requests a second; 0: as fast as they are answered */
    bool grpc;
    bool gzip; /* the pool's bodies are compressed */
    const char *type;
};

enum answer { ACCEPTED, RETRYABLE, REFUSED };

/* One request in flight, or a free place for one. */
struct slot {
    const struct pool_body *body; /* NULL: free */
    uint64_t due;                 /* ns; when it should have started */
    uint64_t again;               /* ns; not before this it is sent again; 0: it is under way */
    void *owner;
    uint32_t sent;      /* of the message, with gRPC */
    enum answer answer; /* what its stream has said so far, with gRPC */
};

struct tally {
    uint64_t requests;
    uint64_t items;
    uint64_t id_sum;
    uint64_t bytes;
    uint64_t retries;
    uint64_t refused; /* for good */
    uint32_t *latencies;
    size_t latency_count;
};

struct load;

/* How requests travel. start puts slot->body on its way; ready serves a connection's events. */
struct transport {
    void (*open)(struct load *load, unsigned client, struct slot *slots);
    void (*start)(struct load *load, struct slot *slot);
    void (*ready)(struct load *load, void *connection, uint32_t events);
};

struct load {
    struct load_options options;
    struct pool pool;
    struct tally tally;
    const struct transport *transport;
    struct slot *slots;
    size_t slot_count;
    int epoll;
    uint64_t began;
    uint64_t started; /* requests begun */
};

extern const struct transport http_transport;
extern const struct transport grpc_transport;

uint64_t load_now(void); /* ns, monotonic */

/* A connected, non-blocking socket; exits with a sentence where nobody listens. */
int load_connect(const struct load *load);

/* Watches a socket; what epoll reports goes to the transport with this connection. */
void load_watch(struct load *load, int fd, uint32_t events, void *connection, bool first);

/* The request of the slot was answered. */
void load_answered(struct load *load, struct slot *slot, enum answer answer);

_Noreturn void load_die(const char *what);
_Noreturn void load_failed(const char *what); /* with what errno says */

#endif
