/* SHA-256 (FIPS 180-4) of bytes in memory. Pure. */
#ifndef LIB_BASE_SHA256_H
#define LIB_BASE_SHA256_H

#include "lib/base/view.h"

enum { SHA256_SIZE = 32, SHA256_HEX = 64 };

void sha256(struct view bytes, uint8_t out[SHA256_SIZE]);

/* The same in lower case hex, without a NUL. */
void sha256_hex(struct view bytes, char out[SHA256_HEX]);

#endif
