#include "lib/wire/pprof/pprof_split.h"

#include "tests/support/pprof_build.h"
#include "tests/support/pprof_random.h"
#include "tests/support/pprof_text.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define START INT64_C(1700000000000000000)

static struct arena arena;
static struct pprof pprof;

static void open(struct view raw)
{
    struct proto_fault fault;
    arena_init(&arena, 64 << 20);
    ck_assert_msg(pprof_open(&pprof, raw, &arena, &fault), "%s: %s", fault.message, fault.reason);
}

/* A profile with this number of samples, each with its own stack below one function. */
static struct bytes many(unsigned samples)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_period(build, "cpu", "nanoseconds", 10000000);
    pprof_build_time(build, START, 10000000000);
    for (unsigned i = 0; i < samples; i++) {
        char leaf[64], id[32];
        snprintf(leaf, sizeof leaf, "a function with a long name, number %u", i);
        snprintf(id, sizeof id, "%016x", i + 1);
        pprof_build_sample(build, (const int64_t[]){i + 1, 10 * (int64_t)i},
                           (const char *const[]){leaf, "main", NULL});
        pprof_build_label(build, "span_id", id);
        pprof_build_num_label(build, "bytes", 64, "bytes");
    }
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

struct totals {
    size_t parts, samples, largest;
    int64_t values;
};

/* Splits the open profile; checks every part, and that together they are the profile. Returns the
 * totals. */
static struct totals split_all(size_t max_samples, size_t max_bytes)
{
    struct pprof_split split;
    struct bytes part, texts, whole = pprof_text(pprof.raw, false);
    const char *fault = NULL;
    struct totals totals = {0};
    bytes_init(&part, 1 << 26, NULL);
    bytes_init(&texts, 1 << 26, NULL);
    ck_assert(pprof_split_begin(&split, &pprof, max_samples, max_bytes, &arena));
    while (pprof_split_next(&split, &part, &fault)) {
        struct arena own;
        struct pprof cut;
        struct proto_fault broken;
        arena_init(&own, 64 << 20);
        ck_assert_msg(pprof_open(&cut, bytes_view(&part), &own, &broken), "%s", broken.reason);
        ck_assert_uint_ge(cut.sample_count, 1);
        if (pprof.time_nanos)
            ck_assert_int_eq(cut.time_nanos, pprof.time_nanos + (int64_t)totals.samples);
        if (max_samples)
            ck_assert_uint_le(cut.sample_count, max_samples);
        if (max_bytes && cut.sample_count > 1)
            ck_assert_uint_le(part.size, max_bytes);
        struct bytes text = pprof_text(bytes_view(&part), false);
        struct view samples = pprof_text_samples(&text);
        size_t head = text.size - samples.size;
        ck_assert(view_eq((struct view){text.data, head}, (struct view){whole.data, head}));
        ck_assert_int_eq(bytes_append_view(&texts, samples), BYTES_OK);
        totals.parts++;
        totals.samples += cut.sample_count;
        totals.largest = part.size > totals.largest ? part.size : totals.largest;
        bytes_release(&text);
        arena_release(&own);
    }
    ck_assert_ptr_null(fault);
    ck_assert(view_eq(bytes_view(&texts), pprof_text_samples(&whole)));
    bytes_release(&part);
    bytes_release(&texts);
    bytes_release(&whole);
    return totals;
}

START_TEST(parts_by_samples_are_the_profile)
{
    struct bytes raw = many(1000);
    open(bytes_view(&raw));
    ck_assert(!pprof_split_fits(&pprof, 300, 0));
    struct totals totals = split_all(300, 0);
    ck_assert_uint_eq(totals.parts, 4);
    ck_assert_uint_eq(totals.samples, 1000);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(parts_by_bytes_fill_their_limit)
{
    struct bytes raw = many(1000);
    open(bytes_view(&raw));
    size_t limit = raw.size / 5;
    ck_assert(!pprof_split_fits(&pprof, 0, limit));
    struct totals totals = split_all(0, limit);
    ck_assert_uint_ge(totals.parts, 5);
    ck_assert_uint_le(totals.parts, 7);
    ck_assert_uint_gt(totals.largest, limit * 8 / 10);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(a_profile_within_limits_fits)
{
    struct bytes raw = many(10);
    open(bytes_view(&raw));
    ck_assert(pprof_split_fits(&pprof, 10, raw.size));
    ck_assert(pprof_split_fits(&pprof, 0, 0));
    ck_assert(!pprof_split_fits(&pprof, 9, raw.size));
    ck_assert(!pprof_split_fits(&pprof, 10, raw.size - 1));
    ck_assert_uint_eq(split_all(0, 0).parts, 1);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(tables_hold_only_what_a_parts_samples_use)
{
    struct bytes raw = many(50), part;
    struct pprof_split split;
    const char *fault;
    open(bytes_view(&raw));
    bytes_init(&part, 1 << 20, NULL);
    ck_assert(pprof_split_begin(&split, &pprof, 1, 0, &arena));
    for (unsigned i = 0; i < 50; i++) {
        struct pprof cut;
        struct proto_fault broken;
        char leaf[64];
        unsigned locations = 0, functions = 0;
        ck_assert(pprof_split_next(&split, &part, &fault));
        ck_assert(pprof_open(&cut, bytes_view(&part), &arena, &broken));
        struct proto_scan scan = proto_scan_begin(cut.raw);
        struct proto_field field;
        while (proto_scan_next(&scan, &field)) {
            locations += field.number == 4;
            functions += field.number == 5;
        }
        ck_assert_uint_eq(locations, 2);
        ck_assert_uint_eq(functions, 2);
        /* "", the types with their units, the names of two functions, the label's key and value,
         * "bytes". */
        ck_assert_uint_eq(cut.string_count, 10);
        snprintf(leaf, sizeof leaf, "number %u", i);
        ck_assert_ptr_nonnull(memmem(part.data, part.size, leaf, strlen(leaf)));
    }
    arena_release(&arena);
    bytes_release(&raw);
    bytes_release(&part);
}
END_TEST

/* Many samples with distinct ids and few stacks. */
static struct bytes few_stacks(unsigned samples)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    for (unsigned i = 0; i < samples; i++) {
        char leaf[32], id[32];
        snprintf(leaf, sizeof leaf, "function %u", i % 20);
        snprintf(id, sizeof id, "%016x", i + 1);
        pprof_build_sample(build, (const int64_t[]){i + 1},
                           (const char *const[]){leaf, "main", NULL});
        pprof_build_label(build, "span_id", id);
    }
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

static void move_last_sample_to_the_end(struct bytes *raw)
{
    struct proto_scan scan = proto_scan_begin(bytes_view(raw));
    struct proto_field field, last = {0};
    uint8_t sample[256];
    while (proto_scan_next(&scan, &field))
        if (field.number == 2)
            last = field;
    size_t size = (size_t)(last.end - last.start), at = (size_t)(last.start - raw->data);
    memcpy(sample, last.start, size);
    memmove(raw->data + at, raw->data + at + size, raw->size - at - size);
    memcpy(raw->data + raw->size - size, sample, size);
}

/* The part's samples are the next ones of the profile, byte for byte. */
static void expect_same_samples(const struct bytes *part, struct proto_scan *of_profile)
{
    struct proto_scan scan = proto_scan_begin(bytes_view(part));
    struct proto_field field, want;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != 2)
            continue;
        do
            ck_assert(proto_scan_next(of_profile, &want));
        while (want.number != 2);
        ck_assert(
            view_eq(view_between(field.start, field.end), view_between(want.start, want.end)));
    }
}

static size_t empty_strings(const struct pprof *part)
{
    size_t empty = 0;
    for (size_t i = 0; i < part->string_count; i++)
        empty += pprof_string_at(part, i).size == 0;
    return empty;
}

/* Whether or not the samples are in one run. */
START_TEST(beside_small_tables_samples_stay_as_they_are)
{
    struct bytes raw = few_stacks(2000), part;
    struct pprof_split split;
    const char *fault;
    bytes_init(&part, 1 << 20, NULL);
    for (size_t runs = 1; runs <= 2; runs++) {
        open(bytes_view(&raw));
        struct proto_scan samples = proto_scan_begin(pprof.raw);
        size_t parts = 0, strings = pprof.string_count;
        ck_assert(pprof_split_begin(&split, &pprof, 500, 0, &arena));
        while (pprof_split_next(&split, &part, &fault)) {
            struct pprof cut;
            struct proto_fault broken;
            ck_assert(pprof_open(&cut, bytes_view(&part), &arena, &broken));
            ck_assert_uint_eq(cut.string_count, strings);
            ck_assert_uint_eq(empty_strings(&cut), 1 + 2000 - cut.sample_count);
            expect_same_samples(&part, &samples);
            parts++;
        }
        ck_assert_uint_eq(parts, 4);
        ck_assert_uint_eq(split_all(0, raw.size / 3).samples, pprof.sample_count);
        arena_release(&arena);
        move_last_sample_to_the_end(&raw);
    }
    bytes_release(&raw);
    bytes_release(&part);
}
END_TEST

START_TEST(random_profiles_survive_any_cut)
{
    for (uint64_t seed = 0; seed < 150; seed++) {
        struct view raw = pprof_random(seed);
        open(raw);
        size_t samples = pprof.sample_count;
        ck_assert_uint_eq(split_all(1, 0).parts, samples);
        ck_assert_uint_eq(split_all(3, 0).samples, samples);
        ck_assert_uint_eq(split_all(0, raw.size * 9 / 10).samples, samples);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(unknown_fields_stay_in_every_part)
{
    struct view sample = PB_MESSAGE(2, pb_varint(2, 1), PB_TEXT(50, "in sample"));
    struct view raw = PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1), PB_TEXT(51, "in type")), sample,
                              PB_TEXT(52, "at top"), sample, PB_EMPTY(6), PB_TEXT(6, "cpu"));
    struct pprof_split split;
    struct bytes part;
    const char *fault;
    open(raw);
    bytes_init(&part, 1000, NULL);
    ck_assert(pprof_split_begin(&split, &pprof, 1, 0, &arena));
    for (int i = 0; i < 2; i++) {
        ck_assert(pprof_split_next(&split, &part, &fault));
        ck_assert_ptr_nonnull(memmem(part.data, part.size, "in sample", 9));
        ck_assert_ptr_nonnull(memmem(part.data, part.size, "in type", 7));
        ck_assert_ptr_nonnull(memmem(part.data, part.size, "at top", 6));
    }
    ck_assert(!pprof_split_next(&split, &part, &fault));
    ck_assert_ptr_null(fault);
    arena_release(&arena);
    bytes_release(&part);
}
END_TEST

START_TEST(a_sample_above_the_limit_is_a_part_of_its_own)
{
    struct pprof_build *build = pprof_build_new();
    static char huge[5001];
    memset(huge, 'x', sizeof huge - 1);
    pprof_build_type(build, "cpu", "nanoseconds");
    for (int i = 0; i < 3; i++)
        pprof_build_sample(build, (const int64_t[]){1},
                           (const char *const[]){i == 1 ? huge : "small", NULL});
    struct bytes raw = pprof_build_raw(build);
    open(bytes_view(&raw));
    struct totals totals = split_all(0, 1000);
    ck_assert_uint_eq(totals.parts, 3);
    ck_assert_uint_gt(totals.largest, 5000);
    pprof_build_free(build);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(what_every_part_must_repeat_may_not_exceed_the_limit)
{
    struct bytes raw = many(3), part;
    struct pprof_split split;
    const char *fault;
    open(bytes_view(&raw));
    bytes_init(&part, 1 << 20, NULL);
    ck_assert(pprof_split_begin(&split, &pprof, 0, 40, &arena));
    ck_assert(!pprof_split_next(&split, &part, &fault));
    ck_assert_ptr_nonnull(fault);
    ck_assert_uint_eq(part.size, 0);
    arena_release(&arena);
    bytes_release(&raw);
    bytes_release(&part);
}
END_TEST

START_TEST(a_hostile_profile_does_not_multiply)
{
    struct pprof_build *build = pprof_build_new();
    static char huge[100001];
    memset(huge, 'x', sizeof huge - 1);
    pprof_build_type(build, "cpu", "nanoseconds");
    for (int i = 0; i < 20000; i++)
        pprof_build_sample(build, (const int64_t[]){1}, (const char *const[]){huge, NULL});
    struct bytes raw = pprof_build_raw(build), part;
    struct pprof_split split;
    const char *fault;
    size_t written = 0;
    open(bytes_view(&raw));
    bytes_init(&part, 1 << 20, NULL);
    ck_assert(pprof_split_begin(&split, &pprof, 0, 50000, &arena));
    while (pprof_split_next(&split, &part, &fault))
        written += part.size;
    ck_assert_ptr_nonnull(fault);
    ck_assert_uint_lt(written, 300 * raw.size);
    pprof_build_free(build);
    arena_release(&arena);
    bytes_release(&raw);
    bytes_release(&part);
}
END_TEST

/* Skipped samples are in no part, and do not affect the others' times. */
START_TEST(samples_that_are_passed_over_are_left_out)
{
    struct pprof_split split;
    struct bytes part;
    const char *fault;
    struct bytes raw = many(1000);
    open(bytes_view(&raw));
    bytes_init(&part, 1 << 26, NULL);
    ck_assert(pprof_split_begin(&split, &pprof, 300, 0, &arena));
    pprof_split_pass(&split, 700);
    ck_assert(pprof_split_next(&split, &part, &fault));
    struct arena own;
    struct pprof cut;
    struct proto_fault broken;
    arena_init(&own, 64 << 20);
    ck_assert(pprof_open(&cut, bytes_view(&part), &own, &broken));
    ck_assert_uint_eq(cut.sample_count, 300);
    ck_assert_int_eq(cut.time_nanos, pprof.time_nanos + 700);
    ck_assert_uint_eq(split.samples, 1000);
    ck_assert(!pprof_split_next(&split, &part, &fault));
    ck_assert_ptr_null(fault);
    arena_release(&own);
    arena_release(&arena);
    bytes_release(&part);
    bytes_release(&raw);
}
END_TEST

START_TEST(a_profile_without_a_time_gets_none)
{
    struct pprof_build *build = pprof_build_new();
    struct bytes part;
    struct pprof_split split;
    struct pprof cut;
    struct proto_fault broken;
    const char *fault;
    pprof_build_type(build, "cpu", "nanoseconds");
    for (int i = 0; i < 3; i++)
        pprof_build_sample(build, (const int64_t[]){1}, (const char *const[]){"f", NULL});
    struct bytes raw = pprof_build_raw(build);
    open(bytes_view(&raw));
    bytes_init(&part, 1 << 20, NULL);
    ck_assert(pprof_split_begin(&split, &pprof, 1, 0, &arena));
    while (pprof_split_next(&split, &part, &fault)) {
        ck_assert(pprof_open(&cut, bytes_view(&part), &arena, &broken));
        ck_assert_int_eq(cut.time_nanos, 0);
    }
    ck_assert_uint_eq(split.part, 3);
    pprof_build_free(build);
    arena_release(&arena);
    bytes_release(&raw);
    bytes_release(&part);
}
END_TEST

START_TEST(without_room_for_a_part_there_is_a_reason)
{
    struct bytes raw = many(5), part;
    struct pprof_split split;
    const char *fault;
    open(bytes_view(&raw));
    bytes_init(&part, 100, NULL);
    ck_assert(pprof_split_begin(&split, &pprof, 2, 0, &arena));
    ck_assert(!pprof_split_next(&split, &part, &fault));
    ck_assert_ptr_nonnull(fault);
    ck_assert_uint_eq(part.size, 0);
    bytes_release(&part);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(a_small_arena_is_a_clean_failure)
{
    struct bytes raw = many(5);
    bool begun = false;
    open(bytes_view(&raw));
    for (size_t cap = 0; !begun; cap++) {
        struct arena small;
        struct pprof_split split;
        arena_init(&small, cap);
        begun = pprof_split_begin(&split, &pprof, 1, 0, &small);
        arena_release(&small);
        ck_assert_uint_lt(cap, 1 << 16);
    }
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

SUITE_MAIN("pprof_split", parts_by_samples_are_the_profile, parts_by_bytes_fill_their_limit,
           a_profile_within_limits_fits, tables_hold_only_what_a_parts_samples_use,
           beside_small_tables_samples_stay_as_they_are, random_profiles_survive_any_cut,
           unknown_fields_stay_in_every_part, a_sample_above_the_limit_is_a_part_of_its_own,
           what_every_part_must_repeat_may_not_exceed_the_limit,
           a_hostile_profile_does_not_multiply, a_profile_without_a_time_gets_none,
           samples_that_are_passed_over_are_left_out, without_room_for_a_part_there_is_a_reason,
           a_small_arena_is_a_clean_failure)
