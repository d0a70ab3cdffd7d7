#ifndef BENCH_SINK_SINK_H
#define BENCH_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A backend that accepts OTLP over HTTP/1.1 or gRPC and counts what came: requests, spans, the sum
 * of their ids. One thread, one epoll. Its counts are asked for on standard input, a line each. */

struct counts {
    uint64_t requests;
    uint64_t items;
    uint64_t id_sum;
    uint64_t bytes;  /* bodies as they came */
    uint64_t broken; /* bodies that could not be read */
    uint64_t other;  /* requests that carry no spans: profiles, other paths */
};

/* Counts one body. gzip: it is compressed. */
void count_body(struct counts *counts, const char *body, size_t length, bool gzip);

struct sink {
    struct counts counts;
    int epoll;
    bool grpc;
    bool stall; /* connections are accepted, nothing is read or answered */
};

/* A growing buffer that never shrinks: one serves a connection for its life. */
struct bytes {
    char *at;
    size_t length;
    size_t room;
};

void bytes_reserve(struct bytes *bytes, size_t more);

/* Serve a new connection; what epoll reports of it comes to its ready. */
struct connection {
    void (*ready)(struct sink *sink, struct connection *connection, uint32_t events);
    int fd;
};

struct connection *http_accept(int fd);
struct connection *grpc_accept(struct sink *sink, int fd);

#endif
