#include "pipeline/progress.h"

#include "pipeline/batch.h"

#include <string.h>

static uint64_t progress_mix(uint64_t hash, struct view text)
{
    const uint8_t *at = text.data;
    size_t left = text.size;
    for (; left >= 8; left -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    for (; left > 0; left--, at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    return (hash ^ text.size) * UINT64_C(0x9e3779b97f4a7c15);
}

/* A key that is the same for the same data on the way to the same exporter, in any process. */
static uint64_t progress_key_of(const struct batch *batch, const char *exporter)
{
    uint64_t hash = progress_mix(UINT64_C(0xcbf29ce484222325), view_of(exporter));
    for (size_t i = 0; batch->series && i < batch->series->count; i++)
        hash = progress_mix(progress_mix(hash, batch->series->labels[i].name),
                            batch->series->labels[i].value);
    return progress_mix(hash, buffer_view(batch->payload)) | 1;
}

/* Returns the receipt under which progress is kept, if the batch is a single request's. NULL:
 * none. */
static struct receipt *receipt_of(struct progress *progress)
{
    const struct batch *batch = progress->batch;
    if (!batch || batch->receipt_count != 1 || batch->payload->parts ||
        !receipt_is_durable(batch->receipts[0]))
        return NULL;
    if (!progress->key)
        progress->key = progress_key_of(batch, progress->exporter);
    return batch->receipts[0];
}

void progress_recall(struct progress *progress)
{
    if (progress->recalled)
        return;
    progress->recalled = true;
    if (!progress->batch || progress->batch->receipt_count != 1 ||
        !receipt_is_recalled(progress->batch->receipts[0]))
        return;
    struct receipt *receipt = receipt_of(progress);
    if (receipt && receipt_recall(receipt, progress->key, &progress->mark))
        progress->delivered = true;
}

void progress_keep(struct progress *progress)
{
    struct receipt *receipt = receipt_of(progress);
    if (receipt)
        receipt_keep(receipt, progress->key, &progress->mark);
}

void progress_stalls(const struct progress *progress, const struct outcome *why)
{
    if (progress->stalls)
        progress->stalls(progress->stall_ctx, progress->batch, why);
}

bool progress_is_crowded(const struct progress *progress)
{
    return progress->crowded && progress->crowded(progress->ctx);
}

void progress_mark_settle(struct progress_mark *mark)
{
    while (mark->beyond & 1) {
        mark->beyond >>= 1;
        mark->items++;
        mark->samples = 0;
    }
}
