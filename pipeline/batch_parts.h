/*
 * Cuts an OTLP batch into parts, one after another, in time that depends on what they have and not
 * on how many there are. One thread.
 */
#ifndef PIPELINE_BATCH_PARTS_H
#define PIPELINE_BATCH_PARTS_H

#include "lib/wire/otlp/otlp_split.h"
#include "pipeline/batch.h"

struct batch_parts {
    struct batch *batch;  /* one reference */
    struct buffer *whole; /* its payload in one run; NULL: not looked at yet */
    struct otlp_splitter splitter;
    uint32_t left; /* items that are not in a part yet */
    bool begun;    /* some are */
    bool whole_failed;
    uint32_t left_before; /* `left` and `begun` before the last part */
    bool begun_before;
};

/* Takes a reference to the batch. */
void batch_parts_begin(struct batch_parts *parts, struct batch *batch);
void batch_parts_end(struct batch_parts *parts);

/* Cuts off a part of at most max_items items and max_bytes bytes (0: no limit; at least one item).
 * It has the batch's receipts, and its bytes are charged even past the limit. NULL: what is left is
 * one part, or not OTLP, or no memory. */
struct batch *batch_parts_next(struct batch_parts *parts, uint32_t max_items, size_t max_bytes);

/* Takes back the part that was cut off last. */
void batch_parts_undo(struct batch_parts *parts);

/* What is left: the batch itself if no part was cut off. NULL: no memory. */
struct batch *batch_parts_rest(struct batch_parts *parts);

/* Cuts a batch into a list of parts; once these have as many bytes as `enough`, the rest is the
 * last. NULL: it is one part, or no memory. */
struct batch_part *batch_cut(struct batch *batch, uint32_t max_items, size_t max_bytes,
                             size_t enough);

#endif
