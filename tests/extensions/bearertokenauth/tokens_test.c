#include "extensions/bearertokenauth/tokens.h"

#include "tests/support/suite.h"

static const uint8_t key[DIGEST_KEY_SIZE] = {1, 2, 3};
static struct tokens tokens;
static char why[128];

static bool has(const char *token)
{
    return tokens_have(&tokens, key, view_of(token));
}

START_TEST(each_line_is_a_token_and_the_first_is_sent)
{
    ck_assert(tokens_read(&tokens, key, VIEW("\n  one \r\n\ntwo words\nthree"), why, sizeof why));
    ck_assert_uint_eq(tokens.count, 3);
    ck_assert_str_eq(tokens.first, "one");
    ck_assert(has("one") && has("two words") && has("three"));
    ck_assert(!has("") && !has("on") && !has("onex") && !has("two"));
    tokens_release(&tokens);
    tokens_release(&tokens);
}
END_TEST

START_TEST(what_holds_no_token_is_refused_without_telling_it)
{
    ck_assert(!tokens_read(&tokens, key, VIEW(""), why, sizeof why));
    ck_assert(!tokens_read(&tokens, key, VIEW(" \n\n"), why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "no token"));
    ck_assert(!tokens_read(&tokens, key, VIEW("fine\nses\1ame"), why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "line 2"));
    ck_assert_ptr_null(strstr(why, "ame"));
}
END_TEST

static void expect(const char *value, const char *scheme, const char *token)
{
    struct view found;
    bool is = token_of(value, scheme, &found);
    ck_assert_msg(is == (token != NULL), "%s", value);
    if (token)
        ck_assert(view_eq(found, view_of(token)));
}

START_TEST(a_token_stands_behind_its_scheme)
{
    expect("Bearer abc", "Bearer", "abc");
    expect("bearer   abc ", "Bearer", "abc");
    expect("abc", "", "abc");
    expect("Token abc", "Token", "abc");
    expect("Bearer", "Bearer", NULL);
    expect("Bearer ", "Bearer", NULL);
    expect("Bearerabc", "Bearer", NULL);
    expect("Basic abc", "Bearer", NULL);
    expect("", "", NULL);
}
END_TEST

SUITE_MAIN("tokens", each_line_is_a_token_and_the_first_is_sent,
           what_holds_no_token_is_refused_without_telling_it, a_token_stands_behind_its_scheme)
