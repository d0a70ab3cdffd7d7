#include "processors/correlation/hold/interned.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 64 };

void interner_init(struct interner *interner, struct budget *budget)
{
    *interner = (struct interner){.budget = budget};
    pthread_mutex_init(&interner->lock, NULL);
}

void interner_release(struct interner *interner)
{
    assert(interner->count == 0);
    free(interner->buckets);
    pthread_mutex_destroy(&interner->lock);
}

/* FNV-1a over words of eight bytes, folded: headers are a few hundred bytes. */
static uint32_t interned_hash_of(struct view bytes)
{
    uint64_t hash = UINT64_C(14695981039346656037), word;
    size_t at = 0;
    for (; at + sizeof word <= bytes.size; at += sizeof word) {
        memcpy(&word, bytes.data + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(1099511628211);
        hash ^= hash >> 32;
    }
    for (; at < bytes.size; at++)
        hash = (hash ^ bytes.data[at]) * UINT64_C(1099511628211);
    return (uint32_t)(hash ^ hash >> 32);
}

static struct interned **bucket(const struct interner *interner, uint32_t hash)
{
    return &interner->buckets[hash & (interner->bucket_count - 1)];
}

static bool interned_grow(struct interner *interner)
{
    if (interner->count < interner->bucket_count)
        return true;
    size_t count = interner->bucket_count ? interner->bucket_count * 2 : FIRST_BUCKETS;
    struct interned **old = interner->buckets, **buckets = calloc(count, sizeof *buckets);
    size_t old_count = interner->bucket_count;
    if (!buckets)
        return old_count > 0;
    interner->buckets = buckets;
    interner->bucket_count = count;
    for (size_t i = 0; i < old_count; i++)
        for (struct interned *each = old[i], *next; each; each = next) {
            next = each->chain;
            each->chain = *bucket(interner, each->hash);
            *bucket(interner, each->hash) = each;
        }
    free(old);
    return true;
}

static struct interned *interned_find(const struct interner *interner, struct view bytes,
                                      uint32_t hash)
{
    struct interned *interned = interner->bucket_count ? *bucket(interner, hash) : NULL;
    while (interned && !(interned->hash == hash && view_eq(interned_view(interned), bytes)))
        interned = interned->chain;
    return interned;
}

static struct interned *interned_add(struct interner *interner, struct view bytes, uint32_t hash)
{
    struct interned *interned =
        interned_grow(interner) ? malloc(sizeof *interned + bytes.size) : NULL;
    if (!interned)
        return NULL;
    budget_force(interner->budget, sizeof *interned + bytes.size);
    *interned =
        (struct interned){.chain = *bucket(interner, hash), .hash = hash, .size = bytes.size};
    if (bytes.size)
        memcpy(interned->data, bytes.data, bytes.size);
    *bucket(interner, hash) = interned;
    interner->count++;
    return interned;
}

struct interned *interner_get(struct interner *interner, struct view bytes)
{
    uint32_t hash = interned_hash_of(bytes);
    pthread_mutex_lock(&interner->lock);
    struct interned *interned = interned_find(interner, bytes, hash);
    if (!interned)
        interned = interned_add(interner, bytes, hash);
    if (interned)
        interned->refs++;
    pthread_mutex_unlock(&interner->lock);
    return interned;
}

void interner_put(struct interner *interner, struct interned *interned)
{
    if (!interned)
        return;
    pthread_mutex_lock(&interner->lock);
    assert(interned->refs > 0);
    if (--interned->refs == 0) {
        struct interned **at = bucket(interner, interned->hash);
        while (*at != interned)
            at = &(*at)->chain;
        *at = interned->chain;
        interner->count--;
        budget_give(interner->budget, sizeof *interned + interned->size);
        free(interned);
    }
    pthread_mutex_unlock(&interner->lock);
}
