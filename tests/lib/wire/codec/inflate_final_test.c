#include "lib/wire/codec/inflate_final.h"

#include "tests/support/suite.h"

#include <string.h>

static uint8_t zeros[300000];

static void expect(enum encoding_name encoding, struct view body, size_t size)
{
    ck_assert_int_eq(inflate_final(encoding, body, size - 1, NULL, INFLATE_NO_MEMORY),
                     INFLATE_TOO_LARGE);
    ck_assert_int_eq(inflate_final(encoding, body, 1, NULL, INFLATE_NO_MEMORY), INFLATE_TOO_LARGE);
    ck_assert_int_eq(inflate_final(encoding, body, size, NULL, INFLATE_NO_MEMORY),
                     INFLATE_NO_MEMORY);
    ck_assert_int_eq(inflate_final(encoding, body, 1, NULL, INFLATE_OK), INFLATE_OK);
    ck_assert_int_eq(inflate_final(encoding, body, 1, NULL, INFLATE_BAD), INFLATE_BAD);
}

/* Several members or frames, some of them empty, the last one the smallest. */
static void pack(enum encoding_name encoding, size_t count, struct bytes *packed)
{
    bytes_init(packed, 1 << 20, NULL);
    for (size_t i = 0; i < count; i++) {
        size_t size = i + 1 == count ? 10 : i % 2 ? 0 : sizeof zeros;
        ck_assert(deflate_append(encoding, (struct view){zeros, size}, packed));
    }
}

static const enum encoding_name encodings[] = {ENCODING_GZIP, ENCODING_ZSTD};

START_TEST(what_is_larger_is_too_large_also_in_several_members)
{
    for (size_t i = 0; i < 2; i++) {
        struct bytes packed;
        pack(encodings[i], 1, &packed);
        expect(encodings[i], bytes_view(&packed), 10);
        bytes_release(&packed);
        pack(encodings[i], 2, &packed);
        expect(encodings[i], bytes_view(&packed), sizeof zeros + 10);
        bytes_release(&packed);
        pack(encodings[i], 6, &packed);
        expect(encodings[i], bytes_view(&packed), 3 * sizeof zeros + 10);
        bytes_release(&packed);
    }
}
END_TEST

START_TEST(random_bytes_count_too)
{
    static uint8_t noise[200000];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    for (size_t i = 0; i < 2; i++) {
        struct bytes packed;
        bytes_init(&packed, 1 << 20, NULL);
        ck_assert(deflate_append(encodings[i], (struct view){noise, sizeof noise}, &packed));
        ck_assert(deflate_append(encodings[i], (struct view){noise, 100}, &packed));
        expect(encodings[i], bytes_view(&packed), sizeof noise + 100);
        bytes_release(&packed);
    }
}
END_TEST

/* A block of 128 KiB in four bytes, many times, in a frame without a content size. */
START_TEST(a_bomb_that_tells_nothing_is_found_out)
{
    static uint8_t bomb[6 + 4 * 1000] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58};
    for (size_t i = 0; i < 1000; i++)
        memcpy(bomb + 6 + 4 * i, i < 999 ? "\x02\0\x10\0" : "\x03\0\x10\0", 4);
    expect(ENCODING_ZSTD, (struct view){bomb, sizeof bomb}, (size_t)1000 << 17);
}
END_TEST

START_TEST(what_is_cut_off_or_no_such_format_is_not_too_large)
{
    for (size_t i = 0; i < 2; i++) {
        struct bytes packed;
        pack(encodings[i], 3, &packed);
        for (size_t n = 0; n < packed.size; n += n < 40 ? 1 : 97)
            ck_assert_int_eq(inflate_final(encodings[i], (struct view){packed.data, n},
                                           SIZE_MAX / 2, NULL, INFLATE_NO_MEMORY),
                             INFLATE_NO_MEMORY);
        ck_assert_int_eq(
            inflate_final(encodings[1 - i], bytes_view(&packed), 1, NULL, INFLATE_NO_MEMORY),
            INFLATE_NO_MEMORY);
        bytes_release(&packed);
    }
    ck_assert_int_eq(inflate_final(ENCODING_IDENTITY, VIEW("plain"), 1, NULL, INFLATE_NO_MEMORY),
                     INFLATE_NO_MEMORY);
}
END_TEST

SUITE_MAIN("inflate_final", what_is_larger_is_too_large_also_in_several_members,
           random_bytes_count_too, a_bomb_that_tells_nothing_is_found_out,
           what_is_cut_off_or_no_such_format_is_not_too_large)
