/*
 * How far the delivery of one batch got, where its exporter sends it in several requests: what the
 * backend has is not sent again, over retries and reloads, and where the batch stands in the
 * journal, over a crash. It belongs to one queued batch and to the one thread that sends it.
 */
#ifndef PIPELINE_PROGRESS_H
#define PIPELINE_PROGRESS_H

#include "lib/base/bytes.h"
#include "lib/base/verdict.h"

#include <stdbool.h>

struct batch;

/* A place in a batch. An item is whatever the exporter counts, in an order that the batch alone
 * determines. */
struct progress_mark {
    uint64_t items; /* from the batch's start that are done with: delivered, or refused for good */
    uint64_t samples; /* of the next item, from its start */
    uint64_t beyond;  /* bit n: item number items + n is done with too */
};

struct progress {
    struct progress_mark mark;
    bool in_parts;          /* it goes in several requests: while it waits others have its turn */
    bool yielded;           /* set by a send that stopped for others' sake: there is more to send */
    bool delivered;         /* the backend took something of it */
    uint32_t lost;          /* what it refused for good, as the exporter counts */
    struct outcome refusal; /* the last one of those */
    size_t part_bytes;      /* the exporter's own: parts are to be smaller; 0: as configured */
    unsigned put_off;       /* the exporter's own: how often the part at hand was */

    const struct batch *batch; /* the rest is set for each call */
    const char *exporter;
    bool (*crowded)(void *ctx);
    void *ctx;
    uint64_t key; /* of batch and exporter; 0: not known yet */
    bool recalled;
};

/* Takes up what an earlier process noted; by an exporter, before it relies on the mark. */
void progress_recall(struct progress *progress);

/* Keeps the mark; by an exporter that moved it on, before it sends the next part. Blocks until the
 * journal has it, where there is one. */
void progress_keep(struct progress *progress);

/* Whether others wait for the turn that this batch has. */
bool progress_is_crowded(const struct progress *progress);

/* Moves the mark's start over the items that are done with. */
void progress_mark_settle(struct progress_mark *mark);

#endif
