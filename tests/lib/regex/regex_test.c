#include "lib/regex/regex.h"

#include "tests/support/suite.h"

#include <stdio.h>

static struct regex *compiled(const char *pattern)
{
    char error[200];
    struct regex *regex = regex_new(view_of(pattern), error, sizeof error);
    ck_assert_msg(regex, "%s: %s", pattern, error);
    return regex;
}

static void expect(const char *pattern, const char *text, enum regex_result want)
{
    struct regex *regex = compiled(pattern);
    ck_assert_msg(regex_test(regex, view_of(text)) == want, "%s on %.80s", pattern, text);
    regex_free(regex);
}

START_TEST(patterns_match_as_in_re2)
{
    expect("b+", "abbc", REGEX_YES);
    expect("^b", "ab", REGEX_NO);
    expect("a$", "a\n", REGEX_NO); /* not before a last line end */
    expect("(?i)ABC", "xabcx", REGEX_YES);
    expect("^\\p{L}+$", "zürich", REGEX_YES);
    expect("^.$", "é", REGEX_YES);
    expect("", "", REGEX_YES);
    expect("^(?:a{20}){2}(?:b{1000}|c{3,})[{]\\{2000}$",
           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaccc{{2000}", REGEX_YES);
    expect("\\Qa.b\\E", "a.b", REGEX_YES);
    expect("[[:alpha:]]+[]]", "x]", REGEX_YES);
    expect("x*", "\xff\xfe", REGEX_YES);
    expect("a|Ax", "a", REGEX_YES);
    expect("a|Ax", "Ax", REGEX_YES);
    expect("a|Ax", "bx", REGEX_NO);
    expect("\xef\xbf\xbd", "\xff", REGEX_YES); /* an invalid byte is read as U+FFFD */
    expect("b\xef\xbf\xbd", "ab\xff", REGEX_YES);
    expect("b\xef\xbf\xbd", "a\xff", REGEX_NO);
    expect("\xef\xbf\xbd=$", "\xff\xff=", REGEX_YES);
}
END_TEST

static void refused(const char *pattern, const char *want)
{
    char error[200];
    ck_assert_ptr_null(regex_new(view_of(pattern), error, sizeof error));
    ck_assert_str_eq(error, want);
}

START_TEST(what_re2_does_not_have_is_refused)
{
    refused("a(?=b)", "RE2 does not support lookahead and lookbehind, at character 2");
    refused("(?<!a)b", "RE2 does not support lookahead and lookbehind, at character 1");
    refused("(a)\\1", "RE2 does not support backreferences, at character 4");
    refused("a++", "RE2 does not support possessive quantifiers, at character 3");
    refused("(?>a)", "RE2 does not support this kind of group, at character 1");
    refused("(*FAIL)", "RE2 does not support (*...) verbs, at character 1");
    refused("\\Kx", "RE2 does not support this escape, at character 1");
    refused("a{1001}", "RE2 does not support repeat counts above 1000, at character 2");
    refused("[{]{2,}(?:(?:a{20}){10}b){6}", "RE2 does not support repeat counts above 1000, at "
                                            "character 26");
    refused("a(b", "missing closing parenthesis, at character 4");
}
END_TEST

START_TEST(groups_have_names_and_places)
{
    struct regex *regex = compiled("^(?P<scheme>\\w+)://(?P<host>[^/]+)(?P<rest>x)?");
    struct regex_match match;
    ck_assert_uint_eq(regex_groups(regex), 3);
    ck_assert_str_eq(regex_group_name(regex, 2), "host");
    ck_assert_int_eq(regex_find(regex, VIEW("http://a.b/c"), &match), REGEX_YES);
    ck_assert_uint_eq(match.count, 4);
    ck_assert(view_eq(match.groups[2], VIEW("a.b")));
    ck_assert_ptr_null(match.groups[3].data);
    regex_free(regex);
}
END_TEST

static void replaces(const char *pattern, const char *text, const char *with, const char *want)
{
    struct regex *regex = compiled(pattern);
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    enum regex_result result = regex_replace(regex, view_of(text), view_of(with), &out);
    if (!want)
        ck_assert_int_eq(result, REGEX_NO);
    else
        ck_assert_msg(view_eq(bytes_view(&out), view_of(want)), "%s: %.*s", pattern, (int)out.size,
                      (char *)out.data);
    bytes_release(&out);
    regex_free(regex);
}

START_TEST(replacements_are_go_s)
{
    replaces("a(x*)b", "-ab-axxb-", "T", "-T-T-");
    replaces("a(x*)b", "-ab-axxb-", "$1", "--xx-");
    replaces("a(x*)b", "-ab-axxb-", "$1W", "---");
    replaces("a(x*)b", "-ab-axxb-", "${1}W", "-W-xxW-");
    replaces("(?P<n>b+)", "abba", "<${n}$$>", "a<bb$>a");
    replaces("x*", "abc", "-", "-a-b-c-");
    replaces("z", "abc", "-", NULL);
    replaces("é", "aéb", "$", "a$b");
}
END_TEST

START_TEST(an_invalid_byte_matches_as_the_replacement_character)
{
    expect("^Bearer .*$", "Bearer a\xe9 b", REGEX_YES);
    expect("^.$", "\xe9", REGEX_YES);
    expect("^\\x{FFFD}{2}$", "\xe2\x82", REGEX_YES);
    expect("[\\x{80}-\\x{10FFFF}]", "a\xff", REGEX_YES);
    expect("\\w", "\xff", REGEX_NO);
    replaces("token=[^&]*", "a\xe9?token=x\xe9y&b=\xff", "***", "a\xe9?***&b=\xff");
    replaces("(.)b",
             "\xe9"
             "b\xc3\xa9"
             "bab",
             "<$1>", "<\xe9><\xc3\xa9><a>");
    replaces("x*", "\xe9\xc3\xa9", "-", "-\xe9-\xc3\xa9-");
    struct regex *regex = compiled("=(?P<value>.*);(z)?");
    struct regex_match match;
    ck_assert_int_eq(regex_find(regex, VIEW("\xff\xfe=a\xe9;"), &match), REGEX_YES);
    ck_assert(view_eq(match.groups[0], VIEW("=a\xe9;")));
    ck_assert(view_eq(match.groups[1], VIEW("a\xe9")));
    ck_assert_ptr_null(match.groups[2].data);
    regex_free(regex);
}
END_TEST

START_TEST(no_pattern_hangs)
{
    char text[4096];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    expect("^(a+)+$", text, REGEX_YES);
    text[sizeof text - 2] = '!';
    expect("^(a+)+$", text, REGEX_LIMIT);
    expect("^(a|aa)+$", text, REGEX_LIMIT);
}
END_TEST

/* So that a request with many such texts does not hang. */
START_TEST(a_pattern_that_keeps_reaching_the_limit_gets_fewer_steps)
{
    struct regex *regex = compiled("^(a+)+$");
    struct view few = VIEW("aaaaaaaaaaaaaaaaa!"), many = VIEW("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    ck_assert_int_eq(regex_test(regex, few), REGEX_NO);
    for (unsigned i = 0; i < 1000 && regex_test(regex, few) == REGEX_NO; i++)
        ck_assert_int_eq(regex_test(regex, many), REGEX_LIMIT);
    ck_assert_int_eq(regex_test(regex, few), REGEX_LIMIT);
    ck_assert_int_eq(regex_test(regex, VIEW("aaaa!")), REGEX_NO);
    ck_assert_int_eq(regex_test(regex, VIEW("aaaa")), REGEX_YES);
    regex_free(regex);
}
END_TEST

SUITE_MAIN("regex", patterns_match_as_in_re2, what_re2_does_not_have_is_refused,
           groups_have_names_and_places, replacements_are_go_s,
           an_invalid_byte_matches_as_the_replacement_character, no_pattern_hangs,
           a_pattern_that_keeps_reaching_the_limit_gets_fewer_steps)
