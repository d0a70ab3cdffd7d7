#include "processors/correlation/release/pack.h"

#include "lib/wire/codec/compress.h"
#include "processors/correlation/hold/gather.h"

#include <assert.h>
#include <stdlib.h>

enum { AT_ONCE = 8 /* segments */ };

/* Segments that may still be merged are skipped. */
static bool is_settled(const struct segment *segment, uint64_t mono)
{
    return mono > segment->arrived && mono - segment->arrived > GATHER_WITHIN;
}

/* Returns the next segment to pack, kept alive. NULL: none, or the hold has room. Under the
 * lock. */
static struct segment *pack_choose(struct hold *hold, uint64_t mono)
{
    struct segment *each = hold->unpacked;
    if (hold->bytes <= hold->max_bytes / 2)
        return NULL;
    while (each && each->size < SEGMENT_APART && is_settled(each, mono))
        each = each->newer;
    hold->unpacked = each;
    if (!each || !is_settled(each, mono))
        return NULL;
    hold->unpacked = each->newer;
    each->packing = true;
    atomic_fetch_add_explicit(&each->unwritten, 1, memory_order_relaxed);
    return each;
}

/* Replaces the messages by the compressed ones, unless they are being read or nothing is gained.
 * Under the lock. */
static void pack_replace(struct hold *hold, struct segment *segment, const struct bytes *packed)
{
    uint32_t unwritten = atomic_load_explicit(&segment->unwritten, memory_order_acquire);
    bool is_read = unwritten != segment->live + 1;
    if (segment->live == 0 || is_read || packed->size > segment->size / 10 * 9)
        return;
    uint8_t *bytes = malloc(packed->size);
    if (!bytes)
        return;
    memcpy(bytes, packed->data, packed->size);
    free(segment->bytes);
    segment->bytes = bytes;
    segment->packed = (uint32_t)packed->size;
    hold_shrunk(hold, segment, segment->size - packed->size);
}

void pack_some(struct correlation *self)
{
    struct hold *hold = &self->hold;
    for (int i = 0; i < AT_ONCE; i++) {
        struct bytes packed;
        pthread_mutex_lock(&self->lock);
        struct segment *segment = pack_choose(hold, clock_mono(self->env->clock));
        pthread_mutex_unlock(&self->lock);
        if (!segment)
            return;
        bytes_init(&packed, segment->size, NULL);
        struct view messages = {segment->bytes, segment->size};
        if (deflate_append(ENCODING_ZSTD, messages, &packed)) {
            pthread_mutex_lock(&self->lock);
            pack_replace(hold, segment, &packed);
            pthread_mutex_unlock(&self->lock);
        }
        bytes_release(&packed);
        segment_written(segment, 1);
    }
}

uint8_t *pack_open(const struct segment *segment)
{
    struct bytes out;
    struct view packed = {segment->bytes, segment->packed};
    bytes_init(&out, segment->size, NULL);
    enum inflate_result result = inflate_append(ENCODING_ZSTD, packed, &out);
    assert(result == INFLATE_OK || result == INFLATE_NO_MEMORY);
    if (result != INFLATE_OK) {
        bytes_release(&out);
        return NULL;
    }
    return out.data;
}
