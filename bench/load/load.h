#ifndef BENCH_LOAD_LOAD_H
#define BENCH_LOAD_LOAD_H

#include "bench/pool.h"

#include <stdbool.h>
#include <stdint.h>

/* A load generator for OTLP over HTTP/1.1 and gRPC. It sends the bodies of a pool in turn and keeps
 * every request until it is answered, retrying retryable responses, so that it knows exactly what
 * was accepted. One thread, one epoll. */

struct load_options {
    const char *host;
    const char *port;
    const char *path;
    unsigned clients;  /* connections */
    unsigned streams;  /* requests in flight on each; 1 with HTTP/1.1 */
    double seconds;    /* no new request after this; 0: no limit */
    uint64_t requests; /* maximum number of requests; 0: no limit */
    double rate;       /* requests per second; 0: as fast as they are answered */
    bool grpc;
    bool gzip; /* the pool's bodies are compressed */
    const char *type;
};

enum answer { ACCEPTED, RETRYABLE, REFUSED };

/* One request in flight, or a free slot. */
struct slot {
    const struct pool_body *body; /* NULL: free */
    uint64_t due;                 /* ns; when it should have started */
    uint64_t again;               /* ns; earliest time of the retry; 0: in flight */
    void *owner;
    uint32_t sent;      /* bytes of the message sent, with gRPC */
    enum answer answer; /* result of its stream so far, with gRPC */
};

struct tally {
    uint64_t requests;
    uint64_t items;
    uint64_t id_sum;
    uint64_t bytes;
    uint64_t retries;
    uint64_t refused; /* permanently */
    uint32_t *latencies;
    size_t latency_count;
};

struct load;

/* A protocol. start sends slot->body; ready handles a connection's events. */
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
    uint64_t started; /* requests started */
};

extern const struct transport http_transport;
extern const struct transport grpc_transport;

uint64_t load_now(void); /* ns, monotonic */

/* A connected, non-blocking socket; exits with a sentence where nobody listens. */
int load_connect(const struct load *load);

/* Watches a socket; its events are passed to the transport with this connection. */
void load_watch(struct load *load, int fd, uint32_t events, void *connection, bool first);

/* The request of the slot was answered. */
void load_answered(struct load *load, struct slot *slot, enum answer answer);

_Noreturn void load_die(const char *what);
_Noreturn void load_failed(const char *what); /* prints what with errno's text, and exits */

#endif
