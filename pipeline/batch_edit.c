#include "pipeline/batch_edit.h"

/* What a pass over a request may take at most: no more than there is when all else is idle. */
static size_t most_memory(const struct batch *batch)
{
    size_t empty = budget_empty(batch->payload->budget);
    size_t most = ((size_t)32 << 20) + 24 * buffer_view(batch->payload).size;
    return most < empty ? most : empty;
}

static bool charge_by_force(struct budget *budget, size_t n)
{
    budget_force(budget, n);
    return true;
}

void batch_work_begin(const struct batch *batch, struct arena *arena)
{
    /* Of a batch that a processor held, the work was not charged when it was accepted. */
    size_t covered = ARENA_SMALL + (batch->answered ? 0 : buffer_view(batch->payload).size);
    arena_init(arena, most_memory(batch));
    arena_charge(arena, batch->payload->budget, batch->forced ? charge_by_force : budget_use,
                 covered);
}

void batch_edit_begin(struct batch_edit *edit, struct batch *batch)
{
    edit->batch = batch;
    edit->request = buffer_view(batch->payload);
    edit->items = batch->items;
    batch_work_begin(batch, &edit->arena);
    splice_begin(&edit->splice, edit->request, &edit->arena);
}

uint8_t *batch_edit_alloc(struct batch_edit *edit, size_t size)
{
    uint8_t *room = arena_alloc(&edit->arena, size);
    edit->splice.failed = edit->splice.failed || !room;
    return room;
}

bool batch_work_never_fits(const struct batch *batch, const struct arena *arena, size_t result,
                           size_t *most)
{
    const size_t empty = budget_empty(batch->payload->budget);
    size_t all = buffer_view(batch->payload).size + arena->taken + arena->lacked + result;
    size_t covered = arena->taken < arena->covered ? arena->taken : arena->covered;
    /* What is taken of the intake's charge for work is resident beyond that charge, too. */
    all += batch->answered ? 0 : covered;
    bool at_cap = result == 0 && arena->full && !arena->starved;
    *most = at_cap ? arena->cap : empty;
    return at_cap || all > empty;
}

bool batch_edit_never_fits(const struct batch_edit *edit, size_t *most)
{
    size_t result = edit->splice.failed ? 0 : splice_size(&edit->splice);
    return batch_work_never_fits(edit->batch, &edit->arena, result, most);
}

/* Whether what the request grows by is small and within the limit as far as that is charged: what
 * is resident besides must not keep held batches from getting on, in small parts. */
static bool grows_little(const struct batch_edit *edit, size_t growth)
{
    const struct budget *budget = edit->batch->payload->budget;
    if (growth > ARENA_SMALL || !edit->batch->answered || !budget)
        return growth <= ARENA_SMALL;
    return budget_used(budget) + growth + budget->reserve / 2 <= budget->limit;
}

/* The result is charged by force, for what is accepted must get on; but not what it grows by. */
static bool has_room(const struct batch_edit *edit)
{
    struct budget *budget = edit->batch->payload->budget;
    size_t size = splice_size(&edit->splice), before = edit->request.size;
    size_t growth = size > before ? size - before : 0;
    if (growth == 0 || edit->batch->forced || grows_little(edit, growth))
        return true;
    if (!budget_grow(budget, growth))
        return false;
    budget_give(budget, growth);
    return true;
}

struct batch *batch_edit_make(const struct batch_edit *edit)
{
    struct batch *batch = edit->batch, *edited = NULL;
    if (!edit->splice.failed && !splice_any(&edit->splice)) {
        edited = batch_ref(batch);
    } else if (!edit->splice.failed && has_room(edit)) {
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
