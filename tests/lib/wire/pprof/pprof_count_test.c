#include "lib/wire/pprof/pprof_count.h"

#include "tests/support/pprof_build.h"
#include "tests/support/suite.h"

/* The samples of a profile with one record; types are type and unit, up to an empty type. */
static uint64_t samples_of(const char *const *types, const int64_t *values, const char *unit,
                           int64_t period)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct pprof_sample sample;
    struct pprof_build *build = pprof_build_new();
    for (; *types; types += 2)
        pprof_build_type(build, types[0], types[1]);
    if (period)
        pprof_build_period(build, "cpu", unit, period);
    pprof_build_sample(build, values, (const char *const[]){"f", NULL});
    struct bytes raw = pprof_build_raw(build);
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_open(&pprof, bytes_view(&raw), &arena, &fault));
    struct pprof_count count = pprof_count_of(&pprof);
    struct proto_scan scan = pprof_samples(&pprof);
    ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    uint64_t samples = pprof_count_samples(&count, &sample);
    arena_release(&arena);
    bytes_release(&raw);
    pprof_build_free(build);
    return samples;
}
#define SAMPLES(period, types, ...)                                                                \
    samples_of((const char *const[]){types, NULL}, (const int64_t[]){__VA_ARGS__}, "nanoseconds",  \
               period)
#define GO     "samples", "count", "cpu", "nanoseconds"
#define PYTHON "cpu", "nanoseconds"
#define HEAP   "inuse_space", "bytes"

START_TEST(the_number_that_a_profile_states_is_taken)
{
    ck_assert_uint_eq(SAMPLES(10000000, GO, 3, 30000000), 3);
    ck_assert_uint_eq(SAMPLES(10000000, GO, 0, 30000000), 0);
    ck_assert_uint_eq(SAMPLES(0, GO, -1, 0), 0);
}
END_TEST

START_TEST(without_one_it_is_the_time_in_periods)
{
    ck_assert_uint_eq(SAMPLES(10000000, PYTHON, 290000000), 29);
    ck_assert_uint_eq(SAMPLES(10000000, PYTHON, 26000000), 3);
    ck_assert_uint_eq(SAMPLES(10000000, PYTHON, 24000000), 2);
    ck_assert_uint_eq(SAMPLES(10000000, PYTHON, 15000000), 2);
    ck_assert_uint_eq(SAMPLES(10000000, PYTHON, 1), 1);
    ck_assert_uint_eq(SAMPLES(INT64_MAX, PYTHON, INT64_MAX), 1);
}
END_TEST

START_TEST(the_period_has_the_unit_of_the_time)
{
    const char *const milliseconds[] = {"cpu", "milliseconds", NULL};
    ck_assert_uint_eq(samples_of(milliseconds, (const int64_t[]){40}, "milliseconds", 10), 4);
    ck_assert_uint_eq(samples_of(milliseconds, (const int64_t[]){40}, "nanoseconds", 10), 1);
    const char *const seconds[] = {"cpu", "seconds", NULL};
    ck_assert_uint_eq(samples_of(seconds, (const int64_t[]){3}, "seconds", 1), 3);
    ck_assert_uint_eq(pprof_time_unit(VIEW("microseconds")), 1000);
    ck_assert_uint_eq(pprof_time_unit(VIEW("seconds")), 1000000000);
    ck_assert_uint_eq(pprof_time_unit(VIEW("bytes")), 0);
}
END_TEST

START_TEST(without_a_period_of_a_profiler_a_record_is_one)
{
    ck_assert_uint_eq(SAMPLES(0, PYTHON, 290000000), 1);
    ck_assert_uint_eq(SAMPLES(10000000, HEAP, 290000000), 1);
    ck_assert_uint_eq(SAMPLES(1, PYTHON, 290000000), 1); /* of .NET */
    ck_assert_uint_eq(SAMPLES(10000, PYTHON, 30000), 3);
}
END_TEST

SUITE_MAIN("pprof_count", the_number_that_a_profile_states_is_taken,
           the_period_has_the_unit_of_the_time, without_one_it_is_the_time_in_periods,
           without_a_period_of_a_profiler_a_record_is_one)
