#include "pipeline/delivery/wakeups.h"

#include "tests/support/suite.h"

START_TEST(work_that_a_signal_is_on_its_way_for_needs_no_other)
{
    struct wakeups wakeups = {0};
    wakeups_sleep(&wakeups);
    wakeups_sleep(&wakeups);
    ck_assert_uint_eq(wakeups_signals(&wakeups, 1), 1);
    ck_assert_uint_eq(wakeups_signals(&wakeups, 1), 0);
    ck_assert_uint_eq(wakeups_signals(&wakeups, 2), 1);
    ck_assert_uint_eq(wakeups_signals(&wakeups, 5), 0);
}
END_TEST

START_TEST(a_worker_that_ran_and_sleeps_again_is_signalled_again)
{
    struct wakeups wakeups = {0};
    wakeups_start(&wakeups);
    ck_assert_uint_eq(wakeups_signals(&wakeups, 1), 0);
    wakeups_run(&wakeups);
    ck_assert_uint_eq(wakeups_signals(&wakeups, 1), 0);
    wakeups_sleep(&wakeups);
    ck_assert_uint_eq(wakeups_signals(&wakeups, 1), 1);
}
END_TEST

START_TEST(a_wait_that_ends_without_a_signal_loses_none)
{
    struct wakeups wakeups = {0};
    wakeups_sleep(&wakeups);
    wakeups_run(&wakeups);
    wakeups_sleep(&wakeups);
    ck_assert_uint_eq(wakeups_signals(&wakeups, 1), 1);
}
END_TEST

SUITE_MAIN("wakeups", work_that_a_signal_is_on_its_way_for_needs_no_other,
           a_worker_that_ran_and_sleeps_again_is_signalled_again,
           a_wait_that_ends_without_a_signal_loses_none)
