/* The blocks of a message that is hashed: MD5 (RFC 1321), SHA-1 and SHA-2 (FIPS 180-4). Pure. */
#ifndef LIB_BASE_DIGEST_BLOCKS_H
#define LIB_BASE_DIGEST_BLOCKS_H

#include "lib/base/view.h"

enum { DIGEST_BLOCK = 64, DIGEST_BLOCK_512 = 128 };

typedef void digest_block_fn(void *state, const uint8_t *block);

/* Calls fn for each block of the bytes, then for their rest with a one bit, zeros, and the number
 * of bits, little: the least significant byte first. block: DIGEST_BLOCK or DIGEST_BLOCK_512. */
void digest_blocks(struct view bytes, size_t block, bool little, digest_block_fn *fn, void *state);

#endif
