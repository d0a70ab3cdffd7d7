#include "processors/correlation/release/pack.h"

#include "lib/wire/codec/zstd_block.h"
#include "processors/correlation/hold/gather.h"

#include <stdlib.h>

/* Segments, and bytes of messages of one, since it is inflated as a whole to let one span go. */
enum { AT_ONCE = 8, PACK_LARGEST = 2 << 20 };

static bool is_worth(const struct segment *segment)
{
    return segment->size >= SEGMENT_APART && segment->size <= PACK_LARGEST;
}

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
    while (each && !is_worth(each) && is_settled(each, mono))
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
static void pack_replace(struct hold *hold, struct segment *segment, struct view packed)
{
    uint32_t unwritten = atomic_load_explicit(&segment->unwritten, memory_order_acquire);
    bool is_read = unwritten != segment->live + 1;
    if (segment->live == 0 || is_read || packed.size > segment->size / 10 * 9)
        return;
    uint8_t *bytes = malloc(packed.size);
    if (!bytes)
        return;
    memcpy(bytes, packed.data, packed.size);
    free(segment->bytes);
    segment->bytes = bytes;
    segment->packed = (uint32_t)packed.size;
    hold_shrunk(hold, segment, segment->size - packed.size);
}

static struct segment *next_segment(struct correlation *self)
{
    pthread_mutex_lock(&self->lock);
    struct segment *segment = pack_choose(&self->hold, clock_mono(self->env->clock));
    pthread_mutex_unlock(&self->lock);
    return segment;
}

void pack_some(struct correlation *self)
{
    struct zstd_block block = {0};
    struct segment *segment;
    for (int i = 0; i < AT_ONCE && (segment = next_segment(self)); i++) {
        struct view packed = zstd_block_pack(&block, (struct view){segment->bytes, segment->size});
        if (packed.data) {
            pthread_mutex_lock(&self->lock);
            pack_replace(&self->hold, segment, packed);
            pthread_mutex_unlock(&self->lock);
        }
        segment_written(segment, 1);
    }
    zstd_block_release(&block);
}

uint8_t *pack_open(const struct segment *segment)
{
    uint8_t *messages = malloc(segment->size);
    if (messages &&
        zstd_block_unpack((struct view){segment->bytes, segment->packed}, messages, segment->size))
        return messages;
    free(messages);
    return NULL;
}
