/*
 * Compresses blocks of this process's own memory with zstd, fast rather than small: one context
 * serves many blocks, and a block's size is known when it is inflated.
 */
#ifndef LIB_WIRE_CODEC_ZSTD_BLOCK_H
#define LIB_WIRE_CODEC_ZSTD_BLOCK_H

#include "lib/base/view.h"

/* A context; one thread at a time. Zeroed: nothing is allocated yet. */
struct zstd_block {
    struct ZSTD_CCtx_s *context;
    uint8_t *out;
    size_t room;
};

/* Compresses a block. Returns the result, valid until the next call; data NULL: no memory. */
struct view zstd_block_pack(struct zstd_block *block, struct view in);
void zstd_block_release(struct zstd_block *block);

/* Inflates what zstd_block_pack returned to its original size. False: no memory. Any thread. */
bool zstd_block_unpack(struct view packed, uint8_t *out, size_t size);

#endif
