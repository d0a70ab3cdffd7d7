/*
 * sending_queue.batch: requests that are gathered into larger ones before they are queued. A
 * passive structure: its owner holds a lock around every call, and counts the places.
 */
#ifndef PIPELINE_DELIVERY_BATCHING_H
#define PIPELINE_DELIVERY_BATCHING_H

#include "pipeline/delivery/delivery.h"
#include "pipeline/delivery/queue.h"

struct open_batch;

struct batching {
    const struct batching_settings *settings; /* NULL: off */
    enum batching_sizer sizer;                /* of the settings */
    enum queue_sizer queue_sizer;
    struct budget *budget;
    struct open_batch *open;
};

/* What became of a request. */
enum batching_result {
    BATCHING_ALONE, /* nothing: it is not to be gathered, or there is no memory */
    BATCHING_OPEN,  /* it waits for others, until *due at the latest */
    BATCHING_FULL   /* as OPEN, and batching_flush has something to give at once */
};

enum batching_result batching_add(struct batching *batching, struct batch *batch, uint64_t now,
                                  uint64_t *due);

/* Makes elements of what is large enough, or due, or, if all, of everything; in the order of their
 * requests. An element has the places of its requests. What is cut off at max_size and is less than
 * min_size goes on waiting, unless all. *next: when to call again; TIME_NEVER: nothing waits. What
 * cannot be merged for lack of memory is kept until then. */
struct queue_element *batching_flush(struct batching *batching, uint64_t now, bool all,
                                     uint64_t *next);

/* Items that wait. */
uint64_t batching_items(const struct batching *batching);

/* Takes a request that waits (one reference), with the places that it leaves; NULL: there is
 * none. */
struct batch *batching_take(struct batching *batching, size_t *places);

#endif
