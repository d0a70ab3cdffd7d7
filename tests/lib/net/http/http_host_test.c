#include "lib/net/http/http_host.h"

#include "tests/support/suite.h"

START_TEST(addresses_localhost_and_the_configured_name_are_own)
{
    static const char *const own[] = {"127.0.0.1", "10.0.0.1:80",   "[::1]:55679",
                                      "localhost", "LOCALHOST:1",   "me.example",
                                      "[::1]",     "Me.Example:443"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        ck_assert_msg(http_host_is_own(own[i], "me.example"), "%s", own[i]);
}
END_TEST

START_TEST(other_names_and_what_is_no_host_are_not)
{
    static const char *const others[] = {
        "evil.example",   "evil.example:55679", "",
        "localhost:",     "localhost:x",        "localhost:65536",
        "localhost.evil", "127.0.0.1.evil",     "[::1]x",
        "localhost:1:2",  "[localhost",         "localhost:000001"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!http_host_is_own(others[i], ""), "%s", others[i]);
    ck_assert(!http_host_is_own(NULL, ""));
}
END_TEST

SUITE_MAIN("http host", addresses_localhost_and_the_configured_name_are_own,
           other_names_and_what_is_no_host_are_not)
