#include "lib/wire/pprof/pprof.h"

#include "pprof.pb-c.h"
#include "tests/support/frame_count.h"
#include "tests/support/pprof_build.h"
#include "tests/support/pprof_random.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#define BIG ((size_t)1 << 26)

/* A string table of "" and these. */
#define STRINGS(...) PB_JOIN(PB_EMPTY(6), __VA_ARGS__)
#define TYPE         PB_MESSAGE(1, pb_varint(1, 1))

static struct arena arena;
static struct pprof pprof;
static struct proto_fault fault;

static bool open(struct view raw)
{
    arena_init(&arena, BIG);
    return pprof_open(&pprof, raw, &arena, &fault);
}

/* A small profile like a Python SDK's. */
static struct bytes ordinary(bool packed)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_packed(build, packed);
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_period(build, "cpu", "nanoseconds", 10000000);
    pprof_build_time(build, 1700000000000000000, 10000000000);
    pprof_build_sample(build, (const int64_t[]){3, 30000000},
                       (const char *const[]){"hash", "handle", "main", NULL});
    pprof_build_label(build, "thread", "worker");
    pprof_build_label(build, "span_id", "00f067aa0ba902b7");
    pprof_build_label(build, "trace_id", "4bf92f3577b34da6a3ce929d0e0e4736");
    pprof_build_sample(build, (const int64_t[]){-1, 0}, (const char *const[]){NULL});
    pprof_build_num_label(build, "span_id", 7, "");
    pprof_build_sample(build, (const int64_t[]){1, 10000000}, (const char *const[]){"main", NULL});
    pprof_build_label(build, "profile_id", "00000000000000aa");
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

static void read_ordinary(bool packed)
{
    struct bytes raw = ordinary(packed);
    ck_assert(open(bytes_view(&raw)));
    ck_assert_uint_eq(pprof.type_count, 2);
    ck_assert(view_eq(pprof.types[0].type, VIEW("samples")));
    ck_assert(view_eq(pprof.types[1].unit, VIEW("nanoseconds")));
    ck_assert(view_eq(pprof.period_type.type, VIEW("cpu")));
    ck_assert_int_eq(pprof.period, 10000000);
    ck_assert_int_eq(pprof.time_nanos, 1700000000000000000);
    ck_assert_int_eq(pprof.duration_nanos, 10000000000);
    ck_assert_uint_eq(pprof.sample_count, 3);

    struct proto_scan scan = proto_scan_begin(pprof.raw);
    struct pprof_sample sample;
    ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    ck_assert_uint_eq(frame_count(&sample), 3);
    ck_assert_uint_eq(sample.value_count, 2);
    ck_assert_int_eq(sample.values[1], 30000000);
    ck_assert(view_eq(sample.span_id, VIEW("00f067aa0ba902b7")));
    ck_assert(view_eq(sample.trace_id, VIEW("4bf92f3577b34da6a3ce929d0e0e4736")));

    ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    ck_assert_uint_eq(frame_count(&sample), 0);
    ck_assert_int_eq(sample.values[0], -1);
    ck_assert_ptr_null(sample.span_id.data);
    ck_assert_ptr_null(sample.trace_id.data);

    ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    ck_assert(view_eq(sample.span_id, VIEW("00000000000000aa")));
    ck_assert(!pprof_next_sample(&pprof, &scan, &sample));
    bytes_release(&raw);
    arena_release(&arena);
}

START_TEST(an_ordinary_profile_is_read)
{
    read_ordinary(true);
    read_ordinary(false);
}
END_TEST

START_TEST(span_id_counts_before_its_alias)
{
    struct view label[2] = {PB_MESSAGE(3, pb_varint(1, 2), pb_varint(2, 4)),
                            PB_MESSAGE(3, pb_varint(1, 3), pb_varint(2, 5))};
    for (int i = 0; i < 2; i++) {
        struct view raw =
            PB_JOIN(TYPE, PB_MESSAGE(2, pb_varint(2, 1), label[i], label[1 - i]),
                    STRINGS(PB_TEXT(6, "cpu"), PB_TEXT(6, "span_id"), PB_TEXT(6, "profile_id"),
                            PB_TEXT(6, "name"), PB_TEXT(6, "alias")));
        struct pprof_sample sample;
        ck_assert(open(raw));
        struct proto_scan scan = proto_scan_begin(raw);
        ck_assert(pprof_next_sample(&pprof, &scan, &sample));
        ck_assert(view_eq(sample.span_id, VIEW("name")));
        arena_release(&arena);
    }
}
END_TEST

START_TEST(a_key_that_stands_twice_in_the_table_counts_by_either_index)
{
    for (uint64_t key = 2; key <= 3; key++) {
        struct view raw = PB_JOIN(
            TYPE, PB_MESSAGE(2, pb_varint(2, 1), PB_MESSAGE(3, pb_varint(1, key), pb_varint(2, 1))),
            STRINGS(PB_TEXT(6, "cpu"), PB_TEXT(6, "span_id"), PB_TEXT(6, "span_id")));
        struct pprof_sample sample;
        ck_assert(open(raw));
        struct proto_scan scan = proto_scan_begin(raw);
        ck_assert(pprof_next_sample(&pprof, &scan, &sample));
        ck_assert(view_eq(sample.span_id, VIEW("cpu")));
        arena_release(&arena);
    }
}
END_TEST

START_TEST(scattered_tables_and_repeated_singulars_are_read_as_protobuf_asks)
{
    struct view raw =
        PB_JOIN(PB_MESSAGE(11, pb_varint(1, 2)), PB_MESSAGE(2, pb_varint(2, 7)), pb_varint(9, 1),
                PB_EMPTY(6), pb_varint(99, 1), PB_TEXT(6, "wall"), TYPE, pb_varint(9, 5),
                PB_MESSAGE(11, pb_varint(2, 1)), PB_TEXT(6, "last"));
    ck_assert(open(raw));
    ck_assert_int_eq(pprof.time_nanos, 5);
    ck_assert(view_eq(pprof.period_type.type, VIEW("last")));
    ck_assert(view_eq(pprof.period_type.unit, VIEW("wall")));
    ck_assert(view_eq(pprof.types[0].unit, VIEW("")));
    ck_assert(view_eq(pprof_string(&pprof, 2), VIEW("last")));
    ck_assert(view_eq(pprof_string(&pprof, 3), VIEW("")));
    arena_release(&arena);
}
END_TEST

/* The result must agree with an independent decoder. */
static void compare(const Perftools__Profiles__Profile *reference)
{
    ck_assert_uint_eq(pprof.type_count, reference->n_sample_type);
    ck_assert_uint_eq(pprof.string_count, reference->n_string_table);
    ck_assert_uint_eq(pprof.sample_count, reference->n_sample);
    ck_assert_int_eq(pprof.time_nanos, reference->time_nanos);
    ck_assert_int_eq(pprof.duration_nanos, reference->duration_nanos);
    ck_assert_int_eq(pprof.period, reference->period);
    for (size_t i = 0; i < pprof.type_count; i++)
        ck_assert(view_eq(pprof.types[i].type,
                          pprof_string_at(&pprof, (size_t)reference->sample_type[i]->type)));
    struct proto_scan scan = proto_scan_begin(pprof.raw);
    struct pprof_sample sample;
    for (size_t i = 0; i < pprof.sample_count; i++) {
        const Perftools__Profiles__Sample *same = reference->sample[i];
        ck_assert(pprof_next_sample(&pprof, &scan, &sample));
        ck_assert_uint_eq(frame_count(&sample), same->n_location_id);
        ck_assert_uint_eq(sample.value_count, same->n_value);
        for (size_t j = 0; j < same->n_value; j++)
            ck_assert_int_eq(sample.values[j], same->value[j]);
    }
    ck_assert(!pprof_next_sample(&pprof, &scan, &sample));
}

START_TEST(random_profiles_are_read_as_protobuf_c_reads_them)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct view raw = pprof_random(seed);
        Perftools__Profiles__Profile *reference =
            perftools__profiles__profile__unpack(NULL, raw.size, raw.data);
        ck_assert_ptr_nonnull(reference);
        ck_assert_msg(open(raw), "%s: %s", fault.message, fault.reason);
        compare(reference);
        perftools__profiles__profile__free_unpacked(reference, NULL);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(built_profiles_are_read_as_protobuf_c_reads_them)
{
    struct bytes raw = ordinary(true);
    Perftools__Profiles__Profile *reference =
        perftools__profiles__profile__unpack(NULL, raw.size, raw.data);
    ck_assert_ptr_nonnull(reference);
    ck_assert(open(bytes_view(&raw)));
    compare(reference);
    perftools__profiles__profile__free_unpacked(reference, NULL);
    bytes_release(&raw);
    arena_release(&arena);
}
END_TEST

SUITE_MAIN("pprof", an_ordinary_profile_is_read, span_id_counts_before_its_alias,
           a_key_that_stands_twice_in_the_table_counts_by_either_index,
           scattered_tables_and_repeated_singulars_are_read_as_protobuf_asks,
           random_profiles_are_read_as_protobuf_c_reads_them,
           built_profiles_are_read_as_protobuf_c_reads_them)
