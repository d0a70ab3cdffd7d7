#include "processors/correlation/hold/runs.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 64 };

void runs_init(struct runs *runs, struct budget *budget)
{
    *runs = (struct runs){.budget = budget};
    pthread_mutex_init(&runs->lock, NULL);
}

void runs_release(struct runs *runs)
{
    assert(runs->count == 0);
    free(runs->buckets);
    pthread_mutex_destroy(&runs->lock);
}

/* FNV-1a over words of eight bytes, folded: headers are a few hundred bytes. */
static uint32_t hash_of(struct view bytes)
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

static struct run **bucket(const struct runs *runs, uint32_t hash)
{
    return &runs->buckets[hash & (runs->bucket_count - 1)];
}

static bool grow(struct runs *runs)
{
    if (runs->count < runs->bucket_count)
        return true;
    size_t count = runs->bucket_count ? runs->bucket_count * 2 : FIRST_BUCKETS;
    struct run **old = runs->buckets, **buckets = calloc(count, sizeof *buckets);
    size_t old_count = runs->bucket_count;
    if (!buckets)
        return old_count > 0;
    runs->buckets = buckets;
    runs->bucket_count = count;
    for (size_t i = 0; i < old_count; i++)
        for (struct run *each = old[i], *next; each; each = next) {
            next = each->chain;
            each->chain = *bucket(runs, each->hash);
            *bucket(runs, each->hash) = each;
        }
    free(old);
    return true;
}

static struct run *find(const struct runs *runs, struct view bytes, uint32_t hash)
{
    struct run *run = runs->bucket_count ? *bucket(runs, hash) : NULL;
    while (run && !(run->hash == hash && view_eq(run_view(run), bytes)))
        run = run->chain;
    return run;
}

static struct run *add(struct runs *runs, struct view bytes, uint32_t hash)
{
    struct run *run = grow(runs) ? malloc(sizeof *run + bytes.size) : NULL;
    if (!run)
        return NULL;
    budget_force(runs->budget, sizeof *run + bytes.size);
    *run = (struct run){.chain = *bucket(runs, hash), .hash = hash, .size = bytes.size};
    if (bytes.size)
        memcpy(run->data, bytes.data, bytes.size);
    *bucket(runs, hash) = run;
    runs->count++;
    return run;
}

struct run *runs_get(struct runs *runs, struct view bytes)
{
    uint32_t hash = hash_of(bytes);
    pthread_mutex_lock(&runs->lock);
    struct run *run = find(runs, bytes, hash);
    if (!run)
        run = add(runs, bytes, hash);
    if (run)
        run->refs++;
    pthread_mutex_unlock(&runs->lock);
    return run;
}

void runs_put(struct runs *runs, struct run *run)
{
    if (!run)
        return;
    pthread_mutex_lock(&runs->lock);
    assert(run->refs > 0);
    if (--run->refs == 0) {
        struct run **at = bucket(runs, run->hash);
        while (*at != run)
            at = &(*at)->chain;
        *at = run->chain;
        runs->count--;
        budget_give(runs->budget, sizeof *run + run->size);
        free(run);
    }
    pthread_mutex_unlock(&runs->lock);
}
