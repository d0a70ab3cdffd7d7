/*
 * Editing a batch: what a processor needs to change what passes. The batch itself never changes;
 * the edits are gathered, and one pass writes them into a new one.
 *
 *     struct batch_edit edit;
 *     batch_edit_begin(&edit, batch);
 *     ... walk edit.request (lib/wire/otlp/otlp.h) and say what changes by splice_insert,
 *         splice_delete and splice_replace (lib/wire/proto/splice.h) on edit.splice ...
 *     return batch_edit_push(&edit, next);
 *
 * One thread. Every begin is followed by exactly one end or push. The struct does not move between.
 */
#ifndef PIPELINE_BATCH_EDIT_H
#define PIPELINE_BATCH_EDIT_H

#include "lib/wire/proto/splice.h"
#include "pipeline/env.h"

struct batch_edit {
    struct batch *batch; /* borrowed */
    struct view request; /* its payload; lives as long as the batch */
    struct splice splice;
    struct arena arena; /* for inserted bytes: kept until the edit ends */
    uint32_t items;     /* of the result: a processor that deletes items subtracts them */
};

/* Begins an edit of a batch whose payload is in one run, as it is for a component that does not
 * say `gathers`. Allocates nothing: a batch that needs no edit costs only its walk. */
void batch_edit_begin(struct batch_edit *edit, struct batch *batch);

/* size bytes, zeroed, for text that is to be inserted, until the edit ends. NULL: no room; the edit
 * has then failed, and the caller need not say so. */
uint8_t *batch_edit_alloc(struct batch_edit *edit, size_t size);

/* Ends the edit. The edited batch with one reference: a new one with the metadata, receipts and
 * series of the old, without its notes; where nothing changed, the old one. NULL: no memory, or the
 * edits take more than 4 MiB and 24 bytes for each byte of the request. */
struct batch *batch_edit_end(struct batch_edit *edit);

/* Ends the edit and hands the result on; the verdict is outlet_push's. RETRY also where
 * batch_edit_end gives NULL. A batch that lost its last item goes nowhere, and the verdict is OK.
 */
enum verdict batch_edit_push(struct batch_edit *edit, struct outlet *next);

#endif
