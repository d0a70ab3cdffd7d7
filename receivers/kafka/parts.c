#include "receivers/kafka/parts.h"

#include <stdlib.h>

void parts_init(struct parts *parts, struct budget *budget)
{
    *parts = (struct parts){.budget = budget};
}

void parts_release(struct parts *parts)
{
    while (parts->count)
        parts_close(parts, &parts->open[0]);
}

static struct parted *parts_find(struct parts *parts, uint64_t id)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->open[i].id == id)
            return &parts->open[i];
    return NULL;
}

static struct parted *parts_open(struct parts *parts, const struct native_part *part, uint64_t time)
{
    struct parted *parted = &parts->open[parts->count++];
    *parted = (struct parted){.id = part->id, .count = part->count, .since = time};
    bytes_init(&parted->value, budget_cap(parts->budget, SIZE_MAX), parts->budget);
    return parted;
}

enum parts_result parts_add(struct parts *parts, const struct native_part *part, struct view value,
                            uint64_t time, struct parted **found)
{
    struct parted *parted = parts_find(parts, part->id);
    if (!parted && (part->number != 1 || parts->count == PARTS_OPEN))
        return PARTS_STRAY;
    if (parted && part->number != parted->got + 1)
        return PARTS_STRAY;
    if (!parted)
        parted = parts_open(parts, part, time);
    if (bytes_append_view(&parted->value, value) != BYTES_OK) {
        if (parted->got == 0)
            parts_close(parts, parted);
        return PARTS_NO_MEMORY;
    }
    parted->last = value.size;
    parted->got++;
    *found = parted;
    return parted->got == parted->count ? PARTS_WHOLE : PARTS_MORE;
}

void parts_undo(struct parts *parts, struct parted *parted)
{
    parted->value.size -= parted->last;
    if (--parted->got == 0)
        parts_close(parts, parted);
}

bool parted_note(struct parted *parted, uint64_t number)
{
    uint64_t *numbers =
        realloc(parted->numbers, (parted->number_count + (size_t)1) * sizeof *numbers);
    if (!numbers)
        return false;
    parted->numbers = numbers;
    numbers[parted->number_count++] = number;
    return true;
}

void parts_close(struct parts *parts, struct parted *parted)
{
    bytes_release(&parted->value);
    free(parted->numbers);
    *parted = parts->open[--parts->count];
}

struct parted *parts_stale(struct parts *parts, uint64_t before)
{
    struct parted *oldest = NULL;
    for (size_t i = 0; i < parts->count; i++)
        if (!oldest || parts->open[i].since < oldest->since)
            oldest = &parts->open[i];
    return oldest && (parts->count == PARTS_OPEN || oldest->since < before) ? oldest : NULL;
}
