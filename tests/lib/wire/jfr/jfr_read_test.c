#include "lib/wire/jfr/jfr_read.h"

#include "tests/support/jfr_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

/* Reads from an allocation of exactly these bytes, so that an overrun is detected. */
static size_t read_number(const uint8_t *bytes, size_t size, uint64_t *number)
{
    uint8_t *exact = malloc(size + !size);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, bytes, size);
    const uint8_t *behind = jfr_varint(exact, exact + size, number);
    size_t taken = behind ? (size_t)(behind - exact) : SIZE_MAX;
    free(exact);
    return taken;
}

START_TEST(a_number_of_any_size_is_read_with_and_without_bytes_behind_it)
{
    for (unsigned bits = 0; bits <= 64; bits++)
        for (uint64_t more = 0; more < 3; more++) {
            uint64_t value = (bits == 64 ? 0 : UINT64_C(1) << bits) - more, number;
            uint8_t bytes[32];
            memset(bytes, 0xff, sizeof bytes);
            size_t size = (size_t)(jfr_build_varint(bytes, value) - bytes);
            for (size_t room = 0; room <= sizeof bytes; room++) {
                size_t taken = read_number(bytes, room, &number);
                ck_assert_uint_eq(taken, room < size ? SIZE_MAX : size);
                ck_assert(room < size || number == value);
            }
        }
}
END_TEST

START_TEST(the_ninth_byte_is_whole_and_the_last)
{
    const uint8_t bytes[] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xff, 0x01};
    uint64_t number;
    for (size_t size = 9; size <= sizeof bytes; size++) {
        ck_assert_uint_eq(read_number(bytes, size, &number), 9);
        ck_assert_uint_eq(number, 0xff00000000000001);
    }
}
END_TEST

START_TEST(a_number_longer_than_it_needs_to_be_is_the_same)
{
    uint64_t number;
    ck_assert_uint_eq(read_number((const uint8_t *)"\x85\x80\x80\x80\x00", 5, &number), 5);
    ck_assert_uint_eq(number, 5);
    ck_assert_uint_eq(read_number((const uint8_t *)"\x85\x80\x80\x80\x00xxxxx", 10, &number), 5);
    ck_assert_uint_eq(number, 5);
}
END_TEST

static const struct string_case {
    const char *bytes;
    size_t size;
    const char *text; /* NULL: it has none */
} strings[] = {
    {"\x00", 1, NULL},
    {"\x01", 1, ""},
    {"\x02\x85\x01", 3, NULL},
    {"\x03\x05hello", 7, "hello"},
    {"\x03\x00", 2, ""},
    {"\x04\x03"
     "abc",
     5, "abc"},
    {"\x04\x02"
     "a\xe9\x01",
     5, NULL},
    {"\x05\x02hi", 4, "hi"},
};

START_TEST(strings_of_all_encodings_are_read_and_cut_ones_refused)
{
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        for (size_t size = 0; size <= strings[i].size; size++) {
            struct view text;
            uint8_t *exact = malloc(size + !size);
            ck_assert_ptr_nonnull(exact);
            memcpy(exact, strings[i].bytes, size);
            const uint8_t *behind = jfr_string(exact, exact + size, &text);
            ck_assert_ptr_eq(behind, size < strings[i].size ? NULL : exact + size);
            if (behind && strings[i].text)
                ck_assert(text.data && view_eq(text, view_of(strings[i].text)));
            else if (behind)
                ck_assert_ptr_null(text.data);
            free(exact);
        }
}
END_TEST

START_TEST(a_string_of_no_encoding_or_past_the_end_is_refused)
{
    static const uint8_t unknown[] = {6, 1, 'x'};
    static const uint8_t huge[] = {3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'x'};
    static const uint8_t many[] = {4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'x'};
    struct view text;
    ck_assert_ptr_null(jfr_string(unknown, unknown + sizeof unknown, &text));
    ck_assert_ptr_null(jfr_string(huge, huge + sizeof huge, &text));
    ck_assert_ptr_null(jfr_string(many, many + sizeof many, &text));
}
END_TEST

START_TEST(an_event_ends_where_its_size_says)
{
    static const uint8_t bytes[] = {0x84, 0x00, 0x65, 0x07, 0x01};
    struct jfr_frame frame;
    ck_assert(jfr_frame(bytes, bytes + sizeof bytes, &frame));
    ck_assert_uint_eq(frame.type, 0x65);
    ck_assert_ptr_eq(frame.content, bytes + 3);
    ck_assert_ptr_eq(frame.end, bytes + 4);
    for (size_t size = 0; size < 4; size++)
        ck_assert(!jfr_frame(bytes, bytes + size, &frame));
}
END_TEST

SUITE_MAIN("jfr read", a_number_of_any_size_is_read_with_and_without_bytes_behind_it,
           the_ninth_byte_is_whole_and_the_last, a_number_longer_than_it_needs_to_be_is_the_same,
           strings_of_all_encodings_are_read_and_cut_ones_refused,
           a_string_of_no_encoding_or_past_the_end_is_refused, an_event_ends_where_its_size_says)
