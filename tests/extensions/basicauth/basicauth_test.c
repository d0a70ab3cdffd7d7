#include "tests/support/given_auth.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component extension_basicauth;
const struct component *const component_table[] = {&scripted_source, &scripted_sink,
                                                   &extension_basicauth, NULL};

static struct given_auth auth;

static void begin(const char *keys)
{
    given_auth_start(&auth, "basicauth", keys);
}

/* The keys before and after the path of a file with that text. */
static void begin_file(const char *text, const char *keys, const char *more)
{
    char all[256];
    given_auth_write(&auth, text);
    snprintf(all, sizeof all, "%s'%s'%s", keys, auth.path, more);
    begin(all);
}

static void end(void)
{
    given_auth_stop(&auth);
}

static void expect_faults(const char *keys, const char *words)
{
    given_auth_faults("basicauth", keys, words);
}

START_TEST(faults_are_told_without_secrets)
{
    expect_faults("{}", "expected one of htpasswd or client_auth");
    expect_faults("{htpasswd: {inline: 'a:b'}, client_auth: {username: a}}",
                  "expected only one of htpasswd and client_auth");
    expect_faults("{htpasswd: {}}", "basicauth.htpasswd: expected file or inline");
    expect_faults("{htpasswd: {inline: sesame}}", "htpasswd.inline: line 1 has no colon");
    expect_faults("{htpasswd: {inline: 'a:$0$sesame'}}", "htpasswd.inline: line 1 has a hash");
    expect_faults("{client_auth: {password: sesame}}", "client_auth.username");
    expect_faults("{client_auth: {username: 'a:b'}}", "cannot contain a colon");
    expect_faults("{client_auth: {username: a, aws_secrets_manager: {}}}",
                  "a key of the Collector");
}
END_TEST

/* "ann:open", "ann:wrong", "bob:open" */
#define ANN   "Basic YW5uOm9wZW4="
#define WRONG "Basic YW5uOndyb25n"
#define BOB   "Basic Ym9iOm9wZW4="

static enum auth_result look(const char *value)
{
    return auth.by->look(auth.by->self, value);
}

START_TEST(clients_are_told_apart)
{
    begin("{htpasswd: {inline: 'ann:open'}}");
    ck_assert_str_eq(auth.by->header, "Authorization");
    ck_assert_ptr_nonnull(strstr(auth.by->challenge, "Basic realm="));
    ck_assert_int_eq(look(ANN), AUTH_GRANTED);
    ck_assert_int_eq(look(WRONG), AUTH_DENIED);
    ck_assert_int_eq(look(BOB), AUTH_DENIED);
    ck_assert_int_eq(look("Bearer x"), AUTH_DENIED);
    ck_assert_int_eq(look(NULL), AUTH_DENIED);
    ck_assert_ptr_null(auth.by->give);
    end();
}
END_TEST

static void keep(void *ctx, enum auth_result result)
{
    atomic_store((_Atomic int *)ctx, (int)result);
}

static enum auth_result decide(const char *value)
{
    _Atomic int result = AUTH_PENDING;
    auth.by->check(auth.by->self, value, keep, (void *)&result);
    while (atomic_load(&result) == AUTH_PENDING)
        continue;
    return (enum auth_result)atomic_load(&result);
}

START_TEST(a_slow_hash_is_checked_aside_and_known_then)
{
    /* of "open", `openssl passwd -apr1 -salt 12345678 open` */
    begin("{htpasswd: {inline: 'ann:$apr1$12345678$khMaARpT.Ssh5CwICTj.O/'}}");
    ck_assert_int_eq(look(ANN), AUTH_PENDING);
    ck_assert_int_eq(decide(ANN), AUTH_GRANTED);
    ck_assert_int_eq(look(ANN), AUTH_GRANTED);
    ck_assert_int_eq(decide(WRONG), AUTH_DENIED);
    ck_assert_int_eq(look(WRONG), AUTH_DENIED);
    /* An unknown user costs the same. */
    ck_assert_int_eq(look(BOB), AUTH_PENDING);
    ck_assert_int_eq(decide(BOB), AUTH_DENIED);
    ck_assert_int_eq(decide(NULL), AUTH_DENIED);
    end();
}
END_TEST

START_TEST(a_changed_file_counts_within_a_second_and_a_broken_one_does_not)
{
    begin_file("ann:open\n", "{htpasswd: {file: ", "}}");
    ck_assert_int_eq(look(ANN), AUTH_GRANTED);
    given_auth_write(&auth, "bob:open\n");
    given_advance(&auth.given, NS_PER_S);
    ck_assert_int_eq(look(ANN), AUTH_DENIED);
    ck_assert_int_eq(look(BOB), AUTH_GRANTED);
    given_auth_write(&auth, "what is this\n");
    given_advance(&auth.given, NS_PER_S);
    ck_assert_int_eq(look(BOB), AUTH_GRANTED);
    unlink(auth.path);
    given_advance(&auth.given, NS_PER_S);
    ck_assert_int_eq(look(BOB), AUTH_GRANTED);
    given_auth_write(&auth, "ann:open\n");
    given_advance(&auth.given, NS_PER_S);
    ck_assert_int_eq(look(BOB), AUTH_DENIED);
    ck_assert_int_eq(look(ANN), AUTH_GRANTED);
    end();
}
END_TEST

START_TEST(lines_of_the_configuration_win_over_the_file)
{
    begin_file("ann:other\nbob:open\n", "{htpasswd: {file: ", ", inline: 'ann:open'}}");
    ck_assert_int_eq(look(ANN), AUTH_GRANTED);
    ck_assert_int_eq(look(BOB), AUTH_GRANTED);
    end();
}
END_TEST

static void expect_given(const char *value)
{
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    ck_assert(auth.by->give(auth.by->self, &out));
    ck_assert(view_eq(bytes_view(&out), view_of(value)));
    bytes_release(&out);
}

START_TEST(credentials_are_given)
{
    begin("{client_auth: {username: ann, password: open}}");
    ck_assert_ptr_null(auth.by->look);
    expect_given(ANN);
    end();
}
END_TEST

START_TEST(a_password_file_may_change)
{
    begin_file("open\n", "{client_auth: {username: ann, password_file: ", "}}");
    expect_given(ANN);
    given_auth_write(&auth, "wrong");
    given_advance(&auth.given, NS_PER_S);
    expect_given(WRONG);
    given_auth_write(&auth, "");
    given_advance(&auth.given, NS_PER_S);
    expect_given(WRONG);
    unlink(auth.path);
    given_advance(&auth.given, NS_PER_S);
    expect_given(WRONG);
    end();
}
END_TEST

START_TEST(a_missing_file_is_an_error_at_the_start)
{
    struct problems problems = {0};
    const char *yaml = "yaml:extensions: {basicauth: {htpasswd: {file: /no/such}}}\n"
                       "receivers: {source: }\nexporters: {sink: }\n"
                       "service:\n  extensions: [basicauth]\n"
                       "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n";
    struct settings *settings =
        settings_load(&(struct settings_source){SETTINGS_FILE, yaml}, 1, &problems);
    struct runtime *runtime = runtime_plan(settings, &clock_system, &problems);
    ck_assert_ptr_nonnull(runtime);
    ck_assert(!runtime_start(runtime, &problems));
    ck_assert_ptr_nonnull(
        strstr(problems.lines[0], "basicauth.htpasswd.file: cannot read /no/such"));
    runtime_free(runtime);
    settings_free(settings);
    problems_release(&problems);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        faults_are_told_without_secrets,
        clients_are_told_apart,
        a_slow_hash_is_checked_aside_and_known_then,
        a_changed_file_counts_within_a_second_and_a_broken_one_does_not,
        lines_of_the_configuration_win_over_the_file,
        credentials_are_given,
        a_password_file_may_change,
        a_missing_file_is_an_error_at_the_start,
        NULL,
    };
    return suite_run("basicauth", tests);
}
