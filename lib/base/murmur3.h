/* MurmurHash3 with seed 0, for users' own keys. Pure. */
#ifndef LIB_BASE_MURMUR3_H
#define LIB_BASE_MURMUR3_H

#include "lib/base/view.h"

/* The variant x86_32. */
uint32_t murmur3_32(struct view bytes);

/* The two halves of the variant x64_128. */
void murmur3_128(struct view bytes, uint64_t halves[2]);

#endif
