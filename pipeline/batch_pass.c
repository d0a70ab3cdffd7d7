#include "pipeline/batch_pass.h"

/* Samples of a profiles request. */
static uint32_t samples_of(struct view request)
{
    struct otlp_walk walk;
    uint32_t samples = 0;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step != OTLP_ITEM)
            continue;
        struct proto_scan scan = proto_scan_begin(walk.item.bytes);
        struct proto_field field;
        while (proto_scan_next(&scan, &field))
            samples += field.number == 2;
    }
    return samples;
}

/* A batch whose entries have their Resource in front: the same one where that is so. */
static struct batch *in_order(struct batch *batch)
{
    struct view request = buffer_view(batch->payload);
    if (request_in_order(request))
        return batch_ref(batch);
    struct arena arena;
    arena_init(&arena, 3 * request.size + 4096);
    struct view ordered = request_put_in_order(request, &arena);
    struct buffer *payload =
        ordered.data ? buffer_new(ordered.size, batch->payload->budget, true) : NULL;
    if (payload)
        memcpy(payload->data, ordered.data, ordered.size);
    arena_release(&arena);
    return payload ? batch_with_payload(batch, payload, batch->items) : NULL;
}

static enum pass_result run_ordered(struct batch *batch, struct request_edit *edit,
                                    struct batch **result)
{
    struct batch_edit pass;
    batch_edit_begin(&pass, batch);
    edit->signal = batch->signal;
    bool done = request_edit(edit, pass.request, &pass.splice);
    bool aborted = !done && !pass.splice.failed;
    if (aborted)
        pass.splice.failed = true;
    pass.items -= edit->items_dropped < pass.items ? edit->items_dropped : pass.items;
    bool emptied = pass.items == 0 && batch->items > 0;
    *result = batch_edit_end(&pass);
    if (!*result)
        return aborted ? PASS_ABORTED : PASS_NO_ROOM;
    if (edit->items_dropped && batch->signal == SIGNAL_PROFILES && *result != batch)
        (*result)->samples = samples_of(buffer_view((*result)->payload));
    if (!emptied)
        return PASS_DONE;
    batch_unref(*result);
    *result = NULL;
    return PASS_EMPTY;
}

enum pass_result batch_pass_run(struct batch *batch, struct request_edit *edit,
                                struct batch **result)
{
    struct batch *ordered = in_order(batch);
    enum pass_result done = PASS_NO_ROOM;
    *result = NULL;
    if (ordered)
        done = run_ordered(ordered, edit, result);
    batch_unref(ordered);
    return done;
}

enum verdict batch_pass(struct batch *batch, struct request_edit *edit, struct outlet *next)
{
    struct batch *result;
    if (batch->encoding != BATCH_OTLP)
        return outlet_push(next, batch);
    switch (batch_pass_run(batch, edit, &result)) {
    case PASS_EMPTY:
        return VERDICT_OK;
    case PASS_ABORTED:
        return VERDICT_REJECT;
    case PASS_NO_ROOM:
        return VERDICT_RETRY;
    case PASS_DONE:
        break;
    }
    enum verdict verdict = outlet_push(next, result);
    batch_unref(result);
    return verdict;
}
