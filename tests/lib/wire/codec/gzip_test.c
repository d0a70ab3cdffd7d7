#include "lib/wire/codec/gzip.h"
#include "tests/support/suite.h"

#include <libdeflate.h>
#include <stdlib.h>

static const enum gzip_engine engines[] = {GZIP_ISAL, GZIP_LIBDEFLATE};

/* Text that compresses about as well as telemetry. */
static struct bytes sample_text(size_t size)
{
    struct bytes text;
    bytes_init(&text, size + 64, NULL);
    for (uint64_t seed = 7; text.size < size;) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        ck_assert(bytes_printf(&text, "span %u of service-%u; ", (unsigned)(seed >> 50),
                               (unsigned)(seed >> 61)) == BYTES_OK);
    }
    text.size = size;
    return text;
}

static bool deflate(enum gzip_engine engine, struct view text, struct bytes *out)
{
    return gzip_deflate(engine, (struct pieces){&text, 1}, out);
}

static struct bytes squeezed(enum gzip_engine engine, struct view text)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX, NULL);
    ck_assert(deflate(engine, text, &out));
    return out;
}

START_TEST(test_what_one_engine_writes_both_read)
{
    const size_t sizes[] = {0, 1, 100, 32768, 65536, 1 << 20};
    enum gzip_engine writer = engines[_i % 2], reader = engines[_i / 2];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bytes text = sample_text(sizes[i]), out;
        struct bytes packed = squeezed(writer, bytes_view(&text));
        bytes_init(&out, sizes[i], NULL);
        ck_assert_int_eq(gzip_inflate(reader, bytes_view(&packed), &out), INFLATE_OK);
        ck_assert(view_eq(bytes_view(&out), bytes_view(&text)));
        if (sizes[i] > 65536)
            ck_assert_uint_lt(packed.size * 3, text.size);
        bytes_release(&text);
        bytes_release(&packed);
        bytes_release(&out);
    }
}
END_TEST

START_TEST(test_output_is_appended)
{
    struct bytes packed = squeezed(engines[_i], VIEW("behind")), out;
    bytes_init(&out, 100, NULL);
    ck_assert_int_eq(bytes_append_view(&out, VIEW("before ")), BYTES_OK);
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_OK);
    ck_assert(view_eq(bytes_view(&out), VIEW("before behind")));
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(test_one_byte_past_the_ceiling_is_too_large)
{
    struct bytes text = sample_text(100000), out;
    struct bytes packed = squeezed(engines[_i], bytes_view(&text));
    bytes_init(&out, text.size - 1, NULL);
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_TOO_LARGE);
    ck_assert_uint_eq(out.size, 0);
    bytes_release(&out);
    bytes_init(&out, text.size, NULL);
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_OK);
    bytes_release(&text);
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(test_a_bomb_costs_no_more_than_the_ceiling)
{
    struct bytes zeros, out;
    bytes_init(&zeros, 64 << 20, NULL);
    ck_assert_int_eq(bytes_reserve(&zeros, 64 << 20), BYTES_OK);
    memset(zeros.data, 0, 64 << 20);
    zeros.size = 64 << 20;
    struct bytes packed = squeezed(engines[_i], bytes_view(&zeros));
    struct budget budget;
    budget_init(&budget, 8 << 20);
    bytes_init(&out, 2 << 20, &budget);
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_TOO_LARGE);
    ck_assert_uint_le(budget_used(&budget), 2 << 20);
    bytes_release(&out);
    ck_assert_uint_eq(budget_used(&budget), 0);
    bytes_release(&zeros);
    bytes_release(&packed);
}
END_TEST

START_TEST(test_output_is_charged_before_it_is_written)
{
    struct bytes text = sample_text(1 << 20), out;
    struct bytes packed = squeezed(engines[_i], bytes_view(&text));
    struct budget budget;
    budget_init(&budget, 512 << 10);
    bytes_init(&out, 16 << 20, &budget);
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_NO_MEMORY);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_uint_le(budget_used(&budget), 512 << 10);
    bytes_release(&out);
    bytes_release(&text);
    bytes_release(&packed);
}
END_TEST

START_TEST(test_pieces_become_one_member)
{
    struct bytes text = sample_text(300000), packed, out;
    struct view views[64];
    size_t cut = text.size / 64;
    for (size_t i = 0; i < 64; i++)
        views[i] = (struct view){text.data + i * cut, i < 63 ? cut : text.size - 63 * cut};
    bytes_init(&packed, SIZE_MAX, NULL);
    bytes_init(&out, text.size, NULL);
    ck_assert(gzip_deflate(engines[_i], (struct pieces){views, 64}, &packed));
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_OK);
    ck_assert(view_eq(bytes_view(&out), bytes_view(&text)));
    bytes_release(&text);
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(test_all_members_are_read)
{
    struct bytes packed, out;
    bytes_init(&packed, 10000, NULL);
    bytes_init(&out, 100, NULL);
    const char *const words[] = {"one ", "", "two ", "three"};
    for (size_t i = 0; i < 4; i++)
        ck_assert(deflate(engines[i % 2], view_of(words[i]), &packed));
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_OK);
    ck_assert(view_eq(bytes_view(&out), VIEW("one two three")));
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(test_bytes_behind_the_last_member_are_bad)
{
    struct bytes packed = squeezed(engines[_i], VIEW("text")), out;
    bytes_init(&out, 100, NULL);
    ck_assert_int_eq(bytes_append_view(&packed, VIEW("x")), BYTES_OK);
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_BAD);
    ck_assert_uint_eq(out.size, 0);
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(test_cut_off_anywhere_is_bad)
{
    struct bytes text = sample_text(300), out;
    struct bytes packed = squeezed(engines[_i], bytes_view(&text));
    bytes_init(&out, 1000, NULL);
    for (size_t size = 0; size < packed.size; size++) {
        struct view cut = {packed.data, size};
        ck_assert_int_eq(gzip_inflate(engines[_i], cut, &out), INFLATE_BAD);
        ck_assert_uint_eq(out.size, 0);
    }
    bytes_release(&text);
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(test_wrong_checksum_and_length_are_bad)
{
    struct bytes packed = squeezed(engines[_i], VIEW("some text, some text")), out;
    bytes_init(&out, 1000, NULL);
    for (size_t back = 1; back <= 8; back++) {
        packed.data[packed.size - back] ^= 0x40;
        ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_BAD);
        packed.data[packed.size - back] ^= 0x40;
    }
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_OK);
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

/* The text "hi" after a header with all optional fields. */
static struct bytes with_header(bool good_crc)
{
    uint8_t head[] = {0x1f, 0x8b, 8, 2 | 4 | 8 | 16, 0, 0, 0, 0, 0, 3, 3, 0, 'a', 'b', 'c', 'n',
                      0,    'c',  0};
    uint32_t crc = libdeflate_crc32(0, head, sizeof head) ^ !good_crc;
    uint8_t check[] = {(uint8_t)crc, (uint8_t)(crc >> 8)};
    struct bytes plain = squeezed(GZIP_LIBDEFLATE, VIEW("hi")), out;
    bytes_init(&out, 200, NULL);
    bytes_append(&out, head, sizeof head);
    bytes_append(&out, check, sizeof check);
    ck_assert_int_eq(bytes_append(&out, plain.data + 10, plain.size - 10), BYTES_OK);
    bytes_release(&plain);
    return out;
}

START_TEST(test_optional_header_fields_are_passed_over)
{
    struct bytes good = with_header(true), wrong = with_header(false), out;
    bytes_init(&out, 10, NULL);
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&good), &out), INFLATE_OK);
    ck_assert(view_eq(bytes_view(&out), VIEW("hi")));
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&wrong), &out), INFLATE_BAD);
    for (size_t size = 0; size < good.size; size++)
        ck_assert_int_eq(gzip_inflate(engines[_i], (struct view){good.data, size}, &out),
                         INFLATE_BAD);
    bytes_release(&good);
    bytes_release(&wrong);
    bytes_release(&out);
}
END_TEST

START_TEST(test_other_methods_and_reserved_flags_are_bad)
{
    struct bytes packed = squeezed(engines[_i], VIEW("text")), out;
    bytes_init(&out, 100, NULL);
    packed.data[2] = 7;
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_BAD);
    packed.data[2] = 8;
    packed.data[3] = 0x20;
    ck_assert_int_eq(gzip_inflate(engines[_i], bytes_view(&packed), &out), INFLATE_BAD);
    ck_assert_int_eq(gzip_inflate(engines[_i], VIEW("not gzip at all, is it?"), &out), INFLATE_BAD);
    bytes_release(&packed);
    bytes_release(&out);
}
END_TEST

START_TEST(test_engines_agree_on_damaged_input)
{
    struct bytes text = sample_text(2000), a, b;
    struct bytes packed = squeezed(GZIP_ISAL, bytes_view(&text));
    bytes_init(&a, 4000, NULL);
    bytes_init(&b, 4000, NULL);
    for (size_t i = 0; i < packed.size; i++) {
        packed.data[i] ^= 0x11;
        a.size = b.size = 0;
        enum inflate_result one = gzip_inflate(GZIP_ISAL, bytes_view(&packed), &a);
        enum inflate_result two = gzip_inflate(GZIP_LIBDEFLATE, bytes_view(&packed), &b);
        ck_assert_int_eq(one == INFLATE_OK, two == INFLATE_OK);
        ck_assert(view_eq(bytes_view(&a), bytes_view(&b)));
        packed.data[i] ^= 0x11;
    }
    bytes_release(&text);
    bytes_release(&packed);
    bytes_release(&a);
    bytes_release(&b);
}
END_TEST

START_TEST(test_deflate_without_room_changes_nothing)
{
    struct bytes text = sample_text(5000), out;
    struct bytes packed = squeezed(engines[_i], bytes_view(&text));
    for (size_t max = 0; max < packed.size; max += 7) {
        bytes_init(&out, max, NULL);
        ck_assert(!deflate(engines[_i], bytes_view(&text), &out));
        ck_assert_uint_eq(out.size, 0);
        bytes_release(&out);
    }
    bytes_init(&out, packed.size + 16, NULL);
    ck_assert(deflate(engines[_i], bytes_view(&text), &out));
    bytes_release(&out);
    bytes_release(&text);
    bytes_release(&packed);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire/gzip");
    TCase *tcase = suite_case("both engines");
    tcase_add_loop_test(tcase, test_what_one_engine_writes_both_read, 0, 4);
    tcase_add_loop_test(tcase, test_output_is_appended, 0, 2);
    tcase_add_loop_test(tcase, test_one_byte_past_the_ceiling_is_too_large, 0, 2);
    tcase_add_loop_test(tcase, test_a_bomb_costs_no_more_than_the_ceiling, 0, 2);
    tcase_add_loop_test(tcase, test_output_is_charged_before_it_is_written, 0, 2);
    tcase_add_loop_test(tcase, test_pieces_become_one_member, 0, 2);
    tcase_add_loop_test(tcase, test_all_members_are_read, 0, 2);
    tcase_add_loop_test(tcase, test_bytes_behind_the_last_member_are_bad, 0, 2);
    tcase_add_loop_test(tcase, test_cut_off_anywhere_is_bad, 0, 2);
    tcase_add_loop_test(tcase, test_wrong_checksum_and_length_are_bad, 0, 2);
    tcase_add_loop_test(tcase, test_optional_header_fields_are_passed_over, 0, 2);
    tcase_add_loop_test(tcase, test_other_methods_and_reserved_flags_are_bad, 0, 2);
    tcase_add_test(tcase, test_engines_agree_on_damaged_input);
    tcase_add_loop_test(tcase, test_deflate_without_room_changes_nothing, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_finish(suite);
}
