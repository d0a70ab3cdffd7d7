#include "lib/base/digest_blocks.h"

/* The last one or two blocks. Returns their size. */
static size_t pad(struct view bytes, size_t block, bool little, uint8_t out[2 * DIGEST_BLOCK_512])
{
    size_t rest = bytes.size % block, size = rest + 1 + block / 8 <= block ? block : 2 * block;
    uint64_t bits = (uint64_t)bytes.size * 8;
    memset(out, 0, size);
    if (rest)
        memcpy(out, bytes.data + bytes.size - rest, rest);
    out[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        out[size - 8 + i] = (uint8_t)(bits >> (little ? 8 * i : 56 - 8 * i));
    return size;
}

void digest_blocks(struct view bytes, size_t block, bool little, digest_block_fn *fn, void *state)
{
    uint8_t last[2 * DIGEST_BLOCK_512];
    size_t whole = bytes.size - bytes.size % block;
    for (size_t at = 0; at < whole; at += block)
        fn(state, bytes.data + at);
    size_t size = pad(bytes, block, little, last);
    for (size_t at = 0; at < size; at += block)
        fn(state, last + at);
}
