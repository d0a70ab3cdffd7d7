#include "wire/inflate_told.h"

#include "tests/support/suite.h"

static uint8_t zeros[100000];

static void expect(enum encoding_name encoding, struct view body, size_t size)
{
    ck_assert_int_eq(inflate_told(encoding, body, size - 1, INFLATE_NO_MEMORY), INFLATE_TOO_LARGE);
    ck_assert_int_eq(inflate_told(encoding, body, size, INFLATE_NO_MEMORY), INFLATE_NO_MEMORY);
    ck_assert_int_eq(inflate_told(encoding, body, 1, INFLATE_OK), INFLATE_OK);
    ck_assert_int_eq(inflate_told(encoding, body, 1, INFLATE_BAD), INFLATE_BAD);
}

START_TEST(gzip_and_zstd_say_how_large_they_are)
{
    static const enum encoding_name encodings[] = {ENCODING_GZIP, ENCODING_ZSTD};
    for (size_t i = 0; i < 2; i++) {
        struct bytes packed;
        bytes_init(&packed, sizeof zeros, NULL);
        ck_assert(deflate_append(encodings[i], (struct view){zeros, sizeof zeros}, &packed));
        expect(encodings[i], bytes_view(&packed), sizeof zeros);
        bytes_release(&packed);
    }
}
END_TEST

START_TEST(what_says_nothing_is_not_too_large)
{
    static const uint8_t cut[] = {0x1f, 0x8b, 8, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t unknown[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 1, 0, 0};
    static const struct view bodies[] = {{cut, sizeof cut}, {unknown, sizeof unknown}, {0}};
    for (size_t i = 0; i < 3; i++)
        for (int encoding = ENCODING_IDENTITY; encoding <= ENCODING_UNKNOWN; encoding++)
            ck_assert_int_eq(
                inflate_told((enum encoding_name)encoding, bodies[i], 0, INFLATE_NO_MEMORY),
                INFLATE_NO_MEMORY);
}
END_TEST

SUITE_MAIN("inflate_told", gzip_and_zstd_say_how_large_they_are, what_says_nothing_is_not_too_large)
