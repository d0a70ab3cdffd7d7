#ifndef BENCH_SINK_SINK_H
#define BENCH_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A backend that accepts OTLP over HTTP/1.1 or gRPC and counts requests and spans and sums span
 * ids. One thread, one epoll. Each line on standard input requests the counts. */

struct counts {
    uint64_t requests;
    uint64_t items;
    uint64_t id_sum;
    uint64_t bytes;  /* bodies as received */
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

/* A buffer that only grows; a connection keeps its buffer for its lifetime. */
struct bytes {
    char *at;
    size_t length;
    size_t room;
};

void bytes_reserve(struct bytes *bytes, size_t more);

/* Serve a new connection; its events are passed to its ready function. */
struct connection {
    void (*ready)(struct sink *sink, struct connection *connection, uint32_t events);
    int fd;
};

struct connection *http_accept(int fd);
struct connection *grpc_accept(struct sink *sink, int fd);

#endif
