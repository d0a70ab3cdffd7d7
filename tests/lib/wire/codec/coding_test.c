/* Snappy, LZ4 and zlib: the output of Go's libraries is read, and decompression is bounded. */
#include "lib/wire/codec/coding.h"

#include "tests/support/suite.h"

#include <stdlib.h>

#define TEXT "a text, a text, a text, a text"

static const enum encoding_name encodings[] = {ENCODING_ZLIB, ENCODING_DEFLATE, ENCODING_SNAPPY,
                                               ENCODING_SNAPPY_FRAMED, ENCODING_LZ4};
enum { ENCODINGS = sizeof encodings / sizeof *encodings };

static struct bytes run(size_t max)
{
    struct bytes bytes;
    bytes_init(&bytes, max, NULL);
    return bytes;
}

static void reads(enum encoding_name encoding, struct view packed, struct view want)
{
    struct bytes out = run(1000);
    ck_assert_int_eq(inflate_append(encoding, packed, &out), INFLATE_OK);
    ck_assert_msg(view_eq(bytes_view(&out), want), "%s: %.*s", encoding_text(encoding),
                  VIEW_ARG(bytes_view(&out)));
    bytes_release(&out);
}

static void is_bad(enum encoding_name encoding, struct view packed)
{
    struct bytes out = run(1 << 20);
    ck_assert_int_eq(inflate_append(encoding, packed, &out), INFLATE_BAD);
    ck_assert_uint_eq(out.size, 0);
    bytes_release(&out);
}

/* Written by golang/snappy, pierrec/lz4 and compress/zlib, which the Collector uses. */
START_TEST(what_go_writes_is_read)
{
    struct view block = VIEW("\x1e\x1c\x61\x20\x74\x65\x78\x74\x2c\x20\x56\x08\x00");
    struct view framed = VIEW("\xff\x06\x00\x00\x73\x4e\x61\x50\x70\x59\x00\x11\x00\x00\x22\x8e"
                              "\x91\x48\x1e\x1c\x61\x20\x74\x65\x78\x74\x2c\x20\x56\x08\x00");
    struct view lz4 = VIEW("\x04\x22\x4d\x18\x64\x70\xb9\x1d\x00\x00\x00\x80\x61\x20\x74\x65\x78"
                           "\x74\x2c\x20\x08\x00\x00\x08\x00\xe0\x61\x20\x74\x65\x78\x74\x2c\x20"
                           "\x61\x20\x74\x65\x78\x74\x00\x00\x00\x00\x6c\x02\x67\x5c");
    struct view zlib = VIEW("\x78\x9c\x4a\x54\x28\x49\xad\x28\xd1\x51\xc0\x4e\x03\x02\x00\x00\xff"
                            "\xff\x98\x42\x09\xfd");
    reads(ENCODING_SNAPPY, block, VIEW(TEXT));
    reads(ENCODING_SNAPPY, framed, VIEW(TEXT));
    reads(ENCODING_SNAPPY_FRAMED, framed, VIEW(TEXT));
    reads(ENCODING_LZ4, lz4, VIEW(TEXT));
    reads(ENCODING_ZLIB, zlib, VIEW(TEXT));
    reads(ENCODING_DEFLATE, zlib, VIEW(TEXT));
    is_bad(ENCODING_SNAPPY_FRAMED, block);
}
END_TEST

START_TEST(streams_of_nothing_are_read_as_go_does)
{
    reads(ENCODING_SNAPPY, VIEW("\0"), VIEW(""));
    reads(ENCODING_SNAPPY_FRAMED, VIEW(""), VIEW(""));
    reads(ENCODING_LZ4, VIEW(""), VIEW(""));
    reads(ENCODING_LZ4, VIEW("\x04\x22\x4d\x18\x64\x70\xb9\x00\x00\x00\x00\x05\x5d\xcc\x02"),
          VIEW(""));
    reads(ENCODING_ZLIB, VIEW("\x78\x9c\x01\x00\x00\xff\xff\x00\x00\x00\x01"), VIEW(""));
    is_bad(ENCODING_SNAPPY, VIEW(""));
    is_bad(ENCODING_ZLIB, VIEW(""));
}
END_TEST

static struct bytes content(size_t size)
{
    struct bytes bytes = run(size + 1);
    ck_assert_int_eq(bytes_reserve(&bytes, size + 1), BYTES_OK);
    uint32_t state = 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        bytes.data[i] = i % 3 ? (uint8_t)'x' : (uint8_t)(state >> 24);
    }
    bytes.size = size;
    return bytes;
}

START_TEST(all_sizes_round_trip_in_pieces)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000, 5 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct bytes plain = content(sizes[s]);
        struct view whole = bytes_view(&plain);
        size_t half = whole.size / 2;
        const struct view views[] = {{whole.data, half}, {whole.data + half, whole.size - half}};
        for (int e = 0; e < ENCODINGS; e++) {
            struct bytes packed = run(SIZE_MAX / 2), out = run(sizes[s]);
            ck_assert(deflate_append_pieces(encodings[e], (struct pieces){views, 2}, &packed));
            ck_assert_int_eq(inflate_append(encodings[e], bytes_view(&packed), &out), INFLATE_OK);
            ck_assert(view_eq(bytes_view(&out), whole));
            bytes_release(&packed);
            bytes_release(&out);
        }
        bytes_release(&plain);
    }
}
END_TEST

START_TEST(a_byte_more_than_the_ceiling_is_too_large)
{
    struct bytes plain = content(200000);
    for (int e = 0; e < ENCODINGS; e++) {
        struct bytes packed = run(SIZE_MAX / 2), out = run(plain.size - 1);
        ck_assert(deflate_append(encodings[e], bytes_view(&plain), &packed));
        ck_assert_int_eq(inflate_append(encodings[e], bytes_view(&packed), &out),
                         INFLATE_TOO_LARGE);
        ck_assert_uint_eq(out.size, 0);
        bytes_release(&packed);
        bytes_release(&out);
    }
    bytes_release(&plain);
}
END_TEST

START_TEST(a_bomb_takes_no_more_than_the_budget)
{
    struct bytes zeros = run(64 << 20);
    ck_assert_int_eq(bytes_reserve(&zeros, 64 << 20), BYTES_OK);
    memset(zeros.data, 0, 64 << 20);
    zeros.size = 64 << 20;
    for (int e = 0; e < ENCODINGS; e++) {
        struct bytes packed = run(SIZE_MAX / 2), out;
        struct budget budget;
        budget_init(&budget, 2 << 20);
        bytes_init(&out, 128 << 20, &budget);
        ck_assert(deflate_append(encodings[e], bytes_view(&zeros), &packed));
        ck_assert_int_eq(inflate_append(encodings[e], bytes_view(&packed), &out),
                         INFLATE_NO_MEMORY);
        ck_assert_uint_le(budget_used(&budget), 2 << 20);
        bytes_release(&out);
        bytes_release(&packed);
    }
    bytes_release(&zeros);
}
END_TEST

START_TEST(a_length_that_is_only_claimed_takes_nothing)
{
    struct budget budget;
    struct bytes out;
    budget_init(&budget, 1 << 30);
    bytes_init(&out, 1 << 30, &budget);
    /* A Snappy block of 5 bytes that claims to hold 512 MiB. */
    ck_assert_int_eq(inflate_append(ENCODING_SNAPPY, VIEW("\x80\x80\x80\x80\x02"), &out),
                     INFLATE_BAD);
    ck_assert_uint_eq(budget_used(&budget), 0);
    bytes_release(&out);
}
END_TEST

START_TEST(what_is_cut_off_damaged_or_followed_by_more_is_bad)
{
    for (int e = 0; e < ENCODINGS; e++) {
        struct bytes packed = run(1000);
        ck_assert(deflate_append(encodings[e], VIEW(TEXT), &packed));
        struct view whole = bytes_view(&packed);
        for (size_t size = 1; size < whole.size; size++)
            if (encodings[e] != ENCODING_SNAPPY_FRAMED || size != 10) /* the mark alone is legal */
                is_bad(encodings[e], (struct view){whole.data, size});
        ck_assert_int_eq(bytes_append_view(&packed, VIEW("\xff")), BYTES_OK);
        is_bad(encodings[e], bytes_view(&packed));
        bytes_release(&packed);
    }
}
END_TEST

START_TEST(checksums_are_checked)
{
    static const enum encoding_name checked[] = {ENCODING_ZLIB, ENCODING_SNAPPY_FRAMED};
    for (size_t e = 0; e < 2; e++) {
        struct bytes packed = run(1000);
        ck_assert(deflate_append(checked[e], VIEW(TEXT), &packed));
        packed.data[checked[e] == ENCODING_ZLIB ? packed.size - 1 : 14] ^= 1;
        is_bad(checked[e], bytes_view(&packed));
        bytes_release(&packed);
    }
}
END_TEST

#define MARK "\xff\x06\x00\x00sNaPpY"

START_TEST(frames_that_may_be_skipped_are_and_others_not)
{
    struct bytes plain = run(1000);
    ck_assert(deflate_append(ENCODING_SNAPPY_FRAMED, VIEW("x"), &plain));
    struct bytes with = run(1000);
    bytes_append_view(&with, VIEW(MARK "\xfe\x02\x00\x00zz" MARK "\x80\x00\x00\x00"));
    bytes_append(&with, plain.data + 10, plain.size - 10);
    reads(ENCODING_SNAPPY_FRAMED, bytes_view(&with), VIEW("x"));
    is_bad(ENCODING_SNAPPY_FRAMED, VIEW(MARK "\x02\x00\x00\x00"));
    is_bad(ENCODING_SNAPPY_FRAMED, VIEW("\xfe\x00\x00\x00"));
    is_bad(ENCODING_SNAPPY_FRAMED, VIEW(MARK "\x00\x03\x00\x00zzz"));
    is_bad(ENCODING_SNAPPY_FRAMED, VIEW("\xff\x06\x00\x00sNaPpZ"));
    bytes_release(&plain);
    bytes_release(&with);
}
END_TEST

START_TEST(plain_frames_are_read_and_their_sum_is_the_formats)
{
    /* CRC-32C("123456789") is 0xe3069283; rotated by 15 and with 0xa282ead8 added, 0xc78ab0e5. */
    reads(ENCODING_SNAPPY_FRAMED,
          VIEW(MARK "\x01\x0d\x00\x00\xe5\xb0\x8a\xc7"
                    "123456789"),
          VIEW("123456789"));
    is_bad(ENCODING_SNAPPY_FRAMED, VIEW(MARK "\x01\x0d\x00\x00\xe5\xb0\x8a\xc6"
                                             "123456789"));
}
END_TEST

START_TEST(several_lz4_frames_are_one_body)
{
    struct bytes packed = run(1000);
    ck_assert(deflate_append(ENCODING_LZ4, VIEW("one "), &packed));
    ck_assert(deflate_append(ENCODING_LZ4, VIEW("two"), &packed));
    reads(ENCODING_LZ4, bytes_view(&packed), VIEW("one two"));
    bytes_release(&packed);
}
END_TEST

START_TEST(a_zlib_dictionary_is_refused)
{
    is_bad(ENCODING_ZLIB, VIEW("\x78\xbb\x00\x00\x00\x01\x01\x00\x00\xff\xff\x00\x00\x00\x01"));
}
END_TEST

START_TEST(without_room_nothing_changes)
{
    for (int e = 0; e < ENCODINGS; e++) {
        struct bytes out = run(5);
        ck_assert(!deflate_append(encodings[e], VIEW("0123456789abcdefghijklmnopq"), &out));
        ck_assert_uint_eq(out.size, 0);
        bytes_release(&out);
    }
}
END_TEST

SUITE_MAIN("coding", what_go_writes_is_read, streams_of_nothing_are_read_as_go_does,
           all_sizes_round_trip_in_pieces, a_byte_more_than_the_ceiling_is_too_large,
           a_bomb_takes_no_more_than_the_budget, a_length_that_is_only_claimed_takes_nothing,
           what_is_cut_off_damaged_or_followed_by_more_is_bad, checksums_are_checked,
           frames_that_may_be_skipped_are_and_others_not,
           plain_frames_are_read_and_their_sum_is_the_formats, several_lz4_frames_are_one_body,
           a_zlib_dictionary_is_refused, without_room_nothing_changes)
