/*
 * Compresses held spans in memory while the hold is more than half full, the oldest segments first.
 * zstd makes spans of one service five to six times smaller.
 */
#ifndef PROCESSORS_CORRELATION_RELEASE_PACK_H
#define PROCESSORS_CORRELATION_RELEASE_PACK_H

#include "processors/correlation/correlation.h"

/* Compresses some segments if the hold is full enough. Without the lock. */
void pack_some(struct correlation *self);

/* Returns the messages of a segment from which a span left, inflated into `size` malloc'ed bytes.
 * NULL: no memory. Only while one of its spans is not written yet. */
uint8_t *pack_open(const struct segment *segment);

#endif
