/*
 * Editing a batch, for processors. The batch itself never changes: edits are collected, and one
 * pass writes them into a new batch.
 *
 *     struct batch_edit edit;
 *     batch_edit_begin(&edit, batch);
 *     ... walk edit.request (lib/wire/otlp/otlp.h) and call splice_insert, splice_delete and
 *         splice_replace (lib/wire/proto/splice.h) on edit.splice ...
 *     return batch_edit_push(&edit, next);
 *
 * One thread. Every begin is followed by exactly one end or push, with the struct at the same
 * address.
 */
#ifndef PIPELINE_BATCH_EDIT_H
#define PIPELINE_BATCH_EDIT_H

#include "lib/wire/proto/splice.h"
#include "pipeline/env.h"

struct batch_edit {
    struct batch *batch; /* borrowed */
    struct view request; /* its payload; valid as long as the batch */
    struct splice splice;
    struct arena arena; /* for inserted bytes, until the edit ends */
    uint32_t items;     /* of the result: a processor that deletes items subtracts them */
};

/* Begins an edit of a batch whose payload is contiguous, as for every component that does not set
 * `gathers`. Allocates nothing: a batch that needs no edit costs only the walk. */
void batch_edit_begin(struct batch_edit *edit, struct batch *batch);

/* Returns size zeroed bytes for text to be inserted, valid until the edit ends. NULL: no memory;
 * the edit is then marked as failed, so the caller need not check. */
uint8_t *batch_edit_alloc(struct batch_edit *edit, size_t size);

/* Ends the edit and returns the edited batch with one reference: a new batch with the old one's
 * metadata, receipts and series but without notes, or the old one if nothing changed. NULL: no
 * memory, or the edits need more than 32 MiB plus 24 bytes for each byte of the request, or than
 * the whole budget. */
struct batch *batch_edit_end(struct batch_edit *edit);

/* The two halves of batch_edit_end, for what looks at the splice in between. */
struct batch *batch_edit_make(const struct batch_edit *edit);
void batch_edit_release(struct batch_edit *edit);

/* Whether an edit that batch_edit_make had no memory for would fail in an idle process too, since
 * it needs more than *most bytes. */
bool batch_edit_never_fits(const struct batch_edit *edit, size_t *most);

/* The arena of an edit, for other work on a batch that results in a new payload. arena_release ends
 * it. */
void batch_work_begin(const struct batch *batch, struct arena *arena);

/* Whether such work, which has failed, would fail in an idle process too, since it needs more than
 * *most bytes. result: bytes of the payload; 0: the work failed before. */
bool batch_work_never_fits(const struct batch *batch, const struct arena *arena, size_t result,
                           size_t *most);

/* Ends the edit and hands the result on; the verdict is outlet_push's. RETRY also where
 * batch_edit_end returns NULL. A batch that lost its last item is not handed on, and the verdict is
 * OK. */
enum verdict batch_edit_push(struct batch_edit *edit, struct outlet *next);

#endif
