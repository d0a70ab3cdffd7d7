#include "lib/net/tls/named_digest.h"

#include <gnutls/crypto.h>

static int hash(enum named_digest digest, struct view key, struct view bytes, uint8_t *sum,
                size_t *size)
{
    switch (digest) {
    case NAMED_MD5:
        *size = 16;
        return gnutls_hash_fast(GNUTLS_DIG_MD5, bytes.data, bytes.size, sum);
    case NAMED_SHA1:
        *size = 20;
        return gnutls_hash_fast(GNUTLS_DIG_SHA1, bytes.data, bytes.size, sum);
    case NAMED_SHA3_256:
        *size = 32;
        return gnutls_hash_fast(GNUTLS_DIG_SHA3_256, bytes.data, bytes.size, sum);
    case NAMED_HMAC_SHA256:
        *size = 32;
        return gnutls_hmac_fast(GNUTLS_MAC_SHA256, key.data, key.size, bytes.data, bytes.size, sum);
    case NAMED_HMAC_SHA512:
        *size = 64;
        return gnutls_hmac_fast(GNUTLS_MAC_SHA512, key.data, key.size, bytes.data, bytes.size, sum);
    }
    return -1;
}

size_t named_digest_hex(enum named_digest digest, struct view key, struct view bytes,
                        char out[NAMED_HEX_MAX])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t sum[NAMED_HEX_MAX / 2];
    size_t size = 0;
    if (hash(digest, key, bytes, sum, &size) != 0)
        return 0;
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    return 2 * size;
}
