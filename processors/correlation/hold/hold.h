/*
 * The hold: all segments (segment.h), in the order in which they came, over all and within their
 * process; within their process also by when their first span ended, and every span by its id. All
 * is called under the owner's lock.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_HOLD_H
#define PROCESSORS_CORRELATION_HOLD_HOLD_H

#include "processors/correlation/hold/held_ids.h"
#include "processors/correlation/hold/segment.h"
#include "processors/correlation/known/services.h"

struct hold {
    struct segment *oldest, *newest;
    uint64_t put; /* segments, ever */
    struct held_ids ids;
    size_t bytes;
    uint64_t spans;
    size_t max_bytes;
    uint64_t max_spans;       /* 0: no other limit */
    struct segment *unpacked; /* the oldest that pack.h has not looked at; NULL: none */
};

/* Puts a segment behind all others. False: no memory to find its spans by; it is not inside. */
bool hold_put(struct hold *hold, struct segment *segment);

/* Puts a segment, which then has the spans of both, in the place of one that is there. */
void hold_replace(struct hold *hold, struct segment *old, struct segment *segment);

/* Takes a segment out whose spans are in another one now. */
void hold_remove(struct hold *hold, struct segment *segment);

/* Takes a span out, as its edit says. */
void hold_take(struct hold *hold, struct held *held, const struct edit *edit,
               struct release *release);

/* Notes when the first of a segment's spans ended that are still there. */
void hold_order(struct segment *segment);

/* Its memory has become less. */
void hold_shrunk(struct hold *hold, struct segment *segment, size_t bytes);

/* The oldest span of all; NULL: empty. */
struct held *hold_oldest(const struct hold *hold);

/* Whether a segment that is to come, of so many spans and bytes, is too much beside what is there.
 */
bool hold_over(const struct hold *hold, uint64_t spans, size_t bytes);

#endif
