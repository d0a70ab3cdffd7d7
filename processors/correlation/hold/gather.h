/*
 * Merges small segments of a process that arrived within a moment of one another. For requests with
 * a span or two, the memory beside the spans would be half as much as the spans themselves. Under
 * the owner's lock.
 *
 * Only similar segments are merged: same resource and scopes, outlet and metadata, and no receipts,
 * since these follow only the spans of their own request. Spans keep their order; among other
 * segments they are placed where the first of them was. They wait from the newest's arrival on: at
 * most GATHER_WITHIN longer, never less.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_GATHER_H
#define PROCESSORS_CORRELATION_HOLD_GATHER_H

#include "lib/base/clock.h"
#include "processors/correlation/hold/hold.h"

#define GATHER_WITHIN (100 * NS_PER_MS)
enum {
    GATHER_SMALL = 2048, /* bytes of memory of a small segment, at most */
    GATHER_EACH = 32     /* merge when there are this many, or when the time has passed */
};

/* Called before a segment of the process is put into the hold: merges the earlier ones if their
 * time has passed. Without budget or memory for that, segments stay as they are. */
void gather_before(struct hold *hold, struct process *process, uint64_t mono);

/* Called after a segment was put into the hold. It may be merged at once, so its address must not
 * be used afterwards. */
void gather_after(struct hold *hold, struct segment *segment);

#endif
