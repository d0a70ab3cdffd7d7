#include "lib/base/shown.h"

#include "tests/support/suite.h"

static const char *shown_of(struct view text)
{
    static char out[256];
    size_t size = shown_copy(text, out, sizeof out);
    ck_assert_uint_eq(size, strlen(out));
    return out;
}

static const char *shown(const char *text)
{
    return shown_of(view_of(text));
}

START_TEST(what_can_be_seen_stays)
{
    ck_assert_str_eq(shown("plain \\ \"text\" ~"), "plain \\ \"text\" ~");
    ck_assert_str_eq(shown("Zür\xc3\xbc"
                           "ch \xe2\x82\xac \xf0\x9f\x98\x80"),
                     "Zür\xc3\xbc"
                     "ch \xe2\x82\xac \xf0\x9f\x98\x80");
    ck_assert_str_eq(shown(""), "");
}
END_TEST

START_TEST(control_characters_are_escaped)
{
    ck_assert_str_eq(shown("a\nb\rc\td"), "a\\nb\\rc\\td");
    ck_assert_str_eq(shown("\x1b[31m\x07\x7f"), "\\x1b[31m\\x07\\x7f");
    ck_assert_str_eq(shown("\xc2\x85\xc2\x9b\xc2\xa0"), "\\x85\\x9b\xc2\xa0");
    ck_assert_str_eq(shown_of(VIEW("a\0b")), "a\\x00b");
}
END_TEST

START_TEST(bytes_that_are_no_utf8_are_escaped)
{
    ck_assert_str_eq(shown("\xff\x80z"), "\\xff\\x80z");
    ck_assert_str_eq(shown("\xc3"), "\\xc3");
    ck_assert_str_eq(shown("\xc0\xaf"), "\\xc0\\xaf");                   /* overlong */
    ck_assert_str_eq(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");          /* a surrogate */
    ck_assert_str_eq(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); /* past U+10FFFF */
    ck_assert_str_eq(shown("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80");
}
END_TEST

START_TEST(what_turns_or_breaks_lines_unseen_is_escaped)
{
    ck_assert_str_eq(shown("a\xe2\x80\xa8"
                           "b\xe2\x80\xae"
                           "c\xe2\x81\xa6"),
                     "a\\u2028b\\u202ec\\u2066");
    ck_assert_str_eq(shown("a\xe2\x80\x8b"
                           "b\xc2\xad"
                           "c\xd8\x9c"
                           "d\xf3\xa0\x81\x81"),
                     "a\\u200bb\\u00adc\\u061cd\\ue0041");
}
END_TEST

START_TEST(a_cut_leaves_no_half)
{
    char out[5];
    ck_assert_uint_eq(shown_copy(view_of("abc\n"), out, sizeof out), 3);
    ck_assert_str_eq(out, "abc");
    ck_assert_uint_eq(shown_copy(view_of("ab\xe2\x82\xac"), out, sizeof out), 2);
    ck_assert_str_eq(out, "ab");
    ck_assert_uint_eq(shown_copy(view_of("abcd"), out, sizeof out), 4);
}
END_TEST

START_TEST(what_looks_like_ascii_is_named)
{
    size_t at;
    ck_assert_ptr_null(lookalike_in(VIEW("plain \"text\" \xc3\xa0 \xe2\x82\xac \xe2"), &at));
    const struct lookalike *found = lookalike_in(VIEW("a: \xe2\x80\x98"), &at);
    ck_assert_str_eq(found->words, "\xe2\x80\x98 (U+2018)");
    ck_assert(at == 3 && !found->blank);
    found = lookalike_in(VIEW("a\xc2\xa0"), &at);
    ck_assert_str_eq(found->words, "a no-break space (U+00A0)");
    ck_assert(at == 1 && found->blank);
}
END_TEST

SUITE_MAIN("shown", what_can_be_seen_stays, control_characters_are_escaped,
           bytes_that_are_no_utf8_are_escaped, what_turns_or_breaks_lines_unseen_is_escaped,
           a_cut_leaves_no_half, what_looks_like_ascii_is_named)
