/*
 * While the budget has no room for what leaves the hold, a little goes nevertheless, so that a
 * release never stands still: batches of AHEAD_MAX bytes together, of different tenants if need be.
 * More may follow as all queues have delivered them or given them up. Shared by an instance and its
 * lanes.
 */
#ifndef PROCESSORS_CORRELATION_RELEASE_AHEAD_H
#define PROCESSORS_CORRELATION_RELEASE_AHEAD_H

#include "processors/correlation/correlation.h"
#include "processors/correlation/release/release_write.h"

/* Bytes of messages. */
enum { AHEAD_MAX = RELEASE_PART_SHORT };

/* Returns a receipt for a batch of n bytes that may go now; they count until it settles. One batch
 * alone may be larger than AHEAD_MAX. with_others: the batch has receipts of its own, and what
 * holds of all of them must still hold. NULL: not now. Without the lock. */
struct receipt *ahead_begin(struct correlation *self, size_t n, bool with_others);

/* At the end: a batch may still be on its way. */
void ahead_release(struct correlation *self);

#endif
