/* An outlet that keeps what is pushed into it, for tests of a single processor. */
#ifndef TESTS_SUPPORT_COLLECTING_SINK_H
#define TESTS_SUPPORT_COLLECTING_SINK_H

#include "pipeline/graph/graph.h"

#include <pthread.h>

struct collecting_sink {
    struct outlet outlet;
    struct instance instance;
    struct meter meter; /* the instance's */
    pthread_mutex_t lock;
    enum verdict verdict; /* the answer to every push; only OK keeps the batch */
    struct batch **batches;
    size_t count;
    size_t pushes;
};

void collecting_sink_init(struct collecting_sink *sink);
uint64_t collecting_sink_items(const struct collecting_sink *sink);
void collecting_sink_clear(struct collecting_sink *sink); /* may be called twice */

#endif
