#include "receivers/kafka/ledger.h"

#include <assert.h>
#include <stdlib.h>

enum { LEDGER_MIN = 64 };

void ledger_init(struct ledger *ledger, int64_t position, struct budget *budget)
{
    *ledger = (struct ledger){.position = position, .budget = budget};
}

void ledger_release(struct ledger *ledger)
{
    if (ledger->budget)
        budget_give(ledger->budget, ledger->capacity * sizeof *ledger->ring);
    free(ledger->ring);
    ledger->ring = NULL;
    ledger->capacity = 0;
    ledger->first = ledger->next;
}

size_t ledger_size(const struct ledger *ledger)
{
    return (size_t)(ledger->next - ledger->first);
}

bool ledger_is_full(const struct ledger *ledger)
{
    return ledger_size(ledger) >= LEDGER_MAX;
}

static struct ledger_entry *entry_at(const struct ledger *ledger, uint64_t number)
{
    return &ledger->ring[number & (ledger->capacity - 1)];
}

/* Capacities are powers of two. */
static bool ledger_grow(struct ledger *ledger)
{
    struct ledger grown = *ledger;
    grown.capacity = ledger->capacity ? ledger->capacity * 2 : LEDGER_MIN;
    size_t bytes = grown.capacity * sizeof *grown.ring;
    if (ledger->budget && !budget_use(ledger->budget, bytes))
        return false;
    grown.ring = malloc(bytes);
    if (!grown.ring) {
        if (ledger->budget)
            budget_give(ledger->budget, bytes);
        return false;
    }
    for (uint64_t n = ledger->first; n < ledger->next; n++)
        *entry_at(&grown, n) = *entry_at(ledger, n);
    if (ledger->budget)
        budget_give(ledger->budget, ledger->capacity * sizeof *ledger->ring);
    free(ledger->ring);
    *ledger = grown;
    return true;
}

bool ledger_add(struct ledger *ledger, int64_t offset, int64_t time_ms, uint64_t *number)
{
    if (ledger_is_full(ledger) || (ledger_size(ledger) == ledger->capacity && !ledger_grow(ledger)))
        return false;
    *number = ledger->next++;
    *entry_at(ledger, *number) = (struct ledger_entry){.offset = offset, .time_ms = time_ms};
    ledger->position = offset + 1;
    return true;
}

void ledger_settle(struct ledger *ledger, uint64_t number)
{
    assert(number >= ledger->first && number < ledger->next);
    entry_at(ledger, number)->settled = true;
    ledger->settled++;
    while (ledger->first < ledger->next && entry_at(ledger, ledger->first)->settled)
        ledger->first++;
}

int64_t ledger_commit(const struct ledger *ledger)
{
    return ledger_size(ledger) ? entry_at(ledger, ledger->first)->offset : ledger->position;
}

int64_t ledger_oldest_ms(const struct ledger *ledger)
{
    return ledger_size(ledger) ? entry_at(ledger, ledger->first)->time_ms : -1;
}
