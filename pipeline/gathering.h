/* Requests that are to become one. The owner's thread or lock. */
#ifndef PIPELINE_GATHERING_H
#define PIPELINE_GATHERING_H

#include "pipeline/batch.h"

struct gathering {
    struct batch **batches; /* referenced; all of them mergeable */
    size_t count;
    uint64_t items;
    size_t bytes;
};

/* Adds a batch (referenced). False: no memory; nothing changed. */
bool gathering_add(struct gathering *gathering, struct batch *batch);

/* One batch of all of them, without copying, as if accepted when the last was. Its payload is
 * charged to the budget, which sending it may take. NULL: no memory; nothing changed. */
struct batch *gathering_merge(const struct gathering *gathering, struct budget *budget);

/* Drops the batches; the gathering is then empty. */
void gathering_release(struct gathering *gathering);

#endif
