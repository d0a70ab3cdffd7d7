#include "processors/correlation/known/recent.h"

#include "processors/correlation/known/span_index.h"

#include <stdlib.h>

enum { ENTRIES = 1 << 14 };

void recent_init(struct recent *recent, uint64_t seed, struct budget *budget)
{
    *recent = (struct recent){.seed = seed, .budget = budget};
}

void recent_release(struct recent *recent)
{
    if (recent->entries)
        budget_give(recent->budget, ENTRIES * sizeof *recent->entries);
    free(recent->entries);
    recent->entries = NULL;
}

static bool recent_allocate(struct recent *recent)
{
    if (recent->entries)
        return true;
    if (!budget_take(recent->budget, ENTRIES * sizeof *recent->entries))
        return false;
    recent->entries = calloc(ENTRIES, sizeof *recent->entries);
    if (!recent->entries)
        budget_give(recent->budget, ENTRIES * sizeof *recent->entries);
    return recent->entries;
}

static struct recent_entry *recent_entry_of(const struct recent *recent, uint64_t key)
{
    uint64_t hash = (key ^ recent->seed) * UINT64_C(0x9e3779b97f4a7c15);
    return &recent->entries[(hash ^ hash >> 32) % ENTRIES];
}

void recent_note(struct recent *recent, const struct service *service, uint64_t id,
                 enum recent_what what, uint64_t ended)
{
    if (!id || !recent_allocate(recent))
        return;
    uint64_t key = span_index_key(id, service_scope(service));
    *recent_entry_of(recent, key) = (struct recent_entry){key, ended << 2 | (uint64_t)what};
}

enum recent_what recent_take(struct recent *recent, const struct service *service, uint64_t id,
                             uint64_t *ended)
{
    uint64_t key = span_index_key(id, service_scope(service));
    struct recent_entry *entry = recent->entries && key ? recent_entry_of(recent, key) : NULL;
    if (!entry || entry->key != key)
        return RECENT_NONE;
    *ended = entry->ended >> 2;
    entry->key = 0;
    return (enum recent_what)(entry->ended & 3);
}
