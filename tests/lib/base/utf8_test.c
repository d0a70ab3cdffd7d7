#include "lib/base/utf8.h"

#include "tests/support/suite.h"

START_TEST(valid_text_passes)
{
    ck_assert(utf8_valid((struct view){0}));
    ck_assert(utf8_valid(VIEW("plain ASCII that is longer than one word of the fast path")));
    ck_assert(utf8_valid(VIEW("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x94\xa5")));
    ck_assert(utf8_valid(VIEW("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf")));
    ck_assert(utf8_valid(VIEW("\xe0\xa0\x80\xf0\x90\x80\x80\xc2\x80")));
    ck_assert(utf8_valid((struct view){(const uint8_t *)"a\0b", 3}));
}
END_TEST

START_TEST(broken_text_is_refused_at_any_place)
{
    static const char *const broken[] = {"\x80",
                                         "\xff",
                                         "\xc0\x80",
                                         "\xc1\xbf",
                                         "\xc3",
                                         "\xe0\x80\x80",
                                         "\xe2\x82",
                                         "\xed\xa0\x80",
                                         "\xed\xbf\xbf",
                                         "\xf0\x80\x80\x80",
                                         "\xf0\x9f\x94",
                                         "\xf4\x90\x80\x80",
                                         "\xf5\x80\x80\x80",
                                         "\xc3\x28",
                                         "\xe2\x28\xa1"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        for (size_t before = 0; before < 20; before++) {
            uint8_t text[40];
            size_t size = strlen(broken[i]);
            memset(text, 'a', sizeof text);
            memcpy(text + before, broken[i], size);
            ck_assert_msg(!utf8_valid((struct view){text, before + size}), "%zu", i);
            ck_assert_msg(!utf8_valid((struct view){text, sizeof text}), "%zu", i);
        }
}
END_TEST

START_TEST(each_invalid_byte_becomes_the_replacement_character)
{
    struct bytes out;
    bytes_init(&out, 100, NULL);
    ck_assert(utf8_repair((struct view){0}, &out));
    ck_assert(utf8_repair(VIEW("a\xc3\xa4\xe2\x82z\xff"), &out));
    ck_assert(view_eq(bytes_view(&out), VIEW("a\xc3\xa4\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd")));
    out.max = out.size;
    ck_assert(!utf8_repair(VIEW("\xff"), &out));
    bytes_release(&out);
}
END_TEST

SUITE_MAIN("utf8", valid_text_passes, broken_text_is_refused_at_any_place,
           each_invalid_byte_becomes_the_replacement_character)
