/*
 * How far the delivery of one batch got, where its exporter sends it in several requests. Parts
 * that the backend has accepted are not sent again, across retries and reloads, and, for a batch in
 * the journal, across a crash. Belongs to one queued batch and to the thread that sends it.
 */
#ifndef PIPELINE_PROGRESS_H
#define PIPELINE_PROGRESS_H

#include "lib/base/bytes.h"
#include "lib/base/verdict.h"

#include <stdbool.h>

struct batch;

/* A position in a batch. An item is whatever the exporter counts, in an order that depends on the
 * batch alone. */
struct progress_mark {
    uint64_t items; /* number of leading items that are finished: delivered, or refused for good */
    uint64_t samples; /* finished samples at the start of the next item */
    uint64_t beyond;  /* bit n: item number items + n is finished too */
};

struct progress {
    struct progress_mark mark;
    bool in_parts;  /* sent in several requests: other batches are sent while it waits */
    bool yielded;   /* set by a send that stopped to let others go first: more is left to send */
    bool delivered; /* the backend accepted some of it */
    uint32_t lost;  /* what the backend refused for good, in the exporter's count */
    struct outcome refusal; /* the last such refusal */
    size_t
        part_bytes; /* the exporter's own: size limit of parts, after a refusal; 0: as configured */
    unsigned put_off; /* the exporter's own: how often the current part was put off */

    const struct batch *batch; /* the fields from here on are set for each call */
    const char *exporter;
    bool (*crowded)(void *ctx);
    void *ctx;
    void (*stalls)(void *stall_ctx, const struct batch *batch, const struct outcome *why);
    void *stall_ctx;
    uint64_t key; /* of batch and exporter; 0: not known yet */
    bool recalled;
};

/* One of several batches that an exporter sends together: send_together of its component begins
 * send_on for all of them and waits for all at once; send_on continues what is not finished then.
 * An exporter without it gets each batch by itself. */
struct joint_send {
    struct batch *batch;
    struct progress *progress;
    bool finished; /* set by the exporter: outcome is what send_on would have returned */
    struct outcome outcome;
};

/* Loads the mark that an earlier process kept; an exporter calls it before it relies on the
 * mark. */
void progress_recall(struct progress *progress);

/* Keeps the mark; an exporter calls it after moving the mark, before it sends the next part. Blocks
 * until the journal, if there is one, has written it. */
void progress_keep(struct progress *progress);

/* Counts the attempt as failed although it goes on, because the backend has not answered for long:
 * for an exporter whose attempts have no time limit. To be repeated while that lasts. */
void progress_stalls(const struct progress *progress, const struct outcome *why);

/* Whether other batches wait for this one's worker. */
bool progress_is_crowded(const struct progress *progress);

/* Advances mark->items over finished items in `beyond`. */
void progress_mark_settle(struct progress_mark *mark);

#endif
