#include "processors/correlation/hold/held_ids.h"

#include "lib/wire/otlp/otlp_span.h"
#include "processors/correlation/hold/segment.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64, SPARSE = 8 };

/* Maps both byte orders to one. */
static uint64_t canonical(uint64_t id)
{
    uint64_t reversed = span_id_reversed(id);
    return id < reversed ? id : reversed;
}

/* A child's `named` is its parent. */
static uint64_t held_ids_key_of(const struct held *held)
{
    bool by_name = held->named && !(held->flags & HELD_CHILD);
    return canonical(by_name ? held->named : held->own);
}

static size_t held_ids_place(const struct held_ids *ids, uint64_t key)
{
    key ^= ids->seed;
    key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(key ^ key >> 31) & (ids->capacity - 1);
}

void held_ids_init(struct held_ids *ids, uint64_t seed, struct budget *budget)
{
    *ids = (struct held_ids){.seed = seed, .budget = budget};
}

void held_ids_release(struct held_ids *ids)
{
    budget_give(ids->budget, ids->capacity * sizeof *ids->buckets);
    free(ids->buckets);
    *ids = (struct held_ids){0};
}

static void link_in(struct held_ids *ids, struct held *held)
{
    struct held **bucket = &ids->buckets[held_ids_place(ids, held_ids_key_of(held))];
    held->before = NULL;
    held->next = *bucket;
    if (*bucket)
        (*bucket)->before = held;
    *bucket = held;
}

/* Without memory the table stays as it is. */
static void resize(struct held_ids *ids, size_t capacity)
{
    struct held **old = ids->buckets, **buckets = calloc(capacity, sizeof *buckets);
    size_t old_capacity = ids->capacity;
    if (!buckets)
        return;
    budget_force(ids->budget, capacity * sizeof *buckets);
    ids->buckets = buckets;
    ids->capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        for (struct held *each = old[i], *next; each; each = next) {
            next = each->next;
            link_in(ids, each);
        }
    budget_give(ids->budget, old_capacity * sizeof *old);
    free(old);
}

bool held_ids_add(struct held_ids *ids, struct held *held)
{
    if (ids->count >= ids->capacity)
        resize(ids, ids->capacity ? ids->capacity * 2 : FIRST_CAPACITY);
    if (!ids->capacity)
        return false;
    link_in(ids, held);
    ids->count++;
    return true;
}

void held_ids_remove(struct held_ids *ids, struct held *held)
{
    *(held->before ? &held->before->next
                   : &ids->buckets[held_ids_place(ids, held_ids_key_of(held))]) = held->next;
    if (held->next)
        held->next->before = held->before;
    held->next = held->before = NULL;
    ids->count--;
    if (ids->capacity > FIRST_CAPACITY && ids->count < ids->capacity / SPARSE)
        resize(ids, ids->capacity / 2);
}

/* Returns the first span in a chain with this id. */
static struct held *match(struct held *held, uint64_t key)
{
    while (held && held_ids_key_of(held) != key)
        held = held->next;
    return held;
}

struct held *held_ids_first(const struct held_ids *ids, uint64_t id)
{
    uint64_t key = canonical(id);
    return ids->count ? match(ids->buckets[held_ids_place(ids, key)], key) : NULL;
}

struct held *held_ids_next(const struct held *held)
{
    return match(held->next, held_ids_key_of(held));
}

void held_ids_prefetch(const struct held_ids *ids, uint64_t id)
{
    if (ids->count)
        __builtin_prefetch(&ids->buckets[held_ids_place(ids, canonical(id))]);
}

void held_ids_moved(struct held_ids *ids, struct held *held)
{
    *(held->before ? &held->before->next
                   : &ids->buckets[held_ids_place(ids, held_ids_key_of(held))]) = held;
    if (held->next)
        held->next->before = held;
}
