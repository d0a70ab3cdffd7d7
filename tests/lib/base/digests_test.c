#include "lib/base/digests.h"
#include "lib/base/sha256.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

typedef void digest_fn(struct view bytes, uint8_t *out);

static void is(digest_fn *digest, size_t size, struct view bytes, const char *want)
{
    uint8_t sum[SHA512_SIZE];
    char hex[2 * SHA512_SIZE + 1];
    digest(bytes, sum);
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    ck_assert_str_eq(hex, want);
}

#define ALPHABET "abcdefghijklmnopqrstuvwxyz"

/* RFC 1321, A.5 */
START_TEST(md5_is_that_of_its_rfc)
{
    is(md5, MD5_SIZE, VIEW(""), "d41d8cd98f00b204e9800998ecf8427e");
    is(md5, MD5_SIZE, VIEW("a"), "0cc175b9c0f1b6a831c399e269772661");
    is(md5, MD5_SIZE, VIEW("abc"), "900150983cd24fb0d6963f7d28e17f72");
    is(md5, MD5_SIZE, VIEW("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
    is(md5, MD5_SIZE, VIEW(ALPHABET), "c3fcd3d76192e4007dfb496cca67e13b");
    is(md5, MD5_SIZE, VIEW("ABCDEFGHIJKLMNOPQRSTUVWXYZ" ALPHABET "0123456789"),
       "d174ab98d277d9f5a5611c2c9f419d9f");
    is(md5, MD5_SIZE,
       VIEW("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
       "57edf4a22be3c955ac49da2e2107b67a");
}
END_TEST

#define TWO_BLOCKS "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"

/* RFC 3174, 7.3, and the examples of FIPS 180-4 */
START_TEST(sha1_is_that_of_its_rfc)
{
    struct view million = {malloc(1000000), 1000000};
    memset((uint8_t *)(uintptr_t)million.data, 'a', million.size);
    is(sha1, SHA1_SIZE, VIEW(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    is(sha1, SHA1_SIZE, VIEW("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    is(sha1, SHA1_SIZE, VIEW(TWO_BLOCKS), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    is(sha1, SHA1_SIZE, million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    is(sha256, SHA256_SIZE, million,
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free((uint8_t *)(uintptr_t)million.data);
}
END_TEST

/* RFC 6234, 8.5 */
START_TEST(sha2_is_that_of_its_rfc)
{
    is(sha256, SHA256_SIZE, VIEW("abc"),
       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    is(sha256, SHA256_SIZE, VIEW(TWO_BLOCKS),
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    is(sha512, SHA512_SIZE, VIEW("abc"),
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
       "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    is(sha512, SHA512_SIZE,
       VIEW("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
            "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
       "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
       "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        md5_is_that_of_its_rfc,
        sha1_is_that_of_its_rfc,
        sha2_is_that_of_its_rfc,
        NULL,
    };
    return suite_run("digests", tests);
}
