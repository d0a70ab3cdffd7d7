/* Digests of secrets with GnuTLS, and constant-time comparison. Any thread. */
#ifndef LIB_NET_TLS_DIGEST_H
#define LIB_NET_TLS_DIGEST_H

#include "lib/base/view.h"

enum { DIGEST_MD5_SIZE = 16, DIGEST_SHA1_SIZE = 20, DIGEST_KEYED_SIZE = 32, DIGEST_KEY_SIZE = 32 };

/* False: GnuTLS does not support it (MD5 in FIPS mode), or no memory. */
bool digest_md5(struct view text, uint8_t out[DIGEST_MD5_SIZE]);
bool digest_sha1(const struct view *parts, size_t count, uint8_t out[DIGEST_SHA1_SIZE]);

/* HMAC-SHA-256 of the parts; how the bytes are divided into parts matters. */
bool digest_keyed(const uint8_t key[DIGEST_KEY_SIZE], const struct view *parts, size_t count,
                  uint8_t out[DIGEST_KEYED_SIZE]);

/* Generates a random key. False: the system has no random bytes. */
bool digest_key(uint8_t key[DIGEST_KEY_SIZE]);

/* Compares in constant time. */
bool digest_same(const uint8_t *a, const uint8_t *b, size_t size);

#endif
