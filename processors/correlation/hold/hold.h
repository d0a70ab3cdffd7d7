/*
 * The hold: all segments (segment.h) in the order of arrival, over all and within their process;
 * within their process also by when their first span ended; and every span by its id. All functions
 * are called under the owner's lock.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_HOLD_H
#define PROCESSORS_CORRELATION_HOLD_HOLD_H

#include "processors/correlation/hold/held_ids.h"
#include "processors/correlation/hold/segment.h"
#include "processors/correlation/known/services.h"

struct hold {
    struct segment *oldest, *newest;
    uint64_t put; /* segments put in so far, ever */
    struct held_ids ids;
    size_t bytes;
    uint64_t spans;
    size_t max_bytes;
    uint64_t max_spans;        /* 0: no limit besides max_bytes */
    struct segment *unpacked;  /* the oldest that pack.h has not tried yet; NULL: none */
    struct segment *unvisited; /* the next of a visit that lets go of the lock; NULL: none */
};

/* Appends a segment. False: no memory to index its spans; it was not added. */
bool hold_put(struct hold *hold, struct segment *segment);

/* Replaces a segment by one that has the spans of both. */
void hold_replace(struct hold *hold, struct segment *old, struct segment *segment);

/* Removes a segment whose spans are in another one now. */
void hold_remove(struct hold *hold, struct segment *segment);

/* Moves a span to the release list, with its edit. */
void hold_take(struct hold *hold, struct held *held, const struct edit *edit,
               struct release *release);

/* Updates when the first of the segment's remaining spans ended. */
void hold_order(struct segment *segment);

/* Accounts for a segment that takes less memory now. */
void hold_shrunk(struct hold *hold, struct segment *segment, size_t bytes);

/* Returns the oldest span of all; NULL: empty. */
struct held *hold_oldest(const struct hold *hold);

/* Whether a new segment of so many spans and bytes would exceed the hold's limits. */
bool hold_over(const struct hold *hold, uint64_t spans, size_t bytes);

#endif
