#include "lib/wire/proto/text.h"

#include "tests/support/suite.h"

START_TEST(json_strings_are_escaped_and_valid)
{
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    ck_assert(text_json(VIEW("a\"\\\n\r\t\x01\x7f\xc3\xa4\xed\xa0\x80"), &out));
    ck_assert(view_eq(
        bytes_view(&out),
        VIEW("\"a\\\"\\\\\\n\\r\\t\\u0001\\u007f\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"")));
    bytes_release(&out);
}
END_TEST

START_TEST(no_room_is_told)
{
    for (size_t cap = 0; cap < 8; cap++) {
        struct bytes out;
        bytes_init(&out, cap, NULL);
        ck_assert(!text_json(VIEW("abc\n\xff"), &out));
        bytes_release(&out);
    }
}
END_TEST

START_TEST(text_is_cut_to_its_room)
{
    char out[4] = "xxx";
    text_cut(VIEW("abcdef"), out, sizeof out);
    ck_assert_str_eq(out, "abc");
    text_cut(VIEW("ab\xc3\xa9"), out, sizeof out);
    ck_assert_str_eq(out, "ab");
    text_cut(VIEW("\x80\x80\x80\x80\x80"), out, sizeof out); /* no UTF-8 */
    ck_assert_str_eq(out, "");
    text_cut(VIEW("a\0b"), out, sizeof out);
    ck_assert_str_eq(out, "a b");
    text_cut(VIEW(""), out, 1);
    ck_assert_str_eq(out, "");
    text_cut(VIEW("abc"), NULL, 0);
}
END_TEST

START_TEST(text_for_people_has_no_white_ends)
{
    char out[8];
    text_shown(VIEW(" \r\n\tab c\n\n"), out, sizeof out);
    ck_assert_str_eq(out, "ab c");
    text_shown(VIEW("\n"), out, sizeof out);
    ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(snake_becomes_camel)
{
    char out[32];
    text_camel("start_time_unix_nano", out, sizeof out);
    ck_assert_str_eq(out, "startTimeUnixNano");
    text_camel("name", out, sizeof out);
    ck_assert_str_eq(out, "name");
    text_camel("too_long", out, 4);
    ck_assert_str_eq(out, "too");
}
END_TEST

START_TEST(hex_digits_of_either_case)
{
    ck_assert_int_eq(text_hex_digit('0'), 0);
    ck_assert_int_eq(text_hex_digit('f'), 15);
    ck_assert_int_eq(text_hex_digit('A'), 10);
    ck_assert_int_eq(text_hex_digit('g'), -1);
    ck_assert_int_eq(text_hex_digit('@'), -1);
    ck_assert_int_eq(text_hex_digit(0x11), -1);

    uint8_t bytes[2];
    ck_assert(text_hex_bytes(VIEW("0aFf"), bytes, 2));
    ck_assert_mem_eq(bytes, "\x0a\xff", 2);
    ck_assert(!text_hex_bytes(VIEW("0aF"), bytes, 2));
    ck_assert(!text_hex_bytes(VIEW("0aFf0"), bytes, 2));
    ck_assert(!text_hex_bytes(VIEW("0aFg"), bytes, 2));
}
END_TEST

SUITE_MAIN("text", json_strings_are_escaped_and_valid, no_room_is_told, text_is_cut_to_its_room,
           text_for_people_has_no_white_ends, snake_becomes_camel, hex_digits_of_either_case)
