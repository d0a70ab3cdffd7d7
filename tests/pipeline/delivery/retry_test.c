#include "pipeline/delivery/retry.h"

#include "lib/base/clock.h"
#include "tests/support/suite.h"

/* The Collector's defaults. */
static const struct retry_settings defaults = {
    .enabled = true,
    .initial_interval = 5 * NS_PER_S,
    .randomization_factor = 0.5,
    .multiplier = 1.5,
    .max_interval = 30 * NS_PER_S,
    .max_elapsed_time = 300 * NS_PER_S,
};

START_TEST(the_middle_of_the_wait_grows_to_the_longest_interval)
{
    ck_assert_uint_eq(retry_wait(&defaults, 0, 0.5, 0), 5 * NS_PER_S);
    ck_assert_uint_eq(retry_wait(&defaults, 1, 0.5, 0), 7500 * NS_PER_MS);
    ck_assert_uint_eq(retry_wait(&defaults, 2, 0.5, 0), 11250 * NS_PER_MS);
    ck_assert_uint_eq(retry_wait(&defaults, 5, 0.5, 0), 30 * NS_PER_S);
    ck_assert_uint_eq(retry_wait(&defaults, 4000000000u, 0.5, 0), 30 * NS_PER_S);
}
END_TEST

START_TEST(the_wait_is_drawn_from_around_it)
{
    ck_assert_uint_eq(retry_wait(&defaults, 0, 0.0, 0), 2500 * NS_PER_MS);
    uint64_t longest = retry_wait(&defaults, 9, 0.999999, 0);
    ck_assert_uint_gt(longest, 44 * NS_PER_S);
    ck_assert_uint_le(longest, 45 * NS_PER_S);
}
END_TEST

START_TEST(what_the_server_asks_counts_above_the_longest_interval)
{
    ck_assert_uint_eq(retry_wait(&defaults, 0, 0.5, 90 * NS_PER_S), 90 * NS_PER_S);
    ck_assert_uint_eq(retry_wait(&defaults, 0, 0.5, NS_PER_S), 5 * NS_PER_S);
}
END_TEST

START_TEST(of_a_longer_wait_that_the_server_asks_for_five_minutes_count)
{
    ck_assert_uint_eq(retry_wait(&defaults, 0, 0.5, 300 * NS_PER_S), 300 * NS_PER_S);
    ck_assert_uint_eq(retry_wait(&defaults, 0, 0.5, 365 * 86400 * NS_PER_S), 300 * NS_PER_S);
    ck_assert_uint_eq(retry_wait(&defaults, 0, 0.5, UINT64_MAX), 300 * NS_PER_S);
    struct retry_settings slow = defaults;
    slow.initial_interval = slow.max_interval = 3600 * NS_PER_S;
    ck_assert_uint_eq(retry_wait(&slow, 0, 0.5, UINT64_MAX), 3600 * NS_PER_S);
}
END_TEST

START_TEST(a_multiplier_of_one_or_less_keeps_the_interval)
{
    struct retry_settings settings = defaults;
    settings.multiplier = 0;
    ck_assert_uint_eq(retry_wait(&settings, 4000000000u, 0.5, 0), 5 * NS_PER_S);
}
END_TEST

START_TEST(no_retry_starts_past_the_elapsed_time)
{
    ck_assert(retry_allowed(&defaults, 0, 300 * NS_PER_S));
    ck_assert(!retry_allowed(&defaults, 0, 301 * NS_PER_S));
    ck_assert(retry_allowed(&defaults, 290 * NS_PER_S, 10 * NS_PER_S));
    ck_assert(!retry_allowed(&defaults, 291 * NS_PER_S, 10 * NS_PER_S));
}
END_TEST

START_TEST(zero_elapsed_time_is_for_ever_and_disabled_is_never)
{
    struct retry_settings settings = defaults;
    settings.max_elapsed_time = 0;
    ck_assert(retry_allowed(&settings, 86400 * NS_PER_S, 90 * NS_PER_S));
    settings.enabled = false;
    ck_assert(!retry_allowed(&settings, 0, 1));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_middle_of_the_wait_grows_to_the_longest_interval,
        the_wait_is_drawn_from_around_it,
        what_the_server_asks_counts_above_the_longest_interval,
        of_a_longer_wait_that_the_server_asks_for_five_minutes_count,
        a_multiplier_of_one_or_less_keeps_the_interval,
        no_retry_starts_past_the_elapsed_time,
        zero_elapsed_time_is_for_ever_and_disabled_is_never,
        NULL,
    };
    return suite_run("retry", tests);
}
