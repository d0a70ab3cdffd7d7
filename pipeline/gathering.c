#include "pipeline/gathering.h"

#include <stdlib.h>

/* The array doubles whenever the count is a power of two. */
bool gathering_add(struct gathering *gathering, struct batch *batch)
{
    if ((gathering->count & (gathering->count - 1)) == 0) {
        size_t capacity = gathering->count ? 2 * gathering->count : 1;
        struct batch **batches = realloc(gathering->batches, capacity * sizeof(struct batch *));
        if (!batches)
            return false;
        gathering->batches = batches;
    }
    gathering->batches[gathering->count++] = batch_ref(batch);
    gathering->items += batch->items;
    gathering->bytes += batch->payload->size;
    return true;
}

static struct buffer *concatenate(const struct gathering *gathering, struct budget *budget)
{
    struct buffer **payloads = malloc(gathering->count * sizeof(struct buffer *));
    for (size_t i = 0; payloads && i < gathering->count; i++)
        payloads[i] = gathering->batches[i]->payload;
    struct buffer *joined = payloads ? buffer_join(payloads, gathering->count) : NULL;
    free(payloads);
    if (joined)
        budget_pledge(budget, joined->size); /* sending it may take as much */
    return joined;
}

struct batch *gathering_merge(const struct gathering *gathering, struct budget *budget)
{
    const struct batch *first = gathering->batches[0];
    struct buffer *payload =
        gathering->count == 1 ? buffer_ref(first->payload) : concatenate(gathering, budget);
    struct batch *merged =
        payload ? batch_with_payload(first, payload, (uint32_t)gathering->items) : NULL;
    if (merged && gathering->count > 1)
        batch_set_client(merged, NULL);
    for (size_t i = 1; merged && i < gathering->count; i++) {
        const struct batch *batch = gathering->batches[i];
        if (batch->recorded > merged->recorded)
            merged->recorded = batch->recorded;
        if (!batch_add_receipts(merged, batch)) {
            batch_unref(merged);
            merged = NULL;
        }
    }
    return merged;
}

void gathering_release(struct gathering *gathering)
{
    for (size_t i = 0; i < gathering->count; i++)
        batch_unref(gathering->batches[i]);
    free(gathering->batches);
    *gathering = (struct gathering){0};
}
