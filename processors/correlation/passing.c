#include "processors/correlation/passing.h"

/* The remapped request; the same buffer (referenced) where nothing changes. NULL: no memory. */
static struct buffer *remapped(const struct remap *remap, const struct batch *batch)
{
    struct view request = buffer_view(batch->payload);
    struct arena arena;
    struct splice splice;
    arena_init(&arena, ((size_t)4 << 20) + 24 * request.size);
    splice_begin(&splice, request, &arena);
    otlp_remap(batch->signal, request, remap->pairs, remap->count, &splice);
    struct buffer *buffer = NULL;
    if (!splice.failed)
        buffer = splice_any(&splice) ? splice_buffer(&splice, batch->payload)
                                     : buffer_ref(batch->payload);
    arena_release(&arena);
    return buffer;
}

enum verdict passing_consume(const struct remap *remap, struct batch *batch, struct outlet *next)
{
    struct buffer *payload = remapped(remap, batch);
    if (!payload)
        return VERDICT_RETRY;
    if (payload == batch->payload) {
        buffer_unref(payload);
        return outlet_push(next, batch);
    }
    struct batch *copy = batch_with_payload(batch, payload, batch->items);
    enum verdict verdict = copy ? outlet_push(next, copy) : VERDICT_RETRY;
    batch_unref(copy);
    return verdict;
}
