#include "extensions/status/keep.h"

#include "lib/wire/codec/compress.h"

#include <stdlib.h>

/* A block of so many bytes is compressed: to a fifth or less, as spans are alike. */
enum { BLOCK_SIZE = 128 << 10, RING_MIN = 64 };

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
    bytes_init(&keep->block, SIZE_MAX / 2, budget);
}

static void keep_drop_oldest(struct keep *keep)
{
    struct kept *oldest = keep->ring[keep->oldest];
    keep->oldest = (keep->oldest + 1) % keep->capacity;
    keep->count--;
    keep->size -= oldest->charged;
    keep->evicted++;
    kept_unref(oldest);
}

void keep_shrink(struct keep *keep, size_t size)
{
    pthread_mutex_lock(&keep->lock);
    while (keep->count && keep->size + keep->block.capacity > size)
        keep_drop_oldest(keep);
    pthread_mutex_unlock(&keep->lock);
}

void keep_release(struct keep *keep)
{
    keep_shrink(keep, 0);
    free(keep->ring);
    keep->ring = NULL;
    keep->capacity = 0;
    bytes_release(&keep->block);
    pthread_mutex_destroy(&keep->lock);
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

/* Takes a finished one over; under the lock. */
static void keep_push(struct keep *keep, struct kept *kept)
{
    kept->charged = sizeof *kept + kept->bytes.size;
    while (keep->count && keep->size + keep->block.capacity + kept->charged > keep->max)
        keep_drop_oldest(keep);
    while (!budget_take_spare(keep->budget, kept->charged)) {
        if (!keep->count) {
            kept->charged = 0;
            keep->refused++;
            kept_unref(kept);
            return;
        }
        keep_drop_oldest(keep);
    }
    if (kept->charged + keep->block.capacity > keep->max ||
        (keep->count == keep->capacity && !keep_grow(keep))) {
        keep->refused++;
        kept_unref(kept);
        return;
    }
    keep->ring[(keep->oldest + keep->count++) % keep->capacity] = kept;
    keep->size += kept->charged;
}

/* Compressed, in memory of its size. False: no memory. */
static bool keep_pack(struct kept *kept, struct view content)
{
    struct bytes packed;
    bytes_init(&packed, content.size + content.size / 8 + 1024, NULL);
    bytes_init(&kept->bytes, SIZE_MAX / 2, NULL);
    kept->plain = content.size;
    kept->packed = deflate_append(ENCODING_ZSTD, content, &packed) && packed.size < content.size;
    bool fits =
        bytes_append_view(&kept->bytes, kept->packed ? bytes_view(&packed) : content) == BYTES_OK;
    bytes_release(&packed);
    uint8_t *tight = fits ? realloc(kept->bytes.data, kept->bytes.size + 1) : NULL;
    if (tight) {
        kept->bytes.data = tight;
        kept->bytes.capacity = kept->bytes.size + 1;
    }
    return fits;
}

static struct kept *kept_new(struct keep *keep, enum kept_kind kind)
{
    struct kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->refs = 1;
    kept->kind = kind;
    kept->budget = keep->budget;
    return kept;
}

/* Moves the block out, compresses it without the lock, and puts it in as one. */
static void keep_close_block(struct keep *keep)
{
    struct kept *kept = kept_new(keep, KEPT_TRACES);
    pthread_mutex_lock(&keep->lock);
    struct bytes block = keep->block;
    bytes_init(&keep->block, SIZE_MAX / 2, keep->budget);
    if (kept) {
        kept->serial = keep->block_serial;
        kept->arrived = keep->block_arrived;
    }
    pthread_mutex_unlock(&keep->lock);
    bool packed = kept && keep_pack(kept, bytes_view(&block));
    bytes_release(&block);
    pthread_mutex_lock(&keep->lock);
    if (packed)
        keep_push(keep, kept);
    else
        keep->refused++;
    pthread_mutex_unlock(&keep->lock);
    if (!packed)
        kept_unref(kept);
}

void keep_traces(struct keep *keep, struct view request, uint64_t arrived)
{
    pthread_mutex_lock(&keep->lock);
    if (keep->block.size == 0)
        keep->block_serial = ++keep->serial;
    keep->block_arrived = arrived;
    bool added = bytes_append_view(&keep->block, request) == BYTES_OK;
    keep->refused += !added;
    bool full = keep->block.size >= BLOCK_SIZE || (!added && keep->block.size);
    pthread_mutex_unlock(&keep->lock);
    if (full)
        keep_close_block(keep);
}

void keep_profile(struct keep *keep, struct kept *head, struct view content)
{
    struct kept *kept = kept_new(keep, head->kind);
    if (kept) {
        kept->arrived = head->arrived;
        kept->series = head->series;
        kept->query = head->query;
        kept->content = head->content;
        kept->by_ingest = head->by_ingest;
    } else {
        series_unref(head->series);
        free(head->query);
        free(head->content);
        return;
    }
    bool packed = keep_pack(kept, content);
    pthread_mutex_lock(&keep->lock);
    kept->serial = ++keep->serial;
    if (packed)
        keep_push(keep, kept);
    else
        keep->refused++;
    pthread_mutex_unlock(&keep->lock);
    if (!packed)
        kept_unref(kept);
}

/* A copy of the open block; under the lock. NULL: it is empty, or no memory. */
static struct kept *keep_copy_block(struct keep *keep)
{
    struct kept *kept = keep->block.size ? kept_new(keep, KEPT_TRACES) : NULL;
    if (!kept)
        return NULL;
    kept->serial = keep->block_serial;
    kept->arrived = keep->block_arrived;
    kept->plain = keep->block.size;
    bytes_init(&kept->bytes, keep->block.size, keep->budget);
    if (bytes_append_view(&kept->bytes, bytes_view(&keep->block)) == BYTES_OK)
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
    struct kept *block = list && keep->block_serial >= from ? keep_copy_block(keep) : NULL;
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
