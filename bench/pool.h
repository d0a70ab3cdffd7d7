#ifndef BENCH_POOL_H
#define BENCH_POOL_H

#include <stddef.h>
#include <stdint.h>

/* The request bodies of a load, as payloads.py wrote them. A file is a sequence of records, each
 * little endian: items (u32), sum of the span ids modulo 2^64 (u64), length (u32), the body. */

struct pool_body {
    const char *bytes;
    size_t length;
    uint32_t items;
    uint64_t id_sum;
};

struct pool {
    struct pool_body *bodies;
    size_t count;
    char *file; /* owns the bytes */
};

/* Reads a file or exits with a sentence on standard error. */
void pool_load(struct pool *pool, const char *path);

#endif
