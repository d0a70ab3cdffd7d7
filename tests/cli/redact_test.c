#include "cli/redact.h"

#include "tests/cli/ran.h"

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
    shows("mail@example.org", "mail@example.org");
    shows("://", "://");
    shows("", "");
}
END_TEST

START_TEST(names_of_secrets_are_known)
{
    ck_assert(redact_name("bearer_token"));
    ck_assert(redact_name("Authorization"));
    ck_assert(redact_name("headers"));
    ck_assert(redact_name("password_file"));
    ck_assert(!redact_name("endpoint"));
    ck_assert(!redact_name("key_file"));
}
END_TEST

int main(int argc, char **argv)
{
    return ran_main(argc, argv, "redact",
                    (const TTest *const[]){
                        users_of_urls_are_blotted_out,
                        names_of_secrets_are_known,
                        NULL,
                    });
}
