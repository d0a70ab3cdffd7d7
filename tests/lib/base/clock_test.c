#include "lib/base/clock.h"

#include "tests/support/suite.h"

START_TEST(the_monotonic_clock_does_not_go_back)
{
    uint64_t last = clock_mono(&clock_system);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = clock_mono(&clock_system);
        ck_assert_uint_ge(now, last);
        last = now;
    }
}
END_TEST

START_TEST(the_wall_clock_counts_from_1970)
{
    ck_assert_uint_gt(clock_wall(&clock_system), UINT64_C(1700000000) * NS_PER_S);
}
END_TEST

START_TEST(a_time_is_written_as_the_time_of_day_in_utc)
{
    char out[CLOCK_TEXT];
    ck_assert_str_eq(clock_text((UINT64_C(86400) * 365 + 34010) * NS_PER_S, out), "09:26:50Z");
}
END_TEST

SUITE_MAIN("clock", the_monotonic_clock_does_not_go_back, the_wall_clock_counts_from_1970,
           a_time_is_written_as_the_time_of_day_in_utc)
