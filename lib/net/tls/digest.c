#include "lib/net/tls/digest.h"

#include "lib/base/log.h"
#include "lib/late/late.h"

#include <gnutls/crypto.h>
#include <sys/random.h>

bool digest_md5(struct view text, uint8_t out[DIGEST_MD5_SIZE])
{
    return gnutls_hash_fast(GNUTLS_DIG_MD5, text.data, text.size, out) == 0;
}

bool digest_sha1(const struct view *parts, size_t count, uint8_t out[DIGEST_SHA1_SIZE])
{
    gnutls_hash_hd_t hash;
    bool good = true;
    if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA1) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        good = good && gnutls_hash(hash, parts[i].data, parts[i].size) == 0;
    gnutls_hash_deinit(hash, out);
    return good;
}

bool digest_keyed(const uint8_t key[DIGEST_KEY_SIZE], const struct view *parts, size_t count,
                  uint8_t out[DIGEST_KEYED_SIZE])
{
    gnutls_hmac_hd_t hash;
    bool good = true;
    if (gnutls_hmac_init(&hash, GNUTLS_MAC_SHA256, key, DIGEST_KEY_SIZE) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = parts[i].size;
        good = good && gnutls_hmac(hash, &size, sizeof size) == 0 &&
               (size == 0 || gnutls_hmac(hash, parts[i].data, parts[i].size) == 0);
    }
    gnutls_hmac_deinit(hash, out);
    return good;
}

bool digest_key(uint8_t key[DIGEST_KEY_SIZE])
{
    char why[256];
    if (!late_has_tls(why, sizeof why)) {
        log_error("%s", why);
        return false;
    }
    return getrandom(key, DIGEST_KEY_SIZE, 0) == DIGEST_KEY_SIZE;
}

bool digest_same(const uint8_t *a, const uint8_t *b, size_t size)
{
    return gnutls_memcmp(a, b, size) == 0;
}
