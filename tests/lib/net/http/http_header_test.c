#include "lib/net/http/http_header.h"

#include "tests/support/suite.h"

START_TEST(names_are_tokens)
{
    ck_assert(http_header_name_fits("X-Scope-OrgID"));
    ck_assert(http_header_name_fits("a!#$%&'*+-.^_`|~9"));
    ck_assert(!http_header_name_fits(""));
    ck_assert(!http_header_name_fits("a b"));
    ck_assert(!http_header_name_fits("a:"));
    ck_assert(!http_header_name_fits("a\r\nb"));
    ck_assert(!http_header_name_fits("\xc3\xbc"));
}
END_TEST

START_TEST(values_have_no_control_characters)
{
    ck_assert(http_header_value_fits(""));
    ck_assert(http_header_value_fits("Basic dTpw \t\"\xff"));
    ck_assert(!http_header_value_fits("a\r\nb: c"));
    ck_assert(!http_header_value_fits("\x01"));
    ck_assert(!http_header_value_fits("\x7f"));
}
END_TEST

SUITE_MAIN("http_header", names_are_tokens, values_have_no_control_characters)
