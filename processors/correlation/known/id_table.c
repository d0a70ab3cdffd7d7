#include "processors/correlation/known/id_table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 32, EVICT_SHARE = 8, SHARD_BITS = 6 };

/* Slots after those that a hash can map to, for the run at the end; the last stays free. */
enum { MOST_BEHIND = 128 };

/* What a pass over a shard keeps. */
struct keeping {
    uint32_t since;  /* entries seen before are dropped, ... */
    uint32_t second; /* ... and of those seen in this second ... */
    uint32_t drop;   /* ... so many ... */
    uint32_t of;     /* ... of so many, spread over the shard */
    uint64_t sum;
};

static size_t slot_size(const struct id_table *table)
{
    return sizeof(struct id_entry) + (table->wide ? sizeof(struct id_more) : 0);
}

static uint32_t slots(uint32_t capacity)
{
    uint32_t behind = 8 + capacity / 8;
    return capacity ? capacity + (behind < MOST_BEHIND ? behind : MOST_BEHIND) : 0;
}

static uint32_t shard_max_of(const struct id_table *table, size_t max_bytes)
{
    size_t most = max_bytes / ID_SHARDS / slot_size(table);
    return most > INT32_MAX ? INT32_MAX : (uint32_t)most;
}

void id_table_init(struct id_table *table, size_t max_bytes, bool wide, uint32_t remember,
                   uint64_t seed, struct budget *budget)
{
    *table = (struct id_table){
        .wide = wide,
        .remember = remember,
        .seed = seed,
        .budget = budget,
    };
    table->shard_max = shard_max_of(table, max_bytes);
}

static void free_shard(const struct id_table *table, struct id_shard *shard)
{
    budget_give(table->budget, slots(shard->capacity) * slot_size(table));
    free(shard->entries);
    free(shard->more);
    *shard = (struct id_shard){.lost = shard->lost};
}

void id_table_release(struct id_table *table)
{
    for (size_t i = 0; i < ID_SHARDS; i++)
        free_shard(table, &table->shards[i]);
}

/* The finalizer of splitmix64: every bit of the id affects every bit of the hash, and no two ids
 * have the same one. 0, the hash of one id in 2^64, is replaced by 1. */
static uint64_t id_table_hash_of(const struct id_table *table, uint64_t id)
{
    id ^= table->seed;
    id = (id ^ id >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    id = (id ^ id >> 27) * UINT64_C(0x94d049bb133111eb);
    id ^= id >> 31;
    return id ? id : 1;
}

static size_t shard_of(uint64_t hash)
{
    return hash >> (64 - SHARD_BITS);
}

/* Returns the slot that a hash maps to: the bits below the shard's, scaled to the capacity. */
static uint32_t home(const struct id_shard *shard, uint64_t hash)
{
    return (uint32_t)((hash << SHARD_BITS >> 32) * shard->capacity >> 32);
}

/* Returns the slot of a hash, or the one where it would be put. */
static uint32_t probe(const struct id_shard *shard, uint64_t hash)
{
    uint32_t slot = home(shard, hash);
    while (shard->entries[slot].hash && shard->entries[slot].hash < hash)
        slot++;
    return slot;
}

static bool expired(const struct id_table *table, const struct id_entry *entry, uint32_t second)
{
    return second > entry->seen && second - entry->seen > table->remember;
}

struct id_entry *id_table_find(const struct id_table *table, uint64_t id, uint32_t second)
{
    uint64_t hash = id_table_hash_of(table, id);
    const struct id_shard *shard = &table->shards[shard_of(hash)];
    if (!shard->used || !id)
        return NULL;
    struct id_entry *entry = &shard->entries[probe(shard, hash)];
    return entry->hash == hash && !expired(table, entry, second) ? entry : NULL;
}

struct id_more *id_table_more(const struct id_table *table, const struct id_entry *entry)
{
    const struct id_shard *shard = &table->shards[shard_of(entry->hash)];
    return table->wide ? &shard->more[entry - shard->entries] : NULL;
}

void id_table_prefetch(const struct id_table *table, uint64_t id)
{
    uint64_t hash = id_table_hash_of(table, id);
    const struct id_shard *shard = &table->shards[shard_of(hash)];
    if (!shard->used)
        return;
    /* Half of the searches end in the next cache line. */
    const struct id_entry *entry = &shard->entries[home(shard, hash)];
    __builtin_prefetch(entry);
    __builtin_prefetch(entry + 64 / sizeof *entry);
}

static bool keeps(struct keeping *keeping, uint32_t seen)
{
    if (seen < keeping->since)
        return false;
    if (seen != keeping->second || keeping->drop == 0)
        return true;
    keeping->sum += keeping->drop;
    if (keeping->sum < keeping->of)
        return true;
    keeping->sum -= keeping->of;
    return false;
}

/* Moves the kept entries of a shard into another one, or to the front of its own runs, in order. */
static void move(struct id_shard *from, struct id_shard *to, struct keeping keeping)
{
    uint32_t count = slots(from->capacity), last = slots(to->capacity) - 1, next = 0;
    to->used = 0;
    for (uint32_t slot = 0; slot < count; slot++) {
        struct id_entry entry = from->entries[slot];
        from->entries[slot].hash = 0;
        if (!entry.hash || !keeps(&keeping, entry.seen))
            continue;
        uint32_t at = home(to, entry.hash);
        at = at < next ? next : at;
        if (at >= last) /* a run that never ends, which our hashes do not make */
            continue;
        to->entries[at] = entry;
        if (to->more)
            to->more[at] = from->more[slot];
        next = at + 1;
        to->used++;
    }
}

static void drop_expired(const struct id_table *table, struct id_shard *shard, uint32_t second)
{
    struct keeping keeping = {.since = second > table->remember ? second - table->remember : 0};
    move(shard, shard, keeping);
}

static uint32_t count_seen_by(const struct id_shard *shard, uint32_t second)
{
    uint32_t count = 0, end = slots(shard->capacity);
    for (uint32_t slot = 0; slot < end; slot++)
        count += (shard->entries[slot].hash != 0) & (shard->entries[slot].seen <= second);
    return count;
}

/* Returns the earliest second by which at least count entries were last seen. */
static uint32_t second_of_oldest(const struct id_shard *shard, uint32_t count)
{
    uint32_t low = UINT32_MAX, high = 0, end = slots(shard->capacity);
    for (uint32_t slot = 0; slot < end; slot++) {
        const struct id_entry *entry = &shard->entries[slot];
        low = entry->hash && entry->seen < low ? entry->seen : low;
        high = entry->hash && entry->seen > high ? entry->seen : high;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (count_seen_by(shard, middle) >= count)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void note_lost(struct id_shard *shard, uint32_t second)
{
    if (second >= shard->lost)
        shard->lost = second + 1;
}

/* Many ids share a second: all older ones go first, then as many of that second as needed, from
 * everywhere in the shard: room in one place would be of no use to hashes of another. */
static void evict_oldest(struct id_table *table, struct id_shard *shard)
{
    uint32_t count = shard->used / EVICT_SHARE + 1, used = shard->used;
    uint32_t second = second_of_oldest(shard, count);
    uint32_t older = second > 0 ? count_seen_by(shard, second - 1) : 0;
    move(shard, shard,
         (struct keeping){.since = second,
                          .second = second,
                          .drop = count - older,
                          .of = count_seen_by(shard, second) - older});
    table->evicted += used - shard->used;
    note_lost(shard, second);
}

/* Returns the largest capacity within the limit, but at most the wanted one. */
static uint32_t fitting(const struct id_table *table, uint64_t wanted)
{
    uint32_t capacity = wanted > table->shard_max ? table->shard_max : (uint32_t)wanted;
    while (capacity > 0 && slots(capacity) > table->shard_max)
        capacity -= slots(capacity) - table->shard_max;
    return capacity;
}

/* False: no memory; nothing has changed. */
static bool resize(struct id_table *table, struct id_shard *shard, uint32_t capacity)
{
    size_t count = slots(capacity);
    if (!budget_take(table->budget, count * slot_size(table)))
        return false;
    struct id_shard other = {.capacity = capacity,
                             .entries = calloc(count, sizeof(struct id_entry)),
                             .more = table->wide ? calloc(count, sizeof(struct id_more)) : NULL};
    if (!other.entries || (table->wide && !other.more)) {
        free_shard(table, &other);
        return false;
    }
    move(shard, &other, (struct keeping){0});
    other.lost = shard->lost;
    free_shard(table, shard);
    *shard = other;
    return true;
}

/* By a quarter, so that at most a third of a table is empty. */
static bool id_table_grow(struct id_table *table, struct id_shard *shard)
{
    uint32_t capacity =
        fitting(table, shard->capacity ? (uint64_t)shard->capacity * 5 / 4 : FIRST_CAPACITY);
    size_t more = (slots(capacity) - slots(shard->capacity)) * slot_size(table);
    if (capacity <= shard->capacity ||
        !budget_may_remember(table->budget, slots(shard->capacity) * slot_size(table) * ID_SHARDS,
                             more))
        return false;
    return resize(table, shard, capacity);
}

static void shrink(struct id_table *table, struct id_shard *shard, uint32_t second)
{
    uint32_t capacity = fitting(table, shard->capacity);
    if (capacity == shard->capacity)
        return;
    drop_expired(table, shard, second);
    while (shard->used > capacity / 10 * 7)
        evict_oldest(table, shard);
    if (capacity > 0)
        resize(table, shard, capacity);
}

void id_table_limit(struct id_table *table, size_t max_bytes, uint32_t second)
{
    table->shard_max = shard_max_of(table, max_bytes);
    for (size_t i = 0; i < ID_SHARDS; i++)
        if (table->shards[i].capacity)
            shrink(table, &table->shards[i], second);
}

static bool crowded(const struct id_shard *shard)
{
    return shard->used + 1 > shard->capacity - shard->capacity / 8;
}

/* Makes a shard larger or emptier. False: no memory for its first entries. */
static bool id_table_make_room(struct id_table *table, struct id_shard *shard, uint32_t second)
{
    bool was_crowded =
        crowded(shard); /* else a run reaches the end, however few entries there are */
    if (shard->capacity)
        drop_expired(table, shard, second);
    if (shard->capacity && was_crowded && shard->used <= shard->capacity / 10 * 7)
        return true;
    if (id_table_grow(table, shard))
        return true;
    if (!shard->capacity)
        return false;
    evict_oldest(table, shard);
    return true;
}

/* Frees a slot by moving the rest of its run back. False: the run reaches the end. */
static bool open_slot(struct id_shard *shard, uint32_t slot)
{
    uint32_t end = slot, last = slots(shard->capacity) - 1;
    while (shard->entries[end].hash)
        end++;
    if (end == last)
        return false;
    memmove(&shard->entries[slot + 1], &shard->entries[slot],
            (end - slot) * sizeof(struct id_entry));
    if (shard->more)
        memmove(&shard->more[slot + 1], &shard->more[slot], (end - slot) * sizeof(struct id_more));
    return true;
}

static struct id_entry *id_table_set(struct id_shard *shard, uint32_t slot, uint64_t hash,
                                     uint32_t second)
{
    shard->entries[slot] = (struct id_entry){.hash = hash, .seen = second};
    if (shard->more)
        shard->more[slot] = (struct id_more){0};
    return &shard->entries[slot];
}

struct id_entry *id_table_put(struct id_table *table, uint64_t id, uint32_t second)
{
    uint64_t hash = id_table_hash_of(table, id);
    struct id_shard *shard = &table->shards[shard_of(hash)];
    if (!id)
        return NULL;
    uint32_t slot = shard->capacity ? probe(shard, hash) : 0;
    if (shard->capacity && shard->entries[slot].hash == hash) {
        struct id_entry *entry = &shard->entries[slot];
        if (expired(table, entry, second))
            id_table_set(shard, slot, hash, second);
        entry->seen = second;
        return entry;
    }
    while (!shard->capacity || crowded(shard) || !open_slot(shard, slot)) {
        if (!id_table_make_room(table, shard, second)) {
            note_lost(shard, second);
            return NULL;
        }
        slot = probe(shard, hash);
    }
    shard->used++;
    return id_table_set(shard, slot, hash, second);
}

uint32_t id_table_lost(const struct id_table *table, uint64_t id)
{
    return table->shards[shard_of(id_table_hash_of(table, id))].lost;
}

size_t id_table_count(const struct id_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < ID_SHARDS; i++)
        count += table->shards[i].used;
    return count;
}
