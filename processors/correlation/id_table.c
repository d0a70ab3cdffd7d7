#include "processors/correlation/id_table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 32, EVICT_SHARE = 8 };

void id_table_init(struct id_table *table, size_t max_bytes, uint32_t remember, uint64_t seed,
                   struct budget *budget)
{
    size_t slots = max_bytes / ID_SHARDS / sizeof(struct id_entry);
    *table = (struct id_table){
        .shard_max = slots > INT32_MAX ? INT32_MAX : (uint32_t)slots,
        .remember = remember,
        .seed = seed,
        .budget = budget,
    };
}

void id_table_release(struct id_table *table)
{
    for (size_t i = 0; i < ID_SHARDS; i++) {
        budget_give(table->budget, table->shards[i].capacity * sizeof(struct id_entry));
        free(table->shards[i].entries);
        table->shards[i] = (struct id_shard){0};
    }
}

/* The finalizer of splitmix64: every bit of the id moves every bit of the hash. */
static uint64_t hash(const struct id_table *table, uint64_t id)
{
    id ^= table->seed;
    id = (id ^ id >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    id = (id ^ id >> 27) * UINT64_C(0x94d049bb133111eb);
    return id ^ id >> 31;
}

/* The slot where the search for an id starts: the hash's low half scaled to the capacity. */
static uint32_t home(const struct id_table *table, const struct id_shard *shard, uint64_t id)
{
    return (uint32_t)((hash(table, id) & UINT32_MAX) * shard->capacity >> 32);
}

static uint32_t next_slot(const struct id_shard *shard, uint32_t slot)
{
    return slot + 1 == shard->capacity ? 0 : slot + 1;
}

static size_t shard_of(const struct id_table *table, uint64_t id)
{
    return hash(table, id) >> 58;
}

/* The slot of an id, or the free one that ends its search. The shard is not full. */
static uint32_t probe(const struct id_table *table, const struct id_shard *shard, uint64_t id)
{
    uint32_t slot = home(table, shard, id);
    while (shard->entries[slot].id && shard->entries[slot].id != id)
        slot = next_slot(shard, slot);
    return slot;
}

static bool expired(const struct id_table *table, const struct id_entry *entry, uint32_t second)
{
    return second > entry->seen && second - entry->seen > table->remember;
}

struct id_entry *id_table_find(const struct id_table *table, uint64_t id, uint32_t second)
{
    const struct id_shard *shard = &table->shards[shard_of(table, id)];
    if (!shard->used || !id)
        return NULL;
    struct id_entry *entry = &shard->entries[probe(table, shard, id)];
    return entry->id && !expired(table, entry, second) ? entry : NULL;
}

static uint32_t distance(const struct id_shard *shard, uint32_t from, uint32_t to)
{
    return to >= from ? to - from : to + shard->capacity - from;
}

/* Frees a slot and moves later entries of the same run up, so that no search ends too soon. */
static void vacate(const struct id_table *table, struct id_shard *shard, uint32_t hole)
{
    for (uint32_t at = next_slot(shard, hole); shard->entries[at].id; at = next_slot(shard, at)) {
        uint32_t start = home(table, shard, shard->entries[at].id);
        if (distance(shard, start, at) < distance(shard, hole, at))
            continue;
        shard->entries[hole] = shard->entries[at];
        hole = at;
    }
    shard->entries[hole] = (struct id_entry){0};
    shard->used--;
}

static void drop_expired(const struct id_table *table, struct id_shard *shard, uint32_t second)
{
    for (uint32_t slot = 0; slot < shard->capacity;)
        if (shard->entries[slot].id && expired(table, &shard->entries[slot], second))
            vacate(table, shard, slot);
        else
            slot++;
}

static uint32_t count_seen_by(const struct id_shard *shard, uint32_t second)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < shard->capacity; slot++)
        count += shard->entries[slot].id && shard->entries[slot].seen <= second;
    return count;
}

/* The earliest second by which at least count entries were last seen. */
static uint32_t second_of_oldest(const struct id_shard *shard, uint32_t count)
{
    uint32_t low = 0, high = UINT32_MAX;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (count_seen_by(shard, middle) >= count)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Drops entries last seen in these seconds, up to count of them; returns how many were left. */
static uint32_t drop_seen(const struct id_table *table, struct id_shard *shard, uint32_t until,
                          uint32_t count)
{
    for (uint32_t slot = 0; slot < shard->capacity && count > 0;)
        if (shard->entries[slot].id && shard->entries[slot].seen <= until) {
            vacate(table, shard, slot);
            count--;
        } else {
            slot++;
        }
    return count;
}

/* Many ids share a second: all that are older go first, then as many of that second as needed. */
static void evict_oldest(struct id_table *table, struct id_shard *shard)
{
    uint32_t count = shard->used / EVICT_SHARE + 1;
    uint32_t second = second_of_oldest(shard, count);
    table->evicted += count;
    if (second > 0)
        count = drop_seen(table, shard, second - 1, count);
    drop_seen(table, shard, second, count);
}

static bool grow(struct id_table *table, struct id_shard *shard)
{
    uint64_t wanted = shard->capacity ? (uint64_t)shard->capacity * 2 : FIRST_CAPACITY;
    uint32_t capacity = wanted > table->shard_max ? table->shard_max : (uint32_t)wanted;
    if (capacity <= shard->capacity)
        return false;
    size_t size = capacity * sizeof(struct id_entry);
    if (!budget_take(table->budget, size))
        return false;
    struct id_shard larger = {calloc(capacity, sizeof(struct id_entry)), capacity, shard->used};
    if (!larger.entries) {
        budget_give(table->budget, size);
        return false;
    }
    for (uint32_t slot = 0; slot < shard->capacity; slot++)
        if (shard->entries[slot].id)
            larger.entries[probe(table, &larger, shard->entries[slot].id)] = shard->entries[slot];
    budget_give(table->budget, shard->capacity * sizeof(struct id_entry));
    free(shard->entries);
    *shard = larger;
    return true;
}

static bool crowded(const struct id_shard *shard)
{
    return shard->used + 1 > shard->capacity - shard->capacity / 8;
}

static bool make_room(struct id_table *table, struct id_shard *shard, uint32_t second)
{
    drop_expired(table, shard, second);
    if (shard->capacity && shard->used <= shard->capacity / 2)
        return true;
    if (grow(table, shard))
        return true;
    if (!shard->capacity)
        return false;
    if (crowded(shard))
        evict_oldest(table, shard);
    return true;
}

struct id_entry *id_table_put(struct id_table *table, uint64_t id, uint32_t second)
{
    struct id_shard *shard = &table->shards[shard_of(table, id)];
    if (!id)
        return NULL;
    if (shard->capacity) {
        struct id_entry *entry = &shard->entries[probe(table, shard, id)];
        if (entry->id) {
            if (expired(table, entry, second))
                *entry = (struct id_entry){.id = id};
            entry->seen = second;
            return entry;
        }
    }
    if ((!shard->capacity || crowded(shard)) && !make_room(table, shard, second))
        return NULL;
    struct id_entry *entry = &shard->entries[probe(table, shard, id)];
    *entry = (struct id_entry){.id = id, .seen = second};
    shard->used++;
    return entry;
}

size_t id_table_count(const struct id_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < ID_SHARDS; i++)
        count += table->shards[i].used;
    return count;
}
