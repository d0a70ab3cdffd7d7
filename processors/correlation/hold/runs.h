/*
 * Runs of bytes that many held spans share, kept once: the headers of their resources and scopes.
 * Equal bytes are the same run, so pointers compare. Thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_RUNS_H
#define PROCESSORS_CORRELATION_HOLD_RUNS_H

#include "lib/base/budget.h"
#include "lib/base/view.h"

#include <pthread.h>

struct run {
    struct run *chain;
    uint32_t hash;
    uint32_t refs;
    size_t size;
    uint8_t data[];
};

struct runs {
    pthread_mutex_t lock;
    struct run **buckets;
    size_t bucket_count, count;
    struct budget *budget;
};

void runs_init(struct runs *runs, struct budget *budget);
void runs_release(struct runs *runs); /* every run was put back before */

/* The run of these bytes, with a reference for the caller. NULL: no memory. */
struct run *runs_get(struct runs *runs, struct view bytes);
void runs_put(struct runs *runs, struct run *run); /* NULL is legal */

static inline struct view run_view(const struct run *run)
{
    return (struct view){run->data, run->size};
}

#endif
