/*
 * Small segments of a process that came within a moment of one another made one: of requests with
 * a span or two, what stands beside the spans would take half as much as they do. Under the owner's
 * lock.
 *
 * Only what is alike is gathered: the same resource and scopes, outlet and metadata, and no
 * receipts, which follow the spans of their own request alone. Spans keep their order; among other
 * segments they stand where the first of them came. They wait from the newest's arrival on, so
 * GATHER_WITHIN longer at most and never less.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_GATHER_H
#define PROCESSORS_CORRELATION_HOLD_GATHER_H

#include "lib/base/clock.h"
#include "processors/correlation/hold/hold.h"

#define GATHER_WITHIN (100 * NS_PER_MS)
enum {
    GATHER_SMALL = 2048, /* bytes of memory of a small segment, at most */
    GATHER_EACH = 32     /* so many are gathered at once, or fewer that the time ends */
};

/* A segment of the process is about to be put into the hold: those before it are gathered, if their
 * time has come. Without budget or memory for that, segments stay as they are. */
void gather_before(struct hold *hold, struct process *process, uint64_t mono);

/* A segment was put into the hold, and may be gathered at once: its address must not be used any
 * more. */
void gather_after(struct hold *hold, struct segment *segment);

#endif
