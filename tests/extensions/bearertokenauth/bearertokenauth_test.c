#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component extension_bearertokenauth;
const struct component *const component_table[] = {&scripted_source, &scripted_sink,
                                                   &extension_bearertokenauth, NULL};

#define REST                                                                                       \
    "receivers: {source: }\nexporters: {sink: }\n"                                                 \
    "service:\n  extensions: [bearertokenauth]\n"                                                  \
    "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n"

static struct given_runtime given;
static const struct authenticator *by;
static char folder[64], path[96];

static void begin(const char *keys)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "extensions:\n  bearertokenauth: %s\n" REST, keys);
    given_start(&given, yaml);
    const struct instance *instance = given.runtime->graph.extensions.items[0];
    by = instance->component->authenticator(instance->self);
}

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void expect_faults(const char *keys, const char *words)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "extensions:\n  bearertokenauth: %s\n" REST, keys);
    char *faults = given_faults(yaml);
    ck_assert_msg(strstr(faults, words) != NULL, "no \"%s\" in:\n%s", words, faults);
    const char *told = strstr(faults, ": extensions."); /* the place in the yaml precedes it */
    ck_assert_ptr_nonnull(told);
    ck_assert_msg(strstr(told, "sesame") == NULL, "%s", faults);
    free(faults);
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
    return by->look(by->self, value);
}

static void expect_given(const char *value)
{
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    ck_assert(by->give(by->self, &out));
    ck_assert(view_eq(bytes_view(&out), view_of(value)));
    bytes_release(&out);
}

START_TEST(one_token_serves_both_sides)
{
    begin("{token: sesame}");
    ck_assert_str_eq(by->header, "Authorization");
    ck_assert_str_eq(by->challenge, "Bearer realm=\"spanlink\"");
    ck_assert_int_eq(look("Bearer sesame"), AUTH_GRANTED);
    ck_assert_int_eq(look("bearer sesame"), AUTH_GRANTED);
    ck_assert_int_eq(look("Bearer sesam"), AUTH_DENIED);
    ck_assert_int_eq(look("sesame"), AUTH_DENIED);
    ck_assert_int_eq(look(NULL), AUTH_DENIED);
    expect_given("Bearer sesame");
    given_stop(&given);
}
END_TEST

START_TEST(of_several_any_is_taken_and_the_first_is_given)
{
    begin("{tokens: [one, two], scheme: '', header: X-Key}");
    ck_assert_str_eq(by->header, "X-Key");
    ck_assert_ptr_null(by->challenge);
    ck_assert_int_eq(look("two"), AUTH_GRANTED);
    ck_assert_int_eq(look("three"), AUTH_DENIED);
    expect_given("one");
    given_stop(&given);
}
END_TEST

START_TEST(a_file_is_read_again_and_the_last_good_one_stays)
{
    char keys[160];
    strcpy(folder, "/tmp/spanlink-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/token", folder);
    write_file("old\n");
    snprintf(keys, sizeof keys, "{filename: '%s', token: ignored}", path);
    begin(keys);
    expect_given("Bearer old");
    ck_assert_int_eq(look("Bearer ignored"), AUTH_DENIED);
    write_file("new\nold\n");
    given_advance(&given, NS_PER_S);
    expect_given("Bearer new");
    ck_assert_int_eq(look("Bearer old"), AUTH_GRANTED);
    write_file("");
    given_advance(&given, NS_PER_S);
    expect_given("Bearer new");
    unlink(path);
    given_advance(&given, NS_PER_S);
    expect_given("Bearer new");
    write_file("last");
    given_advance(&given, NS_PER_S);
    expect_given("Bearer last");
    ck_assert_int_eq(look("Bearer old"), AUTH_DENIED);
    given_stop(&given);
    unlink(path);
    rmdir(folder);
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
