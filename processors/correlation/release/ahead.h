/*
 * While the budget has no room for what leaves the hold, one batch at a time goes nevertheless, so
 * that a release never stands still for ever. The next one may follow once all queues have
 * delivered it or given it up. Shared by an instance and its lanes.
 */
#ifndef PROCESSORS_CORRELATION_RELEASE_AHEAD_H
#define PROCESSORS_CORRELATION_RELEASE_AHEAD_H

#include "processors/correlation/correlation.h"

/* Returns a receipt for the batch that may go now; until it settles, no other may. with_others: the
 * batch has receipts of its own, and what holds of all of them must still hold. NULL: not now.
 * Without the lock. */
struct receipt *ahead_begin(struct correlation *self, bool with_others);

/* At the end: a batch may still be on its way. */
void ahead_release(struct correlation *self);

#endif
