/*
 * Batches whose senders have had their answer (`answered` of struct batch): nothing of them can be
 * refused any more. What a processor cannot pass is dropped, counted as lost, and logged. Any
 * thread.
 */
#ifndef PIPELINE_ANSWERED_H
#define PIPELINE_ANSWERED_H

#include "pipeline/env.h"

/* A batch that is answered, with one reference: the same one, or a copy with its notes. NULL: no
 * memory. */
struct batch *answered_batch(struct batch *batch);

/* Where the instance that holds it hands such a batch on. */
struct answered {
    const struct env *env; /* the instance's */
    struct outlet *outlet;
    uint32_t most;                                       /* items of a part; 0: no limit */
    void (*passed)(void *ctx, const struct batch *part); /* NULL: nobody wants to know */
    void *ctx;
};

/* Hands on a batch (taken over), in parts if it has to. Of what a processor rejects, parts get
 * smaller until only the items that it cannot pass are left: these are lost. They get smaller where
 * memory lacks, too, unless parts are under way whose memory comes back (pipeline/pace.h). Where a
 * single item finds none, one part of each outlet at a time takes it past the limit. Calls `passed`
 * for every part that was taken. Returns what was not, to be offered again; NULL: nothing is left.
 */
struct batch *answered_push(const struct answered *to, struct batch *batch);

/* Counts items of an answered batch that env's instance dropped, and tells its receipts and, once
 * a minute, the log. why: an outcome of REJECT. */
void answered_lose(const struct env *env, const struct batch *batch, uint32_t items,
                   const struct outcome *why);

/* Leaves items with these receipts, for which a stop or reload found no room, to the journal or log
 * that keeps all of them; without one they are lost. */
void answered_give_up(const struct env *env, enum signal signal, uint32_t items,
                      struct receipt *const *receipts, size_t count);

#endif
