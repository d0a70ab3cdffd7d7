#include "lib/wire/codec/compress.h"

#include "tests/support/suite.h"

#include <zstd.h>

static struct bytes run(size_t max)
{
    struct bytes bytes;
    bytes_init(&bytes, max, NULL);
    return bytes;
}

static struct bytes packed_zeros(enum encoding_name encoding, size_t size)
{
    struct bytes zeros = run(size), out = run(SIZE_MAX);
    ck_assert_int_eq(bytes_reserve(&zeros, size), BYTES_OK);
    memset(zeros.data, 0, size);
    zeros.size = size;
    ck_assert(deflate_append(encoding, bytes_view(&zeros), &out));
    bytes_release(&zeros);
    return out;
}

START_TEST(names_of_encodings)
{
    ck_assert_int_eq(encoding_parse((struct view){0}), ENCODING_IDENTITY);
    ck_assert_int_eq(encoding_parse(VIEW("")), ENCODING_IDENTITY);
    ck_assert_int_eq(encoding_parse(VIEW("Identity")), ENCODING_IDENTITY);
    ck_assert_int_eq(encoding_parse(VIEW("gzip")), ENCODING_GZIP);
    ck_assert_int_eq(encoding_parse(VIEW("GZIP")), ENCODING_GZIP);
    ck_assert_int_eq(encoding_parse(VIEW("x-gzip")), ENCODING_GZIP);
    ck_assert_int_eq(encoding_parse(VIEW("zstd")), ENCODING_ZSTD);
    ck_assert_int_eq(encoding_parse(VIEW("zlib")), ENCODING_ZLIB);
    ck_assert_int_eq(encoding_parse(VIEW("deflate")), ENCODING_DEFLATE);
    ck_assert_int_eq(encoding_parse(VIEW("Snappy")), ENCODING_SNAPPY);
    ck_assert_int_eq(encoding_parse(VIEW("x-snappy-framed")), ENCODING_SNAPPY_FRAMED);
    ck_assert_int_eq(encoding_parse(VIEW("lz4")), ENCODING_LZ4);
    ck_assert_int_eq(encoding_parse(VIEW("br")), ENCODING_UNKNOWN);
    ck_assert_int_eq(encoding_parse(VIEW("unknown")), ENCODING_UNKNOWN);
    ck_assert_int_eq(encoding_parse(VIEW("gzip, gzip")), ENCODING_UNKNOWN);
    ck_assert_str_eq(encoding_text(ENCODING_GZIP), "gzip");
    ck_assert_str_eq(encoding_text(ENCODING_ZSTD), "zstd");
    ck_assert_str_eq(encoding_text(ENCODING_IDENTITY), "identity");
}
END_TEST

START_TEST(grpc_has_names_of_its_own)
{
    ck_assert_int_eq(encoding_parse_grpc(VIEW("gzip")), ENCODING_GZIP);
    ck_assert_int_eq(encoding_parse_grpc(VIEW("zstd")), ENCODING_ZSTD);
    ck_assert_int_eq(encoding_parse_grpc(VIEW("deflate")), ENCODING_DEFLATE);
    ck_assert_int_eq(encoding_parse_grpc(VIEW("snappy")), ENCODING_SNAPPY_FRAMED);
    ck_assert_int_eq(encoding_parse_grpc(VIEW("")), ENCODING_IDENTITY);
    ck_assert_int_eq(encoding_parse_grpc(VIEW("zlib")), ENCODING_UNKNOWN);
    ck_assert_int_eq(encoding_parse_grpc(VIEW("lz4")), ENCODING_UNKNOWN);
    ck_assert_int_eq(encoding_parse_grpc(VIEW("br")), ENCODING_UNKNOWN);
}
END_TEST

START_TEST(a_set_has_words)
{
    char text[128];
    ck_assert_str_eq(encoding_words(ENCODINGS_ALL, text, sizeof text),
                     "gzip, zstd, zlib, deflate, snappy, x-snappy-framed, lz4 or identity");
    ck_assert_str_eq(encoding_words(ENCODING_BIT(ENCODING_GZIP), text, sizeof text), "gzip");
    ck_assert_str_eq(encoding_words(0, text, sizeof text), "");
}
END_TEST

START_TEST(every_encoding_round_trips)
{
    struct view text = VIEW("a text, a text, a text, a text");
    for (int encoding = ENCODING_IDENTITY; encoding < ENCODING_UNKNOWN; encoding++) {
        struct bytes packed = run(1000), out = run(text.size);
        ck_assert(deflate_append((enum encoding_name)encoding, text, &packed));
        ck_assert_int_eq(inflate_append((enum encoding_name)encoding, bytes_view(&packed), &out),
                         INFLATE_OK);
        ck_assert(view_eq(bytes_view(&out), text));
        bytes_release(&packed);
        bytes_release(&out);
    }
}
END_TEST

START_TEST(a_body_in_pieces_becomes_one_compressed_body)
{
    const struct view views[] = {VIEW(""), VIEW("a text, "),      VIEW("a text, a"),
                                 VIEW(""), VIEW(" text, a text"), VIEW("")};
    struct view text = VIEW("a text, a text, a text, a text");
    for (int encoding = ENCODING_IDENTITY; encoding < ENCODING_UNKNOWN; encoding++) {
        struct bytes packed = run(1000), out = run(text.size);
        struct pieces pieces = {views, sizeof views / sizeof *views};
        ck_assert(deflate_append_pieces((enum encoding_name)encoding, pieces, &packed));
        ck_assert_int_eq(inflate_append((enum encoding_name)encoding, bytes_view(&packed), &out),
                         INFLATE_OK);
        ck_assert(view_eq(bytes_view(&out), text));
        bytes_release(&packed);
        bytes_release(&out);
    }
}
END_TEST

START_TEST(unknown_encoding_is_bad_both_ways)
{
    struct bytes out = run(100);
    ck_assert_int_eq(inflate_append(ENCODING_UNKNOWN, VIEW("x"), &out), INFLATE_BAD);
    ck_assert(!deflate_append(ENCODING_UNKNOWN, VIEW("x"), &out));
    bytes_release(&out);
}
END_TEST

START_TEST(identity_tells_ceiling_from_budget)
{
    struct bytes out = run(3);
    ck_assert_int_eq(inflate_append(ENCODING_IDENTITY, VIEW("four"), &out), INFLATE_TOO_LARGE);
    struct budget budget;
    budget_init(&budget, 2);
    bytes_init(&out, 100, &budget);
    ck_assert_int_eq(inflate_append(ENCODING_IDENTITY, VIEW("four"), &out), INFLATE_NO_MEMORY);
}
END_TEST

START_TEST(zstd_bomb_stops_at_the_ceiling)
{
    struct bytes packed = packed_zeros(ENCODING_ZSTD, 64 << 20), out;
    struct budget budget;
    budget_init(&budget, 8 << 20);
    bytes_init(&out, 1 << 20, &budget);
    ck_assert_int_eq(inflate_append(ENCODING_ZSTD, bytes_view(&packed), &out), INFLATE_TOO_LARGE);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_uint_le(budget_used(&budget), 1 << 20);
    bytes_release(&out);
    bytes_release(&packed);
}
END_TEST

START_TEST(zstd_fits_exactly)
{
    struct bytes packed = packed_zeros(ENCODING_ZSTD, 100000), out = run(100000);
    ck_assert_int_eq(inflate_append(ENCODING_ZSTD, bytes_view(&packed), &out), INFLATE_OK);
    ck_assert_uint_eq(out.size, 100000);
    bytes_release(&out);
    out = run(99999);
    ck_assert_int_eq(inflate_append(ENCODING_ZSTD, bytes_view(&packed), &out), INFLATE_TOO_LARGE);
    bytes_release(&out);
    bytes_release(&packed);
}
END_TEST

START_TEST(zstd_past_the_budget_is_no_memory)
{
    struct bytes packed = packed_zeros(ENCODING_ZSTD, 4 << 20), out;
    struct budget budget;
    budget_init(&budget, 1 << 20);
    bytes_init(&out, 64 << 20, &budget);
    ck_assert_int_eq(inflate_append(ENCODING_ZSTD, bytes_view(&packed), &out), INFLATE_NO_MEMORY);
    bytes_release(&out);
    bytes_release(&packed);
}
END_TEST

/* The library keeps its own copy of up to a window of the content. */
START_TEST(what_zstd_keeps_for_itself_is_charged)
{
    enum { SIZE = 6 << 20 };
    struct bytes packed, out;
    struct budget budget;
    bytes_init(&packed, 1 << 20, NULL);
    /* A window of 8 MiB, SIZE zero bytes in blocks of one byte repeated (RFC 8878, 3.1.1.2). */
    bytes_append(&packed, "\x28\xb5\x2f\xfd\x00\x68", 6);
    for (uint32_t left = SIZE; left > 0; left -= 1 << 17) {
        uint32_t head = (1 << 17) << 3 | 1 << 1 | (left == 1 << 17);
        uint8_t block[] = {(uint8_t)head, (uint8_t)(head >> 8), (uint8_t)(head >> 16), 0};
        bytes_append(&packed, block, sizeof block);
    }
    for (size_t mib = 11; mib <= 16; mib += 5) {
        budget_init(&budget, mib << 20);
        bytes_init(&out, SIZE, &budget);
        ck_assert_int_eq(inflate_append(ENCODING_ZSTD, bytes_view(&packed), &out),
                         mib == 16 ? INFLATE_OK : INFLATE_NO_MEMORY);
        ck_assert_uint_le(budget_used(&budget), SIZE);
        bytes_release(&out);
        ck_assert_uint_eq(budget_used(&budget), 0);
    }
    bytes_release(&packed);
}
END_TEST

START_TEST(zstd_reads_several_frames)
{
    struct bytes packed = run(1000), out = run(100);
    ck_assert(deflate_append(ENCODING_ZSTD, VIEW("one "), &packed));
    ck_assert(deflate_append(ENCODING_ZSTD, VIEW("two"), &packed));
    ck_assert_int_eq(inflate_append(ENCODING_ZSTD, bytes_view(&packed), &out), INFLATE_OK);
    ck_assert(view_eq(bytes_view(&out), VIEW("one two")));
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(zstd_cut_off_or_followed_by_garbage_is_bad)
{
    struct bytes packed = run(1000), out = run(100);
    ck_assert(deflate_append(ENCODING_ZSTD, VIEW("some text and some text"), &packed));
    for (size_t size = 0; size < packed.size; size++)
        ck_assert_int_eq(inflate_append(ENCODING_ZSTD, (struct view){packed.data, size}, &out),
                         INFLATE_BAD);
    ck_assert_int_eq(bytes_append_view(&packed, VIEW("garbage")), BYTES_OK);
    ck_assert_int_eq(inflate_append(ENCODING_ZSTD, bytes_view(&packed), &out), INFLATE_BAD);
    ck_assert_uint_eq(out.size, 0);
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(zstd_window_past_eight_mebibytes_is_refused)
{
    /* A frame header that asks for a window of 128 MiB, and an empty last block. */
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x01, 0x00, 0x00};
    struct bytes out = run(100);
    ck_assert_int_eq(inflate_append(ENCODING_ZSTD, (struct view){frame, sizeof frame}, &out),
                     INFLATE_TOO_LARGE);
    bytes_release(&out);
}
END_TEST

START_TEST(zstd_without_room_changes_nothing)
{
    struct bytes out = run(10);
    ck_assert(!deflate_append(ENCODING_ZSTD, VIEW("0123456789abcdefghijklmnopq"), &out));
    ck_assert_uint_eq(out.size, 0);
    bytes_release(&out);
}
END_TEST

START_TEST(gzip_is_known_by_its_magic)
{
    ck_assert(looks_gzip(VIEW("\x1f\x8b")));
    ck_assert(!looks_gzip(VIEW("\x1f")));
    ck_assert(!looks_gzip(VIEW("\x0a\x04zz")));
    ck_assert(!looks_gzip((struct view){0}));
}
END_TEST

SUITE_MAIN("compress", names_of_encodings, grpc_has_names_of_its_own, a_set_has_words,
           every_encoding_round_trips, a_body_in_pieces_becomes_one_compressed_body,
           unknown_encoding_is_bad_both_ways, identity_tells_ceiling_from_budget,
           zstd_bomb_stops_at_the_ceiling, zstd_fits_exactly, zstd_past_the_budget_is_no_memory,
           what_zstd_keeps_for_itself_is_charged, zstd_reads_several_frames,
           zstd_cut_off_or_followed_by_garbage_is_bad, zstd_window_past_eight_mebibytes_is_refused,
           zstd_without_room_changes_nothing, gzip_is_known_by_its_magic)
