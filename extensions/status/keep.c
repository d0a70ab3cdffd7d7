#include "extensions/status/keep.h"

#include "lib/wire/codec/compress.h"

#include <stdlib.h>

/* Traces requests share a block of so many bytes, or have one of their own. */
enum { BLOCK_SIZE = 64 << 10, RING_MIN = 64 };

void kept_unref(struct kept *kept)
{
    if (!kept || atomic_fetch_sub_explicit(&kept->refs, 1, memory_order_acq_rel) != 1)
        return;
    budget_give(kept->budget, kept->charged);
    series_unref(kept->series);
    free(kept->query);
    free(kept->content);
    bytes_release(&kept->bytes);
    free(kept);
}

bool kept_open(const struct kept *kept, struct bytes *out)
{
    if (!kept->packed)
        return bytes_append_view(out, bytes_view(&kept->bytes)) == BYTES_OK;
    return inflate_append(ENCODING_ZSTD, bytes_view(&kept->bytes), out) == INFLATE_OK;
}

void keep_init(struct keep *keep, size_t max, struct budget *budget)
{
    *keep = (struct keep){.budget = budget, .max = max};
    pthread_mutex_init(&keep->lock, NULL);
}

/* ---- under the lock ---- */

static void keep_drop_oldest(struct keep *keep)
{
    struct kept *oldest = keep->ring[keep->oldest];
    keep->oldest = (keep->oldest + 1) % keep->capacity;
    keep->count--;
    keep->looked -= keep->looked > 0;
    keep->size -= oldest->charged;
    keep->evicted++;
    kept_unref(oldest);
}

static bool keep_grow(struct keep *keep)
{
    size_t capacity = keep->capacity ? keep->capacity * 2 : RING_MIN;
    struct kept **ring = malloc(capacity * sizeof *ring);
    if (!ring)
        return false;
    for (size_t i = 0; i < keep->count; i++)
        ring[i] = keep->ring[(keep->oldest + i) % keep->capacity];
    free(keep->ring);
    keep->ring = ring;
    keep->capacity = capacity;
    keep->oldest = 0;
    return true;
}

/* Charges for one that is to come; the oldest give way. False: there is no room for it at all. */
static bool keep_charge(struct keep *keep, size_t size)
{
    size_t block = keep->block ? keep->block->charged : 0;
    while (keep->count && keep->size + size > keep->max)
        keep_drop_oldest(keep);
    if (size + block > keep->max)
        return false;
    while (!budget_take_spare(keep->budget, size)) {
        if (!keep->count)
            return false;
        keep_drop_oldest(keep);
    }
    keep->size += size;
    return true;
}

/* Takes over one that is charged. */
static void keep_push(struct keep *keep, struct kept *kept)
{
    if (keep->count == keep->capacity && !keep_grow(keep)) {
        keep->size -= kept->charged;
        keep->refused++;
        kept_unref(kept);
        return;
    }
    keep->ring[(keep->oldest + keep->count++) % keep->capacity] = kept;
}

static void keep_close_block(struct keep *keep)
{
    struct kept *block = keep->block;
    keep->block = NULL;
    if (block)
        keep_push(keep, block);
}

/* An empty one with room for so many bytes, charged. NULL: no room; counted. */
static struct kept *keep_new(struct keep *keep, enum kept_kind kind, size_t room)
{
    struct kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    *kept = (struct kept){.refs = 1, .kind = kind, .budget = keep->budget};
    bytes_init(&kept->bytes, room, NULL);
    if (bytes_reserve(&kept->bytes, room) == BYTES_OK && keep_charge(keep, sizeof *kept + room)) {
        kept->charged = sizeof *kept + room;
        kept->serial = ++keep->serial;
        return kept;
    }
    keep->refused++;
    kept_unref(kept);
    return NULL;
}

/* ---- in ---- */

void keep_traces(struct keep *keep, struct view request, uint64_t arrived)
{
    pthread_mutex_lock(&keep->lock);
    if (keep->block && keep->block->bytes.size + request.size > keep->block->bytes.max)
        keep_close_block(keep);
    if (!keep->block)
        keep->block =
            keep_new(keep, KEPT_TRACES, request.size > BLOCK_SIZE ? request.size : BLOCK_SIZE);
    if (keep->block) {
        bytes_append_view(&keep->block->bytes, request);
        keep->block->plain = keep->block->bytes.size;
        keep->block->arrived = arrived;
    }
    pthread_mutex_unlock(&keep->lock);
}

void keep_profile(struct keep *keep, const struct kept *head, struct view content)
{
    pthread_mutex_lock(&keep->lock);
    struct kept *kept = keep_new(keep, head->kind, content.size);
    if (kept) {
        bytes_append_view(&kept->bytes, content);
        kept->plain = content.size;
        kept->arrived = head->arrived;
        kept->by_ingest = head->by_ingest;
        kept->series = head->series;
        kept->query = head->query;
        kept->content = head->content;
        keep_push(keep, kept);
    }
    pthread_mutex_unlock(&keep->lock);
    if (kept)
        return;
    series_unref(head->series);
    free(head->query);
    free(head->content);
}

/* ---- compression ---- */

bool keep_is_tight(struct keep *keep)
{
    pthread_mutex_lock(&keep->lock);
    bool tight = keep->size > keep->max - keep->max / 8;
    pthread_mutex_unlock(&keep->lock);
    return tight;
}

/* The same bytes compressed, in memory of their size. False: not worth it, or no memory. */
static bool keep_deflate(const struct kept *kept, struct bytes *out)
{
    struct bytes packed;
    bytes_init(&packed, kept->bytes.size, NULL);
    bytes_init(out, SIZE_MAX / 2, NULL);
    bool good = deflate_append(ENCODING_ZSTD, bytes_view(&kept->bytes), &packed) &&
                packed.size < kept->bytes.size / 10 * 9;
    uint8_t *tight = good ? malloc(packed.size + 1) : NULL;
    if (tight) {
        memcpy(tight, packed.data, packed.size);
        *out = (struct bytes){.data = tight,
                              .size = packed.size,
                              .capacity = packed.size + 1,
                              .max = packed.size + 1};
    }
    bytes_release(&packed);
    return tight;
}

/* Puts the compressed bytes into the place of the others, unless somebody reads those or it has
 * left. Under the lock. */
static void keep_replace(struct keep *keep, struct kept *kept, struct bytes *packed)
{
    if (atomic_load_explicit(&kept->refs, memory_order_acquire) != 2)
        return;
    size_t charged = sizeof *kept + packed->capacity;
    struct bytes plain = kept->bytes;
    kept->bytes = *packed;
    *packed = plain;
    kept->packed = true;
    keep->size -= kept->charged - charged;
    budget_give(kept->budget, kept->charged - charged);
    kept->charged = charged;
}

bool keep_pack(struct keep *keep)
{
    struct bytes packed;
    pthread_mutex_lock(&keep->lock);
    struct kept *kept = NULL;
    if (keep->looked < keep->count) {
        kept = keep->ring[(keep->oldest + keep->looked++) % keep->capacity];
        atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&keep->lock);
    if (!kept)
        return false;
    if (!kept->packed && keep_deflate(kept, &packed)) {
        pthread_mutex_lock(&keep->lock);
        keep_replace(keep, kept, &packed);
        pthread_mutex_unlock(&keep->lock);
        bytes_release(&packed);
    }
    kept_unref(kept);
    return true;
}

/* ---- out ---- */

void keep_shrink(struct keep *keep, size_t size)
{
    pthread_mutex_lock(&keep->lock);
    if (keep->size > size)
        keep_close_block(keep);
    while (keep->count && keep->size > size)
        keep_drop_oldest(keep);
    pthread_mutex_unlock(&keep->lock);
}

void keep_release(struct keep *keep)
{
    keep_shrink(keep, 0);
    free(keep->ring);
    keep->ring = NULL;
    keep->capacity = 0;
    pthread_mutex_destroy(&keep->lock);
}

/* A copy of the block; under the lock. NULL: there is none, or no memory. */
static struct kept *keep_copy_block(const struct keep *keep)
{
    const struct kept *block = keep->block;
    struct kept *kept = block ? calloc(1, sizeof *kept) : NULL;
    if (!kept)
        return NULL;
    *kept = (struct kept){.refs = 1,
                          .kind = KEPT_TRACES,
                          .serial = block->serial,
                          .arrived = block->arrived,
                          .plain = block->plain,
                          .budget = keep->budget};
    bytes_init(&kept->bytes, block->bytes.size + 1, keep->budget);
    if (bytes_append_view(&kept->bytes, bytes_view(&block->bytes)) == BYTES_OK)
        return kept;
    kept_unref(kept);
    return NULL;
}

struct kept **keep_list(struct keep *keep, uint64_t from, size_t *count)
{
    *count = 0;
    pthread_mutex_lock(&keep->lock);
    struct kept **list = malloc((keep->count + 1) * sizeof *list);
    for (size_t i = 0; list && i < keep->count; i++) {
        struct kept *each = keep->ring[(keep->oldest + i) % keep->capacity];
        if (each->serial < from)
            continue;
        atomic_fetch_add_explicit(&each->refs, 1, memory_order_relaxed);
        list[(*count)++] = each;
    }
    struct kept *block =
        list && keep->block && keep->block->serial >= from ? keep_copy_block(keep) : NULL;
    if (block)
        list[(*count)++] = block;
    pthread_mutex_unlock(&keep->lock);
    return list;
}

void keep_list_free(struct kept **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kept_unref(list[i]);
    free(list);
}

uint64_t keep_oldest_block(struct keep *keep)
{
    pthread_mutex_lock(&keep->lock);
    uint64_t serial = keep->block ? keep->block->serial : keep->serial + 1;
    for (size_t i = 0; i < keep->count; i++) {
        const struct kept *each = keep->ring[(keep->oldest + i) % keep->capacity];
        if (each->kind == KEPT_TRACES) {
            serial = each->serial;
            break;
        }
    }
    pthread_mutex_unlock(&keep->lock);
    return serial;
}
