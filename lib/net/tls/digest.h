/* Digests of secrets, from GnuTLS, and comparing in constant time. Any thread. */
#ifndef LIB_NET_TLS_DIGEST_H
#define LIB_NET_TLS_DIGEST_H

#include "lib/base/view.h"

enum { DIGEST_MD5_SIZE = 16, DIGEST_SHA1_SIZE = 20, DIGEST_KEYED_SIZE = 32, DIGEST_KEY_SIZE = 32 };

/* False: the library does not offer it (MD5 where FIPS forbids it), or has no memory. */
bool digest_md5(struct view text, uint8_t out[DIGEST_MD5_SIZE]);
bool digest_sha1(const struct view *parts, size_t count, uint8_t out[DIGEST_SHA1_SIZE]);

/* HMAC-SHA-256 of the parts, of which the borders count. */
bool digest_keyed(const uint8_t key[DIGEST_KEY_SIZE], const struct view *parts, size_t count,
                  uint8_t out[DIGEST_KEYED_SIZE]);

/* A key of random bytes. False: the system has none. */
bool digest_key(uint8_t key[DIGEST_KEY_SIZE]);

/* Takes the same time wherever the two differ. */
bool digest_same(const uint8_t *a, const uint8_t *b, size_t size);

#endif
