/* MD5 (RFC 1321), SHA-1 and SHA-512 (FIPS 180-4) of bytes in memory, for users' own keys: nothing
 * here relies on their strength. Pure. */
#ifndef LIB_BASE_DIGESTS_H
#define LIB_BASE_DIGESTS_H

#include "lib/base/view.h"

enum { MD5_SIZE = 16, SHA1_SIZE = 20, SHA512_SIZE = 64 };

void md5(struct view bytes, uint8_t out[MD5_SIZE]);
void sha1(struct view bytes, uint8_t out[SHA1_SIZE]);
void sha512(struct view bytes, uint8_t out[SHA512_SIZE]);

#endif
