#include "extensions/basicauth/password.h"

#include "lib/base/bytes.h"
#include "lib/net/tls/digest.h"
#include "lib/wire/http/base64.h"

#include <crypt.h>
#include <stdlib.h>

enum { APR1_SALT_MAX = 8, APR1_ROUNDS = 1000, APR1_SIZE = 22 };

#define APR1 "$apr1$"

static const char crypt_letters[] =
    "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends_in_letters(const char *text, size_t count)
{
    return strlen(text) == count && strspn(text, crypt_letters) == count;
}

/* "$2y$10$" and 53 letters. */
static bool is_bcrypt(const char *hash)
{
    if (strlen(hash) != 60 || hash[0] != '$' || hash[1] != '2' || !strchr("aby", hash[2]) ||
        hash[3] != '$' || hash[6] != '$')
        return false;
    int cost = atoi((const char[]){hash[4], hash[5], '\0'});
    return strspn(hash + 4, "0123456789") == 2 && cost >= 4 && cost <= 31 &&
           ends_in_letters(hash + 7, 53);
}

/* "$6$", optionally "rounds=N$", a salt, "$", and as many letters as its digest takes. */
static bool is_sha_crypt(const char *hash)
{
    const char *end = strrchr(hash, '$');
    return end > hash + 2 && ends_in_letters(end + 1, hash[1] == '5' ? 43 : 86);
}

static bool is_apr1(const char *hash)
{
    const char *salt = hash + strlen(APR1), *end = strchr(salt, '$');
    return end && end - salt <= APR1_SALT_MAX && ends_in_letters(end + 1, APR1_SIZE);
}

/* Decodes the digest and the salt after it (SSHA). */
static bool read_sha(const char *hash, struct bytes *out)
{
    bool salted = starts(hash, "{SSHA}");
    bytes_init(out, 256, NULL);
    return base64_decode(view_of(hash + (salted ? 6 : 5)), out) == BASE64_OK &&
           (salted ? out->size > DIGEST_SHA1_SIZE : out->size == DIGEST_SHA1_SIZE);
}

static bool is_sha(const char *hash)
{
    struct bytes digest;
    bool good = read_sha(hash, &digest);
    bytes_release(&digest);
    return good;
}

/* DES-crypt, 13 letters, and its extended form. A short plain password may look the same, but if a
 * hash were taken for one, it would let in anyone who has read the file. */
static bool is_des(const char *hash)
{
    return ends_in_letters(hash, 13) || (*hash == '_' && ends_in_letters(hash + 1, 19));
}

/* Marks that user files put on a user who may no longer log in. */
static bool is_locked(const char *hash)
{
    size_t marks = strspn(hash, "*!");
    const char *rest = hash + marks;
    return marks > 0 && (*rest == '\0' || *rest == '$' || *rest == '{' || is_des(rest) ||
                         strcmp(hash, "*LK*") == 0 || strcmp(hash, "*NP*") == 0);
}

enum password_kind password_kind(const char *hash)
{
    if (starts(hash, "{SHA}") || starts(hash, "{SSHA}"))
        return is_sha(hash) ? PASSWORD_SHA : PASSWORD_UNKNOWN;
    if (starts(hash, APR1))
        return is_apr1(hash) ? PASSWORD_APR1 : PASSWORD_UNKNOWN;
    if (starts(hash, "$5$") || starts(hash, "$6$"))
        return is_sha_crypt(hash) ? PASSWORD_CRYPT : PASSWORD_UNKNOWN;
    if (is_bcrypt(hash))
        return PASSWORD_CRYPT;
    if (*hash == '\0' || *hash == '$' || *hash == '{' || is_des(hash) || is_locked(hash))
        return PASSWORD_UNKNOWN;
    return PASSWORD_PLAIN;
}

#define EXPECTED "expected bcrypt ($2y$), apr1, {SHA}, {SSHA}, $5$, $6$ or a plain password"

const char *password_fault(const char *hash)
{
    static const char *const damaged[] = {"{SHA}", "{SSHA}", APR1,   "$5$",
                                          "$6$",   "$2a$",   "$2b$", "$2y$"};
    if (*hash == '\0')
        return "has no password, " EXPECTED;
    if (is_locked(hash))
        return "locks its user out (* or !): remove the line instead";
    if (is_des(hash))
        return "has a DES-crypt hash, which is too weak, " EXPECTED;
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        if (starts(hash, damaged[i]))
            return "has a damaged or truncated hash, " EXPECTED;
    return "has a hash of an unknown kind, " EXPECTED;
}

bool password_slow(enum password_kind kind)
{
    return kind == PASSWORD_APR1 || kind == PASSWORD_CRYPT;
}

static bool password_same_text(const char *a, const char *b)
{
    size_t size = strlen(a);
    return size == strlen(b) && digest_same((const uint8_t *)a, (const uint8_t *)b, size);
}

/* The time taken depends neither on length nor on content. */
static bool fits_plain(const char *text, struct view password)
{
    static const uint8_t key[DIGEST_KEY_SIZE];
    struct view own = view_of(text);
    uint8_t a[DIGEST_KEYED_SIZE], b[DIGEST_KEYED_SIZE];
    return digest_keyed(key, &own, 1, a) && digest_keyed(key, &password, 1, b) &&
           digest_same(a, b, sizeof a);
}

static bool fits_sha(const char *hash, struct view password)
{
    struct bytes stored;
    uint8_t digest[DIGEST_SHA1_SIZE];
    bool fits = read_sha(hash, &stored);
    if (fits) {
        struct view salt = {stored.data + DIGEST_SHA1_SIZE, stored.size - DIGEST_SHA1_SIZE};
        fits = digest_sha1((const struct view[]){password, salt}, 2, digest) &&
               digest_same(digest, stored.data, sizeof digest);
    }
    bytes_release(&stored);
    return fits;
}

/* ---- apr1: Apache's variant of the MD5 crypt ---- */

static bool md5_of(struct bytes *text, uint8_t digest[DIGEST_MD5_SIZE])
{
    bool good = digest_md5(bytes_view(text), digest);
    bytes_clear(text);
    return good;
}

static bool apr1_first(struct bytes *text, struct view password, struct view salt,
                       uint8_t digest[DIGEST_MD5_SIZE])
{
    bytes_append_view(text, password);
    bytes_append_view(text, salt);
    bytes_append_view(text, password);
    if (!md5_of(text, digest))
        return false;
    bytes_append_view(text, password);
    bytes_append_view(text, VIEW(APR1));
    bytes_append_view(text, salt);
    for (size_t rest = password.size; rest > 0; rest -= rest < 16 ? rest : 16)
        bytes_append(text, digest, rest < 16 ? rest : 16);
    for (size_t bits = password.size; bits; bits >>= 1)
        bytes_append(text, bits & 1 ? (const uint8_t *)"" : password.data, 1);
    return md5_of(text, digest);
}

static bool apr1_round(struct bytes *text, unsigned round, struct view password, struct view salt,
                       uint8_t digest[DIGEST_MD5_SIZE])
{
    struct view last = {digest, DIGEST_MD5_SIZE};
    bytes_append_view(text, round & 1 ? password : last);
    if (round % 3)
        bytes_append_view(text, salt);
    if (round % 7)
        bytes_append_view(text, password);
    bytes_append_view(text, round & 1 ? last : password);
    return md5_of(text, digest);
}

static void apr1_write(const uint8_t digest[DIGEST_MD5_SIZE], char out[APR1_SIZE + 1])
{
    static const uint8_t order[15] = {12, 6, 0, 13, 7, 1, 14, 8, 2, 15, 9, 3, 5, 10, 4};
    for (size_t i = 0; i < 15; i += 3) {
        uint32_t bits = digest[order[i]] | (uint32_t)digest[order[i + 1]] << 8 |
                        (uint32_t)digest[order[i + 2]] << 16;
        for (size_t k = 0; k < 4; k++, bits >>= 6)
            *out++ = crypt_letters[bits & 63];
    }
    *out++ = crypt_letters[digest[11] & 63];
    *out++ = crypt_letters[digest[11] >> 6];
    *out = '\0';
}

static bool fits_apr1(const char *hash, struct view password)
{
    const char *from = hash + strlen(APR1), *end = strchr(from, '$');
    struct view salt = {(const uint8_t *)from, (size_t)(end - from)};
    uint8_t digest[DIGEST_MD5_SIZE];
    char text[APR1_SIZE + 1];
    struct bytes work;
    bytes_init(&work, 4 * (size_t)PASSWORD_MAX, NULL);
    bool good = bytes_reserve(&work, 3 * password.size + 64) == BYTES_OK &&
                apr1_first(&work, password, salt, digest);
    for (unsigned round = 0; good && round < APR1_ROUNDS; round++)
        good = apr1_round(&work, round, password, salt, digest);
    if (good)
        apr1_write(digest, text);
    if (work.data)
        explicit_bzero(work.data, work.capacity);
    bytes_release(&work);
    return good && password_same_text(text, end + 1);
}

/* ---- crypt ---- */

static bool fits_crypt(const char *hash, struct view password)
{
    struct crypt_data *data = calloc(1, sizeof *data);
    char *text = strndup((const char *)password.data, password.size);
    const char *made = data && text ? crypt_r(text, hash, data) : NULL;
    bool fits = made && password_same_text(made, hash);
    if (text)
        explicit_bzero(text, password.size);
    if (data)
        explicit_bzero(data, sizeof *data);
    free(text);
    free(data);
    return fits;
}

bool password_fits(enum password_kind kind, const char *hash, struct view password)
{
    if (password.size > PASSWORD_MAX ||
        (password.size > 0 && memchr(password.data, '\0', password.size)))
        return false;
    if (!password.data)
        password = VIEW("");
    switch (kind) {
    case PASSWORD_PLAIN:
        return fits_plain(hash, password);
    case PASSWORD_SHA:
        return fits_sha(hash, password);
    case PASSWORD_APR1:
        return fits_apr1(hash, password);
    case PASSWORD_CRYPT:
        return fits_crypt(hash, password);
    case PASSWORD_UNKNOWN:
        break;
    }
    return false;
}
