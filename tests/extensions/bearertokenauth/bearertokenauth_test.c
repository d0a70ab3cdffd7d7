#include "tests/support/given_auth.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component extension_bearertokenauth;
const struct component *const component_table[] = {&scripted_source, &scripted_sink,
                                                   &extension_bearertokenauth, NULL};

static struct given_auth auth;

static void begin(const char *keys)
{
    given_auth_start(&auth, "bearertokenauth", keys);
}

static void expect_faults(const char *keys, const char *words)
{
    given_auth_faults("bearertokenauth", keys, words);
}

START_TEST(faults_are_told_without_secrets)
{
    expect_faults("{}", "expected token, tokens or filename");
    expect_faults("{token: sesame, tokens: [sesame]}", "expected only one of token and tokens");
    expect_faults("{token: \"sesame\\u0001\"}", "headers cannot contain");
    expect_faults("{token: sesame, scheme: 'a b'}", "bearertokenauth.scheme");
    expect_faults("{token: sesame, header: 'a: b'}", "bearertokenauth.header");
    expect_faults("{tokens: {a: b}}", "bearertokenauth.tokens");
}
END_TEST

static enum auth_result look(const char *value)
{
    return auth.by->look(auth.by->self, value);
}

static void expect_given(const char *value)
{
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    ck_assert(auth.by->give(auth.by->self, &out));
    ck_assert(view_eq(bytes_view(&out), view_of(value)));
    bytes_release(&out);
}

START_TEST(one_token_serves_both_sides)
{
    begin("{token: sesame}");
    ck_assert_str_eq(auth.by->header, "Authorization");
    ck_assert_str_eq(auth.by->challenge, "Bearer realm=\"spanlink\"");
    ck_assert_int_eq(look("Bearer sesame"), AUTH_GRANTED);
    ck_assert_int_eq(look("bearer sesame"), AUTH_GRANTED);
    ck_assert_int_eq(look("Bearer sesam"), AUTH_DENIED);
    ck_assert_int_eq(look("sesame"), AUTH_DENIED);
    ck_assert_int_eq(look(NULL), AUTH_DENIED);
    expect_given("Bearer sesame");
    given_auth_stop(&auth);
}
END_TEST

START_TEST(of_several_any_is_taken_and_the_first_is_given)
{
    begin("{tokens: [one, two], scheme: '', header: X-Key}");
    ck_assert_str_eq(auth.by->header, "X-Key");
    ck_assert_ptr_null(auth.by->challenge);
    ck_assert_int_eq(look("two"), AUTH_GRANTED);
    ck_assert_int_eq(look("three"), AUTH_DENIED);
    expect_given("one");
    given_auth_stop(&auth);
}
END_TEST

START_TEST(a_file_is_read_again_and_the_last_good_one_stays)
{
    char keys[160];
    given_auth_write(&auth, "old\n");
    snprintf(keys, sizeof keys, "{filename: '%s', token: ignored}", auth.path);
    begin(keys);
    expect_given("Bearer old");
    ck_assert_int_eq(look("Bearer ignored"), AUTH_DENIED);
    given_auth_write(&auth, "new\nold\n");
    given_advance(&auth.given, NS_PER_S);
    expect_given("Bearer new");
    ck_assert_int_eq(look("Bearer old"), AUTH_GRANTED);
    given_auth_write(&auth, "");
    given_advance(&auth.given, NS_PER_S);
    expect_given("Bearer new");
    unlink(auth.path);
    given_advance(&auth.given, NS_PER_S);
    expect_given("Bearer new");
    given_auth_write(&auth, "last");
    given_advance(&auth.given, NS_PER_S);
    expect_given("Bearer last");
    ck_assert_int_eq(look("Bearer old"), AUTH_DENIED);
    given_auth_stop(&auth);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        faults_are_told_without_secrets,
        one_token_serves_both_sides,
        of_several_any_is_taken_and_the_first_is_given,
        a_file_is_read_again_and_the_last_good_one_stays,
        NULL,
    };
    return suite_run("bearertokenauth", tests);
}
