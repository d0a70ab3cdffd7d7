#include "receivers/kafka/record_parts.h"

#include <stdlib.h>

void record_parts_init(struct record_parts *parts, struct budget *budget)
{
    *parts = (struct record_parts){.budget = budget};
}

void record_parts_release(struct record_parts *parts)
{
    while (parts->count)
        record_parts_close(parts, &parts->open[0]);
}

static struct partial_record *record_parts_find(struct record_parts *parts, uint64_t id)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->open[i].id == id)
            return &parts->open[i];
    return NULL;
}

static struct partial_record *oldest_of(struct record_parts *parts)
{
    struct partial_record *oldest = NULL;
    for (size_t i = 0; i < parts->count; i++)
        if (!oldest || parts->open[i].since < oldest->since)
            oldest = &parts->open[i];
    return oldest;
}

static void note_since(struct record_parts *parts)
{
    const struct partial_record *oldest = oldest_of(parts);
    atomic_store_explicit(&parts->since, oldest ? oldest->since : 0, memory_order_relaxed);
}

static struct partial_record *record_parts_open(struct record_parts *parts,
                                                const struct native_part *part, uint64_t time)
{
    struct partial_record *partial = &parts->open[parts->count++];
    *partial = (struct partial_record){.id = part->id, .count = part->count, .since = time};
    bytes_init(&partial->value, budget_cap(parts->budget, SIZE_MAX), parts->budget);
    note_since(parts);
    return partial;
}

struct partial_record *record_parts_replaced(struct record_parts *parts,
                                             const struct native_part *part)
{
    struct partial_record *partial = record_parts_find(parts, part->id);
    return partial && part->number == 1 && part->count != partial->count ? partial : NULL;
}

static bool record_parts_is_done(const struct record_parts *parts, uint64_t id)
{
    for (size_t i = 0; i < PARTS_DONE; i++)
        if (parts->done[i] == id)
            return true;
    return false;
}

/* What a part is that neither begins a value nor continues one. */
static enum record_parts_result record_parts_odd(const struct record_parts *parts,
                                                 const struct native_part *part,
                                                 const struct partial_record *partial)
{
    bool repeated = partial ? part->count == partial->count && part->number <= partial->got
                            : part->number > 1 && record_parts_is_done(parts, part->id);
    return repeated ? PARTS_REPEATED : PARTS_STRAY;
}

enum record_parts_result record_parts_add(struct record_parts *parts,
                                          const struct native_part *part, struct view value,
                                          uint64_t time, struct partial_record **found)
{
    struct partial_record *partial = record_parts_find(parts, part->id);
    bool begins = !partial && part->number == 1 && parts->count < PARTS_OPEN;
    bool continues = partial && part->count == partial->count && part->number == partial->got + 1;
    if (!begins && !continues)
        return record_parts_odd(parts, part, partial);
    if (!partial)
        partial = record_parts_open(parts, part, time);
    if (bytes_append_view(&partial->value, value) != BYTES_OK) {
        if (partial->got == 0)
            record_parts_close(parts, partial);
        return PARTS_NO_MEMORY;
    }
    partial->last = value.size;
    partial->got++;
    *found = partial;
    if (partial->got < partial->count)
        return PARTS_MORE;
    parts->done[parts->done_at++ % PARTS_DONE] = part->id;
    return PARTS_WHOLE;
}

void record_parts_undo(struct record_parts *parts, struct partial_record *partial)
{
    if (partial->got == partial->count)
        parts->done[--parts->done_at % PARTS_DONE] = 0;
    partial->value.size -= partial->last;
    if (--partial->got == 0)
        record_parts_close(parts, partial);
}

bool partial_record_note(struct partial_record *partial, uint64_t number)
{
    uint64_t *numbers =
        realloc(partial->numbers, (partial->number_count + (size_t)1) * sizeof *numbers);
    if (!numbers)
        return false;
    partial->numbers = numbers;
    numbers[partial->number_count++] = number;
    return true;
}

void record_parts_close(struct record_parts *parts, struct partial_record *partial)
{
    bytes_release(&partial->value);
    free(partial->numbers);
    *partial = parts->open[--parts->count];
    note_since(parts);
}

struct partial_record *record_parts_stale(struct record_parts *parts, uint64_t before)
{
    struct partial_record *oldest = oldest_of(parts);
    return oldest && (parts->count == PARTS_OPEN || oldest->since < before) ? oldest : NULL;
}
