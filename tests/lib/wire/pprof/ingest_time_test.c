#include "lib/wire/pprof/ingest_time.h"

#include "tests/support/suite.h"

START_TEST(the_number_of_digits_tells_the_unit)
{
    ck_assert_uint_eq(ingest_time_parse("1700000000"), UINT64_C(1700000000000000000));
    ck_assert_uint_eq(ingest_time_parse("1700000000123"), UINT64_C(1700000000123000000));
    ck_assert_uint_eq(ingest_time_parse("1700000000123456"), UINT64_C(1700000000123456000));
    ck_assert_uint_eq(ingest_time_parse("1700000000123456789"), UINT64_C(1700000000123456789));
    ck_assert_uint_eq(ingest_time_parse("7"), UINT64_C(7000000000));
}
END_TEST

START_TEST(eight_digits_are_a_date_where_they_can_be_one)
{
    ck_assert_uint_eq(ingest_time_parse("20240229"), UINT64_C(1709164800000000000));
    ck_assert_uint_eq(ingest_time_parse("20230229"), UINT64_C(20230229000000000));
    ck_assert_uint_eq(ingest_time_parse("99999999"), UINT64_C(99999999000000000));
    ck_assert_uint_eq(ingest_time_parse("00000000"), 0);
}
END_TEST

START_TEST(what_is_no_number_is_now)
{
    static const char *const texts[] = {"", "now", "now-1h", "-5", "+5", " 5", "1.5", "5s", "0x10"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_uint_eq(ingest_time_parse(texts[i]), 0);
}
END_TEST

START_TEST(no_time_is_past_what_a_profile_can_hold)
{
    ck_assert_uint_eq(ingest_time_parse("9223372036854775807"), INT64_MAX);
    ck_assert_uint_eq(ingest_time_parse("9223372036854775808"), 0);
    ck_assert_uint_eq(ingest_time_parse("99999999999999999999"), 0);
    ck_assert_uint_eq(ingest_time_parse("9999999999999"), 0);
    ck_assert_uint_eq(ingest_time_parse("9223372036854"), UINT64_C(9223372036854000000));
    ck_assert_uint_eq(ingest_time_parse("99999999999"), 0);
    ck_assert_uint_eq(ingest_time_parse("999999999999999999"), 0);
}
END_TEST

SUITE_MAIN("ingest_time", the_number_of_digits_tells_the_unit,
           eight_digits_are_a_date_where_they_can_be_one, what_is_no_number_is_now,
           no_time_is_past_what_a_profile_can_hold)
