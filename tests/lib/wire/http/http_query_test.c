#include <stdlib.h>

#include "lib/wire/http/http_query.h"
#include "tests/support/suite.h"

static const char *got(const char *query, const char *name)
{
    static char out[64];
    return http_query_get(query, name, out, sizeof out) ? out : NULL;
}

START_TEST(values_are_found_by_name)
{
    ck_assert_str_eq(got("name=app&from=1", "name"), "app");
    ck_assert_str_eq(got("name=app&from=1", "from"), "1");
    ck_assert_str_eq(got("a=b=c", "a"), "b=c");
    ck_assert_ptr_null(got("name=app", "nam"));
    ck_assert_ptr_null(got("name=app", "name2"));
    ck_assert_ptr_null(got("", "name"));
    ck_assert_ptr_null(got("&&", "name"));
}
END_TEST

START_TEST(escapes_and_plus_are_decoded_in_names_and_values)
{
    ck_assert_str_eq(got("name=my%20app%7Bk%3dv%7d+x", "name"), "my app{k=v} x");
    ck_assert_str_eq(got("na%6De=1", "name"), "1");
    ck_assert_str_eq(got("a+b=1", "a b"), "1");
    ck_assert_str_eq(got("name=a%26b&c=d", "name"), "a&b");
}
END_TEST

START_TEST(what_is_no_escape_stands_for_itself)
{
    ck_assert_str_eq(got("a=%zz", "a"), "%zz");
    ck_assert_str_eq(got("a=100%", "a"), "100%");
    ck_assert_str_eq(got("a=%4&b=1", "a"), "%4");
    ck_assert_str_eq(got("a=x%00y", "a"), "x%00y");
}
END_TEST

START_TEST(a_copied_value_may_have_nuls_and_is_cut)
{
    uint8_t out[4];
    ck_assert_int_eq(http_query_copy("b=1&a=x%00y", "a", out, sizeof out), 3);
    ck_assert_mem_eq(out, "x\0y", 3);
    ck_assert_int_eq(http_query_copy("a=%2500%", "a", out, sizeof out), 4);
    ck_assert_mem_eq(out, "%00%", 4);
    ck_assert_int_eq(http_query_copy("a=12345", "a", out, sizeof out), 4);
    ck_assert_int_eq(http_query_copy("a=", "a", out, sizeof out), 0);
    ck_assert_int_eq(http_query_copy("a", "a", out, sizeof out), 0);
    ck_assert_int_eq(http_query_copy("b=1", "a", out, sizeof out), -1);
}
END_TEST

START_TEST(the_first_value_that_is_not_empty_wins)
{
    ck_assert_str_eq(got("a=&a=1&a=2", "a"), "1");
    ck_assert_str_eq(got("a&a=2", "a"), "2");
    ck_assert_str_eq(got("a=", "a"), "");
    ck_assert_str_eq(got("b=1&a", "a"), "");
}
END_TEST

START_TEST(a_value_that_does_not_fit_is_absent)
{
    char out[4];
    ck_assert(http_query_get("a=123", "a", out, sizeof out));
    ck_assert_str_eq(out, "123");
    ck_assert(!http_query_get("a=1234", "a", out, sizeof out));
    ck_assert(!http_query_get("a=", "a", out, 0));
}
END_TEST

SUITE_MAIN("net/http_query", values_are_found_by_name,
           escapes_and_plus_are_decoded_in_names_and_values, what_is_no_escape_stands_for_itself,
           a_copied_value_may_have_nuls_and_is_cut, the_first_value_that_is_not_empty_wins,
           a_value_that_does_not_fit_is_absent)
