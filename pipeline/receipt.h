/*
 * A receipt follows the data of one accepted request: every batch made from it holds a reference.
 * It settles when the last reference is dropped; its owner then learns how many items were not
 * delivered. Any thread.
 */
#ifndef PIPELINE_RECEIPT_H
#define PIPELINE_RECEIPT_H

#include "lib/base/verdict.h"
#include "pipeline/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct receipt;

/* Called once, from the thread that drops the last reference. worst: the most severe outcome
 * reported, OK if none was. */
typedef void receipt_settled_fn(void *ctx, const struct outcome *worst);

/* Makes a receipt with one reference. settled may be NULL. NULL: no memory. */
struct receipt *receipt_new(receipt_settled_fn *settled, void *ctx);

struct receipt *receipt_ref(struct receipt *receipt);
void receipt_unref(struct receipt *receipt); /* may be NULL */

/* The same for a reference of a batch that is an exporter's alone; exporter: its key
 * (pipeline/addressees.h); 0: as above. */
struct receipt *receipt_ref_of(struct receipt *receipt, uint64_t exporter);
void receipt_unref_of(struct receipt *receipt, uint64_t exporter);

/* How the data of a receipt are stored. The functions get the receipt's ctx; any thread. */
struct receipt_store {
    /* Keeps how far a batch's delivery got (pipeline/progress.h); blocks until written. */
    void (*keep)(void *ctx, uint64_t key, const struct progress_mark *mark);
    /* Reads what an earlier process kept last. False: nothing. */
    bool (*recall)(void *ctx, uint64_t key, struct progress_mark *mark);
    /* Whether another process may be delivering the data by now; NULL: never. */
    bool (*is_elsewhere)(void *ctx);
    /* An exporter has all of the data, while others do not. NULL: of no interest. */
    void (*delivered)(void *ctx, uint64_t exporter);
    bool found; /* an earlier process left the data */
};

/* Marks the receipt's data as being in the journal, so that a stop that leaves them undelivered
 * does not lose them. Only before the receipt is shared. The store is static. */
void receipt_set_durable(struct receipt *receipt, const struct receipt_store *store);
bool receipt_is_durable(const struct receipt *receipt);

/* The same of one that is beside others in its batches, and leaves all of that to them. */
void receipt_set_neutral(struct receipt *receipt);

/* Lets a durable receipt's store know which of so many exporters have all of the data, unless there
 * is no memory for that. Only before the receipt is shared. */
void receipt_share_out(struct receipt *receipt, size_t exporters);
bool receipt_is_shared_out(const struct receipt *receipt);

/* Marks the receipt of a client that waits for the backend's answer, but not for what a processor
 * holds, which has the receipt `held` instead (takes over a reference; NULL: none). Only before the
 * receipt is shared. */
void receipt_set_awaited(struct receipt *receipt, struct receipt *held);
bool receipt_is_awaited(const struct receipt *receipt);

/* The receipt, borrowed, for a part of its data that a processor holds; NULL: it needs none. */
struct receipt *receipt_of_held(struct receipt *receipt);

/* For durable receipts: call the store's functions; tell whether there may be something to
 * recall. */
void receipt_keep(struct receipt *receipt, uint64_t key, const struct progress_mark *mark);
bool receipt_recall(struct receipt *receipt, uint64_t key, struct progress_mark *mark);
bool receipt_is_recalled(const struct receipt *receipt);

/* Whether the data must not be sent any more, since another process has them. */
bool receipt_is_elsewhere(const struct receipt *receipt);

/* Notes that items of the receipt were not delivered. The most severe outcome is kept: RETRY (asks
 * for the data again; one caused by a stop, or a lane's end, comes first), then REJECT, then OK;
 * the `rejected` items of OK outcomes add up. receipt_note_of is for the items of an exporter's
 * batch, as above. */
void receipt_note(struct receipt *receipt, const struct outcome *outcome);
void receipt_note_of(struct receipt *receipt, const struct outcome *outcome, uint64_t exporter);

/* Whether data with this outcome are left to another process, which sends them again. */
bool receipt_is_left(const struct outcome *outcome);

#endif
