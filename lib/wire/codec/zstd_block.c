#include "lib/wire/codec/zstd_block.h"

#include <stdlib.h>
#include <zstd.h>

/* Half the time of level 1, and nearly as small for spans. */
enum { BLOCK_LEVEL = -1 };

static bool make_room(struct zstd_block *block, size_t size)
{
    if (block->room >= size)
        return true;
    free(block->out);
    block->out = malloc(size);
    block->room = block->out ? size : 0;
    return block->out;
}

struct view zstd_block_pack(struct zstd_block *block, struct view in)
{
    if (!block->context)
        block->context = ZSTD_createCCtx();
    if (!block->context || !make_room(block, ZSTD_compressBound(in.size)))
        return (struct view){0};
    size_t size =
        ZSTD_compressCCtx(block->context, block->out, block->room, in.data, in.size, BLOCK_LEVEL);
    return ZSTD_isError(size) ? (struct view){0} : (struct view){block->out, size};
}

void zstd_block_release(struct zstd_block *block)
{
    ZSTD_freeCCtx(block->context);
    free(block->out);
    *block = (struct zstd_block){0};
}

bool zstd_block_unpack(struct view packed, uint8_t *out, size_t size)
{
    return ZSTD_decompress(out, size, packed.data, packed.size) == size;
}
