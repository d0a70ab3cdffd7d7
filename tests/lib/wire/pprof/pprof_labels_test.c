#include "lib/wire/pprof/pprof_labels.h"

#include "tests/support/pprof_build.h"
#include "tests/support/suite.h"

#include <stdio.h>

static struct pprof_build *build;

static void sample(void)
{
    pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){"f", NULL});
}

static size_t promoted(const struct series *series)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct bytes raw = pprof_build_raw(build);
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_open(&pprof, bytes_view(&raw), &arena, &fault));
    size_t count = pprof_promoted_labels(&pprof, series);
    arena_release(&arena);
    bytes_release(&raw);
    return count;
}

static struct series *series_of(const char *text)
{
    const char *reason;
    struct series *series = series_parse(view_of(text), &reason);
    ck_assert_ptr_nonnull(series);
    return series;
}

static void begin(void)
{
    build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
}

START_TEST(span_and_trace_ids_and_numbers_stay_on_the_sample)
{
    struct series *series = series_of("a");
    begin();
    sample();
    ck_assert_uint_eq(promoted(series), 0);
    pprof_build_label(build, "span_id", "00f067aa0ba902b7");
    pprof_build_label(build, "trace_id", "4bf92f3577b34da6a3ce929d0e0e4736");
    pprof_build_label(build, "profile_id", "00f067aa0ba902b7");
    pprof_build_num_label(build, "bytes", 7, "bytes");
    ck_assert_uint_eq(promoted(series), 0);
    pprof_build_label(build, "span_name", "GET /");
    ck_assert_uint_eq(promoted(series), 1);
    pprof_build_free(build);
    series_unref(series);
}
END_TEST

START_TEST(the_sample_with_the_most_keys_counts_and_each_key_once)
{
    struct series *series = series_of("a");
    begin();
    sample();
    pprof_build_label(build, "x", "1");
    pprof_build_label(build, "x", "2");
    pprof_build_label(build, "y", "1");
    sample();
    pprof_build_label(build, "z", "1");
    ck_assert_uint_eq(promoted(series), 2);
    pprof_build_free(build);
    series_unref(series);
}
END_TEST

START_TEST(a_label_that_the_series_has_is_not_promoted)
{
    struct series *series = series_of("a{x=1}");
    begin();
    sample();
    pprof_build_label(build, "x", "2");
    pprof_build_label(build, "y", "2");
    ck_assert_uint_eq(promoted(series), 1);
    pprof_build_free(build);
    series_unref(series);
}
END_TEST

START_TEST(a_sample_with_very_many_labels_is_counted_in_bounds)
{
    struct series *series = series_of("a");
    begin();
    sample();
    for (unsigned i = 0; i < 2000; i++) {
        char key[16];
        snprintf(key, sizeof key, "key_%u", i);
        pprof_build_label(build, key, "v");
    }
    ck_assert_uint_ge(promoted(series), 100);
    pprof_build_free(build);
    series_unref(series);
}
END_TEST

SUITE_MAIN("pprof_labels", span_and_trace_ids_and_numbers_stay_on_the_sample,
           the_sample_with_the_most_keys_counts_and_each_key_once,
           a_label_that_the_series_has_is_not_promoted,
           a_sample_with_very_many_labels_is_counted_in_bounds)
