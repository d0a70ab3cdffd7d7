#include "bench/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD_HEADER = 16 };

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        fprintf(stderr, "load: the pool %s: %s\n", path, strerror(errno));
        exit(2);
    }
    long size = ftell(file);
    rewind(file);
    char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "load: the pool %s: cannot be read, or is empty\n", path);
        exit(2);
    }
    fclose(file);
    *length = (size_t)size;
    return bytes;
}

void pool_load(struct pool *pool, const char *path)
{
    size_t length;
    *pool = (struct pool){.file = read_file(path, &length)};
    for (size_t at = 0; at < length;) {
        struct pool_body body = {.bytes = pool->file + at + RECORD_HEADER};
        uint32_t size = 0;
        if (length - at >= RECORD_HEADER) {
            memcpy(&body.items, pool->file + at, 4);
            memcpy(&body.id_sum, pool->file + at + 4, 8);
            memcpy(&size, pool->file + at + 12, 4);
        }
        if (length - at < RECORD_HEADER || length - at - RECORD_HEADER < size) {
            fprintf(stderr, "load: the pool %s: ends inside a record\n", path);
            exit(2);
        }
        body.length = size;
        at += RECORD_HEADER + size;
        pool->bodies = realloc(pool->bodies, (pool->count + 1) * sizeof *pool->bodies);
        if (!pool->bodies) {
            abort();
        }
        pool->bodies[pool->count++] = body;
    }
}
