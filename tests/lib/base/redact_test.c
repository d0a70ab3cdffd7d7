#include "lib/base/redact.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static void shows(const char *text, const char *want)
{
    char *got = redact_urls(text);
    ck_assert_str_eq(got, want);
    free(got);
}

START_TEST(users_of_urls_are_blotted_out)
{
    shows("http://u:p@h/x", "http://redacted@h/x");
    shows("a https://p@h b ftp://u:p@q@h", "a https://redacted@h b ftp://redacted@h");
    shows("http://h/x@y", "http://h/x@y");
    shows("http://h:4040/x@y", "http://h:4040/x@y");
    shows("http://[::1]:4040/x@y", "http://[::1]:4040/x@y");
    shows("mail@example.org", "mail@example.org");
    shows("://", "://");
    shows("", "");
}
END_TEST

START_TEST(a_password_that_makes_no_legal_url_is_blotted_out_too)
{
    shows("http://user:pa/ss@host/x", "http://redacted@host/x");
    shows("http://user:pa?ss@host/x", "http://redacted@host/x");
    shows("\"http://user:p#ss@host\" is bad", "\"http://redacted@host\" is bad");
    shows("http://u:p\x01@host", "http://redacted@host");
}
END_TEST

START_TEST(a_scheme_that_is_missing_or_mistyped_does_not_show_the_user)
{
    shows("alice:S3@host:4040", "redacted@host:4040");
    shows("\"alice:S3@host:4040\" is not a URL", "\"redacted@host:4040\" is not a URL");
    shows("(alice:S/3@host, {b:c@d})", "(redacted@host, {redacted@d})");
    shows("endpoint: alice:S3@host:1", "endpoint: redacted@host:1");
    shows("http:/alice:S3@host:4040", "http:/redacted@host:4040");
    shows("http//alice:S3@host", "http//redacted@host");
    shows("http:/token@host", "http:/redacted@host");
    shows("//alice:S3@host //token@h", "//redacted@host //redacted@h");
    shows("alice@x:S3@host", "redacted@host");
    shows("http://alice:S3@", "http://redacted@");
    shows("listening on 127.0.0.1:4318/x@y", "listening on 127.0.0.1:4318/x@y");
    shows("unix:/run/a@b.sock /run/a@b", "unix:/run/a@b.sock /run/a@b");
    shows("exporters::otlp: \"a\" 12:30:01", "exporters::otlp: \"a\" 12:30:01");
}
END_TEST

START_TEST(fragments_of_urls_are_blotted_out)
{
    shows("http://h/x#token=S3 and #2", "http://h/x#redacted and #2");
    shows("http://h/?a=b#S3 http://h#", "http://h/?a=b#redacted http://h#");
    shows("http:/h#S3", "http:/h#redacted");
    shows("h:4040#S3", "h:4040#redacted");
    shows("profile#2 a:b#c", "profile#2 a:b#c");
}
END_TEST

START_TEST(of_an_address_nothing_before_the_host_is_shown)
{
    char out[32];
    redact_address("token@host:1", out, sizeof out);
    ck_assert_str_eq(out, "redacted@host:1");
    redact_address("a b:c@d e@host:1", out, sizeof out);
    ck_assert_str_eq(out, "redacted@host:1");
    redact_address("host:1", out, sizeof out);
    ck_assert_str_eq(out, "host:1");
    redact_address("a:b@0123456789012345678901234567890", out, sizeof out);
    ck_assert_str_eq(out, "redacted@0123456789012345678901");
}
END_TEST

START_TEST(query_values_that_are_secrets_are_blotted_out)
{
    shows("http://h/x?token=abc&a=b&api_key=d", "http://h/x?token=redacted&a=b&api_key=redacted");
    shows("https://h/?X-Amz-Signature=ab&SIG=q&secret=", "https://h/?X-Amz-Signature=redacted&SIG="
                                                         "redacted&secret=");
    shows("/path?password=p w", "/path?password=redacted w");
    shows("http://h/?pwd=a&jwt=b&Code=c&passage=d", "http://h/?pwd=redacted&jwt=redacted&Code="
                                                    "redacted&passage=d");
    shows("did you mean \"token\"?", "did you mean \"token\"?");
    shows("a=b token=c", "a=b token=c");
}
END_TEST

START_TEST(a_copy_is_cut)
{
    char out[12];
    ck_assert_uint_eq(redact_copy("http://u:p@h/long", out, sizeof out), 11);
    ck_assert_str_eq(out, "http://reda");
}
END_TEST

START_TEST(names_of_secrets_are_known)
{
    ck_assert(redact_name("bearer_token"));
    ck_assert(redact_name("Authorization"));
    ck_assert(redact_name("headers"));
    ck_assert(redact_name("password_file"));
    ck_assert(redact_name("headers_list"));
    ck_assert(redact_name("client_key"));
    ck_assert(!redact_name("endpoint"));
    ck_assert(!redact_name("key_file"));
}
END_TEST

static void hides(const char *text, const char *secret, bool was_cut, const char *wanted)
{
    char *copy = strdup(text);
    redact_secret((uint8_t *)copy, strlen(copy), was_cut, view_of(secret));
    ck_assert_str_eq(copy, wanted);
    free(copy);
}

START_TEST(a_known_secret_is_overwritten_wherever_it_is)
{
    hides("bad token abcdef, abcdefg", "abcdef", false, "bad token ******, ******g");
    hides("abcdef", "abcdef", false, "******");
    hides("nothing", "abcdef", false, "nothing");
    hides("", "abcdef", true, "");
    hides("no abc", "abc", false, "no abc");
    hides("bad token abcd", "abcdef", false, "bad token abcd");
    hides("bad token abcd", "abcdef", true, "bad token ****");
    hides("abcde", "abcdef", true, "*****");
    hides("bad token abc", "abcdef", true, "bad token abc");
}
END_TEST

SUITE_MAIN("redact", a_known_secret_is_overwritten_wherever_it_is, users_of_urls_are_blotted_out,
           a_password_that_makes_no_legal_url_is_blotted_out_too,
           a_scheme_that_is_missing_or_mistyped_does_not_show_the_user,
           fragments_of_urls_are_blotted_out, of_an_address_nothing_before_the_host_is_shown,
           query_values_that_are_secrets_are_blotted_out, a_copy_is_cut, names_of_secrets_are_known)
