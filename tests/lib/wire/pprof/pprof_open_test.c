#include "lib/wire/pprof/pprof.h"

#include "tests/support/pprof_build.h"
#include "tests/support/pprof_random.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

/* A string table of "" and these. */
#define STRINGS(...) PB_JOIN(PB_EMPTY(6), __VA_ARGS__)
#define TYPE         PB_MESSAGE(1, pb_varint(1, 1))

static struct pprof pprof;
static struct proto_fault fault;

static bool open(struct view raw)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    bool good = pprof_open(&pprof, raw, &arena, &fault);
    arena_release(&arena);
    return good;
}

static void expect_refused(struct view raw, const char *message, const char *reason)
{
    ck_assert_msg(!open(raw), "taken, not refused: %s", reason);
    ck_assert_str_eq(fault.message, message);
    ck_assert_msg(strstr(fault.reason, reason) != NULL, "%s", fault.reason);
    ck_assert_uint_le(fault.offset, raw.size);
}

/* A small CPU profile, not compressed. */
static struct bytes plain(const char *const *span_ids, size_t count)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    for (size_t i = 0; i < count; i++) {
        pprof_build_sample(build, (const int64_t[]){10}, (const char *const[]){"main", NULL});
        if (span_ids[i])
            pprof_build_label(build, "span_id", span_ids[i]);
    }
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return raw;
}

START_TEST(what_servers_refuse_is_refused)
{
    struct view table = STRINGS(PB_TEXT(6, "cpu"));
    expect_refused(VIEW(""), "Profile", "no sample type");
    expect_refused(table, "Profile", "no sample type");
    expect_refused(TYPE, "Profile", "first string");
    expect_refused(PB_JOIN(TYPE, PB_TEXT(6, "cpu"), PB_EMPTY(6)), "Profile", "first string");
    expect_refused(PB_JOIN(TYPE, table, PB_TEXT(6, "\xff")), "Profile", "UTF-8");
    expect_refused(PB_JOIN(TYPE, table, PB_EMPTY(4)), "Location", "id is 0");
    expect_refused(PB_JOIN(TYPE, table, PB_MESSAGE(5, pb_varint(1, 0))), "Function", "id is 0");
    expect_refused(PB_JOIN(TYPE, table, PB_EMPTY(2)), "Sample", "as many values");
    expect_refused(PB_JOIN(TYPE, table, PB_MESSAGE(2, PB_MESSAGE(2, PB_RAW(1, 2)))), "Sample",
                   "as many values");
    expect_refused(PB_JOIN(TYPE, table, PB_MESSAGE(2, pb_varint(2, 1), pb_varint(2, 1))), "Sample",
                   "as many values");
}
END_TEST

START_TEST(string_indices_outside_the_table_are_refused_everywhere)
{
    static const uint64_t outside[] = {2, UINT64_MAX, UINT64_C(1) << 32};
    struct view table = STRINGS(PB_TEXT(6, "cpu")), value = pb_varint(2, 1);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        uint64_t bad = outside[i];
        expect_refused(PB_JOIN(table, PB_MESSAGE(1, pb_varint(1, bad))), "ValueType", "index");
        expect_refused(PB_JOIN(table, PB_MESSAGE(1, pb_varint(2, bad))), "ValueType", "index");
        for (uint32_t field = 1; field <= 4; field++)
            if (field != 3)
                expect_refused(PB_JOIN(TYPE, table,
                                       PB_MESSAGE(2, value, PB_MESSAGE(3, pb_varint(field, bad)))),
                               "Label", "index");
        for (uint32_t field = 5; field <= 6; field++)
            expect_refused(PB_JOIN(TYPE, table, PB_MESSAGE(3, pb_varint(field, bad))), "Mapping",
                           "index");
        for (uint32_t field = 2; field <= 4; field++)
            expect_refused(
                PB_JOIN(TYPE, table, PB_MESSAGE(5, pb_varint(1, 1), pb_varint(field, bad))),
                "Function", "index");
        for (uint32_t field = 7; field <= 15; field++)
            if (field == 7 || field == 8 || field >= 13)
                expect_refused(PB_JOIN(TYPE, table, pb_varint(field, bad)), "Profile", "index");
        expect_refused(PB_JOIN(TYPE, table, PB_MESSAGE(11, pb_varint(1, bad))), "ValueType",
                       "index");
    }
    expect_refused(PB_JOIN(TYPE, table, PB_MESSAGE(13, PB_RAW(1, 0, 2))), "Profile", "index");
    ck_assert(open(PB_JOIN(TYPE, table, PB_MESSAGE(13, PB_RAW(1, 0, 1)))));
}
END_TEST

START_TEST(more_types_than_there_is_room_for_are_refused)
{
    struct view raw = STRINGS(PB_TEXT(6, "cpu"));
    for (int i = 0; i < PPROF_MAX_TYPES; i++)
        raw = PB_JOIN(raw, TYPE);
    ck_assert(open(raw));
    expect_refused(PB_JOIN(raw, TYPE), "Profile", "too many");
}
END_TEST

START_TEST(broken_bytes_are_refused_wherever_they_are_cut)
{
    const char *const ids[] = {"00f067aa0ba902b7", NULL};
    struct bytes raw = plain(ids, 2);
    struct bytes copy;
    for (size_t size = 0; size < raw.size; size++) {
        bytes_init(&copy, raw.size, NULL);
        ck_assert_int_eq(bytes_append(&copy, raw.data, size), BYTES_OK);
        /* A cut between two strings at the end leaves a profile with fewer strings, which may be
         * valid or not, depending on its indices. Either result is fine, reading past the end is
         * not. */
        if (open(bytes_view(&copy)))
            ck_assert_uint_lt(pprof.string_count, 20);
        bytes_release(&copy);
    }
    bytes_release(&raw);
}
END_TEST

START_TEST(a_small_arena_is_a_clean_refusal)
{
    const char *const ids[] = {"00f067aa0ba902b7", NULL};
    struct bytes raw = plain(ids, 2);
    bool opened = false;
    for (size_t cap = 0; !opened; cap++) {
        struct arena small;
        arena_init(&small, cap);
        opened = pprof_open(&pprof, bytes_view(&raw), &small, &fault);
        if (!opened)
            ck_assert_str_eq(fault.reason, "too large");
        arena_release(&small);
        ck_assert_uint_lt(cap, 4096);
    }
    bytes_release(&raw);
}
END_TEST

/* The combined pass and the shape table must agree on what is well-formed. */
START_TEST(what_is_taken_is_well_formed_and_what_is_not_well_formed_is_refused)
{
    unsigned taken = 0, broken = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct random random = random_seeded(seed);
        struct view raw = pprof_random(seed);
        uint8_t *copy = malloc(raw.size);
        ck_assert_ptr_nonnull(copy);
        for (int i = 0; i < 40; i++) {
            struct proto_fault other;
            memcpy(copy, raw.data, raw.size);
            uint32_t at = random_below(&random, (uint32_t)raw.size);
            copy[at] = (uint8_t)random_below(&random, 256);
            struct view changed = {copy, raw.size};
            bool formed = proto_check(&shape_pprof, changed, &other);
            bool good = open(changed);
            ck_assert(formed || !good);
            if (!good)
                ck_assert_ptr_nonnull(fault.reason);
            taken += good;
            broken += !formed;
        }
        free(copy);
    }
    ck_assert_uint_gt(taken, 100);
    ck_assert_uint_gt(broken, 100);
}
END_TEST

START_TEST(groups_that_nest_too_deep_are_refused)
{
    struct view deep = pb_varint(1, 1);
    for (int i = 0; i < PROTO_MAX_DEPTH - 3; i++)
        deep = pb_group(20, deep);
    struct view table = STRINGS(PB_TEXT(6, "cpu"));
    ck_assert(open(PB_JOIN(TYPE, table, deep)));
    struct view label = PB_MESSAGE(3, pb_group(20, pb_group(20, pb_group(20, deep))));
    expect_refused(PB_JOIN(TYPE, table, PB_MESSAGE(2, pb_varint(2, 1), label)), "Label", "");
}
END_TEST

SUITE_MAIN("pprof_open", what_servers_refuse_is_refused,
           string_indices_outside_the_table_are_refused_everywhere,
           more_types_than_there_is_room_for_are_refused,
           broken_bytes_are_refused_wherever_they_are_cut, a_small_arena_is_a_clean_refusal,
           what_is_taken_is_well_formed_and_what_is_not_well_formed_is_refused,
           groups_that_nest_too_deep_are_refused)
