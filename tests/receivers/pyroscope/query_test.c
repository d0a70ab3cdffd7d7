/* The forwarded query of an /ingest request. */
#include "receivers/pyroscope/pyroscope.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

const struct component *const component_table[] = {NULL};

#define NOW (UINT64_C(1700000000) * NS_PER_S)

static void rewrites(const char *query, const char *want)
{
    char *got = ingest_query_rewrite(query, NOW);
    ck_assert_ptr_nonnull(got);
    ck_assert_str_eq(got, want);
    free(got);
}

START_TEST(bytes_that_no_url_may_have_are_escaped)
{
    rewrites("name=a\x01\x7f\xff&format=jfr", "name=a%01%7F%FF&format=jfr");
    rewrites("name=my app{k=\"v\"}", "name=my%20app%7Bk%3D%22v%22%7D");
    rewrites("name=a#b", "name=a%23b");
}
END_TEST

START_TEST(what_is_escaped_already_means_the_same)
{
    rewrites("name=j%7ba%3Db+c%7d&x=&y&&x=%2B", "name=j%7Ba%3Db%20c%7D&x=&y&x=%2B");
    rewrites("name=100%&a=%00", "name=100%25&a=%2500");
    rewrites("", "");
}
END_TEST

START_TEST(times_that_are_far_ahead_count_as_now)
{
    rewrites("name=a&from=1699999990&until=1700000599", "name=a&from=1699999990&until=1700000599");
    rewrites("from=4102444800&until=4102444800000", "from=1700000000&until=1700000000");
    rewrites("until=1700000601&until=1", "until=1700000000&until=1700000000");
    ck_assert_uint_eq(ingest_query_time("from=4102444800", "from", NOW), NOW);
    ck_assert_uint_eq(ingest_query_time("from=1699999990", "from", NOW), NOW - 10 * NS_PER_S);
    ck_assert_uint_eq(ingest_query_time("", "from", NOW), 0);
}
END_TEST

SUITE_MAIN("ingest_query", bytes_that_no_url_may_have_are_escaped,
           what_is_escaped_already_means_the_same, times_that_are_far_ahead_count_as_now)
