#include "lib/net/tls/digest.h"

#include "tests/support/suite.h"

#include <stdio.h>

static void expect_hex(const uint8_t *digest, size_t size, const char *hex)
{
    char text[2 * 64 + 1] = "";
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    ck_assert_str_eq(text, hex);
}

START_TEST(the_digests_are_those_of_the_standards)
{
    uint8_t md5[DIGEST_MD5_SIZE], sha1[DIGEST_SHA1_SIZE];
    ck_assert(digest_md5(VIEW("abc"), md5));
    expect_hex(md5, sizeof md5, "900150983cd24fb0d6963f7d28e17f72");
    ck_assert(digest_sha1((const struct view[]){VIEW("a"), VIEW(""), VIEW("bc")}, 3, sha1));
    expect_hex(sha1, sizeof sha1, "a9993e364706816aba3e25717850c26c9cd0d89d");
}
END_TEST

START_TEST(a_keyed_digest_depends_on_key_parts_and_their_borders)
{
    uint8_t keys[2][DIGEST_KEY_SIZE], a[DIGEST_KEYED_SIZE], b[DIGEST_KEYED_SIZE];
    ck_assert(digest_key(keys[0]) && digest_key(keys[1]));
    ck_assert(digest_keyed(keys[0], (const struct view[]){VIEW("ab"), VIEW("c")}, 2, a));
    ck_assert(digest_keyed(keys[0], (const struct view[]){VIEW("ab"), VIEW("c")}, 2, b));
    ck_assert(digest_same(a, b, sizeof a));
    ck_assert(digest_keyed(keys[0], (const struct view[]){VIEW("a"), VIEW("bc")}, 2, b));
    ck_assert(!digest_same(a, b, sizeof a));
    ck_assert(digest_keyed(keys[1], (const struct view[]){VIEW("ab"), VIEW("c")}, 2, b));
    ck_assert(!digest_same(a, b, sizeof a));
    ck_assert(digest_keyed(keys[0], &(struct view){0}, 1, a));
}
END_TEST

SUITE_MAIN("digest", the_digests_are_those_of_the_standards,
           a_keyed_digest_depends_on_key_parts_and_their_borders)
