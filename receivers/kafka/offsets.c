#include "receivers/kafka/offsets.h"

#include <assert.h>
#include <stdlib.h>

/* Entries for which there is room at first, and once all have settled. */
enum { OFFSETS_MIN = 64, OFFSETS_KEPT = 16384 };

void offsets_init(struct offsets *offsets, int64_t position, struct budget *budget)
{
    *offsets = (struct offsets){.position = position, .budget = budget};
}

void offsets_release(struct offsets *offsets)
{
    if (offsets->budget)
        budget_give(offsets->budget, offsets->capacity * sizeof *offsets->ring);
    free(offsets->ring);
    offsets->ring = NULL;
    offsets->capacity = 0;
    offsets->first = offsets->next;
}

size_t offsets_size(const struct offsets *offsets)
{
    return (size_t)(offsets->next - offsets->first);
}

bool offsets_is_full(const struct offsets *offsets)
{
    return offsets_size(offsets) >= OFFSETS_MAX;
}

static struct offset_entry *entry_at(const struct offsets *offsets, uint64_t number)
{
    return &offsets->ring[number & (offsets->capacity - 1)];
}

/* Capacities are powers of two. */
static bool offsets_grow(struct offsets *offsets)
{
    struct offsets grown = *offsets;
    grown.capacity = offsets->capacity ? offsets->capacity * 2 : OFFSETS_MIN;
    size_t bytes = grown.capacity * sizeof *grown.ring;
    if (offsets->budget && !budget_use(offsets->budget, bytes))
        return false;
    grown.ring = malloc(bytes);
    if (!grown.ring) {
        if (offsets->budget)
            budget_give(offsets->budget, bytes);
        return false;
    }
    for (uint64_t n = offsets->first; n < offsets->next; n++)
        *entry_at(&grown, n) = *entry_at(offsets, n);
    if (offsets->budget)
        budget_give(offsets->budget, offsets->capacity * sizeof *offsets->ring);
    free(offsets->ring);
    *offsets = grown;
    return true;
}

bool offsets_add(struct offsets *offsets, int64_t offset, int64_t time_ms, uint64_t *number)
{
    if (offsets_is_full(offsets) ||
        (offsets_size(offsets) == offsets->capacity && !offsets_grow(offsets)))
        return false;
    *number = offsets->next++;
    *entry_at(offsets, *number) = (struct offset_entry){offset, (uint64_t)time_ms << 1};
    offsets->position = offset + 1;
    return true;
}

void offsets_skip_to(struct offsets *offsets, int64_t position)
{
    if (position > offsets->position)
        offsets->position = position;
}

void offsets_restart(struct offsets *offsets, int64_t position)
{
    offsets->first = offsets->forgotten = offsets->next;
    offsets->position = position;
}

void offsets_settle(struct offsets *offsets, uint64_t number)
{
    if (number < offsets->forgotten)
        return;
    assert(number >= offsets->first && number < offsets->next);
    entry_at(offsets, number)->state |= 1;
    offsets->settled++;
    while (offsets->first < offsets->next &&
           offset_entry_settled(entry_at(offsets, offsets->first)))
        offsets->first++;
    if (offsets->first == offsets->next && offsets->capacity > OFFSETS_KEPT)
        offsets_release(offsets);
}

int64_t offsets_to_commit(const struct offsets *offsets)
{
    return offsets_size(offsets) ? entry_at(offsets, offsets->first)->offset : offsets->position;
}

int64_t offsets_oldest_ms(const struct offsets *offsets)
{
    return offsets_size(offsets) ? (int64_t)entry_at(offsets, offsets->first)->state >> 1 : -1;
}
