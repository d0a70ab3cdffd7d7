#include "lib/wire/pprof/pprof_delta.h"

#include "tests/support/pprof_build.h"
#include "tests/support/pprof_random.h"
#include "tests/support/pprof_text.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* One sample of a heap profile, in Go's order of types. */
struct heap {
    const char *leaf;
    int64_t values[4]; /* alloc_objects, alloc_space, inuse_objects, inuse_space */
};

static struct bytes heap_profile(const struct heap *samples, size_t count, const char *extra)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_line(build, 7);
    pprof_build_type(build, "alloc_objects", "count");
    pprof_build_type(build, "alloc_space", "bytes");
    pprof_build_type(build, "inuse_objects", "count");
    pprof_build_type(build, "inuse_space", "bytes");
    pprof_build_period(build, "space", "bytes", 524288);
    pprof_build_time(build, 1700000000000000000, 0);
    /* Extra strings and ids that shift all following numbers. */
    if (extra)
        pprof_build_sample(build, (const int64_t[4]){0}, (const char *const[]){extra, NULL});
    for (size_t i = 0; i < count; i++)
        pprof_build_sample(build, samples[i].values,
                           (const char *const[]){samples[i].leaf, "main", NULL});
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

/* The samples of a profile's growth, as lines; "" for EMPTY. Releases the profile. */
static char *grown(struct pprof_delta *delta, struct bytes raw)
{
    struct arena arena;
    struct pprof pprof, result;
    struct proto_fault fault;
    struct bytes out;
    char *text;
    arena_init(&arena, 64 << 20);
    bytes_init(&out, 1 << 20, NULL);
    ck_assert(pprof_open(&pprof, bytes_view(&raw), &arena, &fault));
    enum pprof_delta_result got = pprof_delta_next(delta, &pprof, &arena, &out);
    ck_assert_int_ne(got, PPROF_DELTA_NO_ROOM);
    if (got == PPROF_DELTA_EMPTY) {
        text = strdup("");
    } else {
        ck_assert(pprof_open(&result, bytes_view(&out), &arena, &fault));
        ck_assert_int_eq(result.time_nanos, pprof.time_nanos);
        struct bytes lines = pprof_text(bytes_view(&out), true);
        struct view samples = pprof_text_samples(&lines);
        text = strndup((const char *)samples.data, samples.size);
        bytes_release(&lines);
    }
    bytes_release(&out);
    bytes_release(&raw);
    arena_release(&arena);
    return text;
}

#define HEAP(extra, ...)                                                                           \
    heap_profile((const struct heap[]){__VA_ARGS__},                                               \
                 sizeof((const struct heap[]){__VA_ARGS__}) / sizeof(struct heap), extra)

/* The sample lines of a profile, for comparison. */
static char *lines_of(struct bytes raw)
{
    struct bytes lines = pprof_text(bytes_view(&raw), true);
    struct view samples = pprof_text_samples(&lines);
    char *text = strndup((const char *)samples.data, samples.size);
    bytes_release(&lines);
    bytes_release(&raw);
    return text;
}

static void expect(struct pprof_delta *delta, struct bytes raw, struct bytes want)
{
    char *got = grown(delta, raw), *text = lines_of(want);
    ck_assert_str_eq(got, text);
    free(got);
    free(text);
}

static void expect_nothing(struct pprof_delta *delta, struct bytes raw)
{
    char *got = grown(delta, raw);
    ck_assert_str_eq(got, "");
    free(got);
}

static struct pprof_delta delta;

static void begin(void)
{
    pprof_delta_init(&delta, 1 << 20, NULL);
}

START_TEST(what_was_allocated_is_told_once_and_what_is_in_use_each_time)
{
    begin();
    expect(&delta, HEAP(NULL, {"a", {10, 1000, 1, 100}}, {"b", {5, 50, 0, 0}}),
           HEAP(NULL, {"a", {0, 0, 1, 100}}));
    expect(&delta, HEAP("moved", {"b", {7, 70, 0, 0}}, {"a", {10, 1000, 2, 200}}),
           HEAP(NULL, {"b", {2, 20, 0, 0}}, {"a", {0, 0, 2, 200}}));
    expect_nothing(&delta, HEAP(NULL, {"a", {10, 1000, 0, 0}}, {"b", {7, 70, 0, 0}}));
    expect(&delta,
           HEAP("again", {"new", {3, 30, 0, 0}}, {"a", {11, 1100, 0, 0}}, {"b", {7, 70, 0, 0}}),
           HEAP(NULL, {"new", {3, 30, 0, 0}}, {"a", {1, 100, 0, 0}}));
    pprof_delta_release(&delta);
}
END_TEST

START_TEST(a_process_that_began_anew_is_a_first_profile)
{
    begin();
    expect_nothing(&delta, HEAP(NULL, {"a", {10, 1000, 0, 0}}, {"b", {5, 50, 0, 0}}));
    expect_nothing(&delta, HEAP(NULL, {"a", {12, 1200, 0, 0}}, {"b", {1, 10, 0, 0}}));
    expect(&delta, HEAP(NULL, {"a", {13, 1300, 0, 0}}, {"b", {1, 10, 0, 0}}),
           HEAP(NULL, {"a", {1, 100, 0, 0}}));
    expect(&delta, HEAP(NULL, {"a", {15, 1500, 1, 2}}), HEAP(NULL, {"a", {0, 0, 1, 2}}));
    pprof_delta_release(&delta);
}
END_TEST

START_TEST(samples_that_are_alike_become_one)
{
    begin();
    expect_nothing(&delta, HEAP(NULL, {"a", {10, 1000, 0, 0}}, {"a", {1, 8, 0, 0}}));
    expect(&delta, HEAP(NULL, {"a", {11, 1100, 1, 1}}, {"b", {1, 1, 0, 0}}, {"a", {2, 16, 2, 2}}),
           HEAP(NULL, {"a", {2, 108, 3, 3}}, {"b", {1, 1, 0, 0}}));
    pprof_delta_release(&delta);
}
END_TEST

static struct bytes mutex_profile(const char *second_unit, int64_t n)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "contentions", "count");
    pprof_build_type(build, "delay", second_unit);
    pprof_build_sample(build, (const int64_t[]){n, n * 100}, (const char *const[]){"lock", NULL});
    pprof_build_label(build, "route", "/a");
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

START_TEST(other_types_begin_anew)
{
    begin();
    expect_nothing(&delta, mutex_profile("nanoseconds", 5));
    expect(&delta, mutex_profile("nanoseconds", 7), mutex_profile("nanoseconds", 2));
    expect_nothing(&delta, mutex_profile("microseconds", 9));
    expect(&delta, mutex_profile("microseconds", 10), mutex_profile("microseconds", 1));
    pprof_delta_release(&delta);
    expect_nothing(&delta, mutex_profile("microseconds", 11));
    pprof_delta_release(&delta);
}
END_TEST

START_TEST(tables_shrink_to_what_has_grown)
{
    struct heap samples[200];
    char names[200][32];
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct bytes out;
    for (int i = 0; i < 200; i++) {
        snprintf(names[i], sizeof names[i], "function number %d", i);
        samples[i] = (struct heap){names[i], {10, 100, 0, 0}};
    }
    begin();
    expect_nothing(&delta, heap_profile(samples, 200, NULL));
    samples[77].values[0]++;
    struct bytes raw = heap_profile(samples, 200, NULL);
    arena_init(&arena, 64 << 20);
    bytes_init(&out, 1 << 20, NULL);
    ck_assert(pprof_open(&pprof, bytes_view(&raw), &arena, &fault));
    ck_assert_int_eq(pprof_delta_next(&delta, &pprof, &arena, &out), PPROF_DELTA_OK);
    ck_assert_uint_lt(out.size, 300);
    ck_assert_uint_gt(raw.size, 4000);
    bytes_release(&out);
    bytes_release(&raw);
    arena_release(&arena);
    pprof_delta_release(&delta);
}
END_TEST

/* Every limit that is too low is reported, leaves no charge on the budget, and the next profile
 * counts as the first. */
START_TEST(too_little_room_is_told)
{
    struct bytes raw = HEAP(NULL, {"a", {10, 1000, 1, 1}}, {"b", {5, 50, 1, 1}});
    bool whole = false;
    for (size_t cap = 0; !whole; cap += 16) {
        struct arena index, arena;
        struct pprof pprof;
        struct proto_fault fault;
        struct budget budget;
        struct bytes out;
        arena_init(&index, 1 << 20);
        arena_init(&arena, cap);
        budget_init(&budget, 1 << 20);
        bytes_init(&out, 1 << 20, &budget);
        pprof_delta_init(&delta, 1 << 20, &budget);
        ck_assert(pprof_open(&pprof, bytes_view(&raw), &index, &fault));
        enum pprof_delta_result got = pprof_delta_next(&delta, &pprof, &arena, &out);
        whole = got == PPROF_DELTA_OK;
        ck_assert(whole || got == PPROF_DELTA_NO_ROOM);
        ck_assert(whole || delta.types == 0);
        bytes_release(&out);
        pprof_delta_release(&delta);
        ck_assert_uint_eq(budget_used(&budget), 0);
        arena_release(&arena);
        arena_release(&index);
        ck_assert_uint_lt(cap, 1 << 16);
    }
    bytes_release(&raw);
}
END_TEST

START_TEST(a_full_output_or_memory_is_told)
{
    const size_t limits[][2] = {{10, 1 << 20}, {1 << 20, 10}};
    struct bytes raw = HEAP(NULL, {"a", {10, 1000, 1, 1}});
    for (size_t i = 0; i < 2; i++) {
        struct arena arena;
        struct pprof pprof;
        struct proto_fault fault;
        struct bytes out;
        arena_init(&arena, 1 << 20);
        bytes_init(&out, limits[i][0], NULL);
        pprof_delta_init(&delta, limits[i][1], NULL);
        ck_assert(pprof_open(&pprof, bytes_view(&raw), &arena, &fault));
        ck_assert_int_eq(pprof_delta_next(&delta, &pprof, &arena, &out), PPROF_DELTA_NO_ROOM);
        bytes_release(&out);
        pprof_delta_release(&delta);
        arena_release(&arena);
    }
    bytes_release(&raw);
}
END_TEST

/* Any profile: the same one again has not grown. */
START_TEST(a_profile_has_not_grown_since_itself)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct view raw = pprof_random(seed);
        begin();
        for (int i = 0; i < 2; i++) {
            struct arena arena;
            struct pprof pprof;
            struct proto_fault fault;
            struct bytes out;
            arena_init(&arena, 1 << 20);
            bytes_init(&out, 1 << 20, NULL);
            ck_assert(pprof_open(&pprof, raw, &arena, &fault));
            ck_assert_int_eq(pprof_delta_next(&delta, &pprof, &arena, &out), PPROF_DELTA_EMPTY);
            bytes_release(&out);
            arena_release(&arena);
        }
        pprof_delta_release(&delta);
    }
}
END_TEST

SUITE_MAIN("pprof_delta", what_was_allocated_is_told_once_and_what_is_in_use_each_time,
           a_process_that_began_anew_is_a_first_profile, samples_that_are_alike_become_one,
           other_types_begin_anew, tables_shrink_to_what_has_grown, too_little_room_is_told,
           a_full_output_or_memory_is_told, a_profile_has_not_grown_since_itself)
