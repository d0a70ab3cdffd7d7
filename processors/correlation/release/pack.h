/*
 * Held spans compressed in memory while the hold is more than half full: the oldest segments first,
 * for they are the last to be read. zstd makes spans of the same service five to six times smaller.
 */
#ifndef PROCESSORS_CORRELATION_RELEASE_PACK_H
#define PROCESSORS_CORRELATION_RELEASE_PACK_H

#include "processors/correlation/correlation.h"

/* Compresses some segments where the hold asks for it. Without the lock. */
void pack_some(struct correlation *self);

/* The messages of a segment of which a span left, in memory of its own: size bytes, to be freed.
 * NULL: no memory. Only while a span of it is not written yet. */
uint8_t *pack_open(const struct segment *segment);

#endif
