#include "pipeline/batch_edit.h"

/* What a pass over a request may take at most: no more than there is when all else is idle. */
static size_t most_memory(const struct batch *batch)
{
    size_t empty = budget_empty(batch->payload->budget);
    size_t most = ((size_t)32 << 20) + 24 * buffer_view(batch->payload).size;
    return most < empty ? most : empty;
}

void batch_edit_begin(struct batch_edit *edit, struct batch *batch)
{
    edit->batch = batch;
    edit->request = buffer_view(batch->payload);
    edit->items = batch->items;
    arena_init(&edit->arena, most_memory(batch));
    arena_charge(&edit->arena, batch->payload->budget, budget_use,
                 ARENA_SMALL + edit->request.size);
    splice_begin(&edit->splice, edit->request, &edit->arena);
}

uint8_t *batch_edit_alloc(struct batch_edit *edit, size_t size)
{
    uint8_t *room = arena_alloc(&edit->arena, size);
    edit->splice.failed = edit->splice.failed || !room;
    return room;
}

bool batch_edit_never_fits(const struct batch_edit *edit, size_t *most)
{
    const struct arena *arena = &edit->arena;
    const size_t empty = budget_empty(edit->batch->payload->budget);
    size_t result = edit->splice.failed ? 0 : splice_size(&edit->splice);
    size_t all = edit->request.size + arena->taken + arena->lacked + result;
    bool at_cap = edit->splice.failed && arena->full && !arena->starved;
    *most = at_cap ? arena->cap : empty;
    return at_cap || all > empty;
}

struct batch *batch_edit_make(const struct batch_edit *edit)
{
    struct batch *batch = edit->batch, *edited = NULL;
    if (!edit->splice.failed && !splice_any(&edit->splice)) {
        edited = batch_ref(batch);
    } else if (!edit->splice.failed) {
        struct buffer *payload = splice_buffer(&edit->splice, batch->payload);
        edited = payload ? batch_with_payload(batch, payload, edit->items) : NULL;
    }
    return edited;
}

void batch_edit_release(struct batch_edit *edit)
{
    arena_release(&edit->arena);
}

struct batch *batch_edit_end(struct batch_edit *edit)
{
    struct batch *edited = batch_edit_make(edit);
    batch_edit_release(edit);
    return edited;
}

enum verdict batch_edit_push(struct batch_edit *edit, struct outlet *next)
{
    struct batch *edited = batch_edit_end(edit);
    if (!edited)
        return VERDICT_RETRY;
    bool emptied = edit->items == 0 && edit->batch->items > 0;
    enum verdict verdict = emptied ? VERDICT_OK : outlet_push(next, edited);
    batch_unref(edited);
    return verdict;
}
