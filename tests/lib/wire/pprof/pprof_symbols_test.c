#include "lib/wire/pprof/pprof_symbols.h"

#include "pprof.pb-c.h"
#include "tests/support/pprof_build.h"
#include "tests/support/pprof_random.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

typedef Perftools__Profiles__Profile Profile;

static struct arena arena;
static struct pprof pprof;
static struct pprof_symbols symbols;

static void open_profile(struct view raw)
{
    struct proto_fault fault;
    arena_init(&arena, 16 << 20);
    ck_assert_msg(pprof_open(&pprof, raw, &arena, &fault), "%s", fault.reason);
    ck_assert(pprof_symbols_open(&symbols, &pprof, &arena));
}

static struct view leaf_of(size_t nth)
{
    struct proto_scan scan = proto_scan_begin(pprof.raw);
    struct pprof_sample sample;
    for (size_t i = 0; i <= nth; i++)
        ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    return pprof_symbols_leaf(&symbols, &sample);
}

START_TEST(the_leafs_function_is_named_packed_or_not)
{
    for (int packed = 0; packed <= 1; packed++) {
        struct pprof_build *build = pprof_build_new();
        pprof_build_packed(build, packed);
        pprof_build_type(build, "cpu", "nanoseconds");
        pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){"leaf", "main", NULL});
        pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){"main", NULL});
        pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){NULL});
        struct bytes raw = pprof_build_raw(build);
        open_profile(bytes_view(&raw));
        ck_assert(view_eq(leaf_of(0), VIEW("leaf")));
        ck_assert(view_eq(leaf_of(1), VIEW("main")));
        ck_assert_uint_eq(leaf_of(2).size, 0);
        arena_release(&arena);
        bytes_release(&raw);
        pprof_build_free(build);
    }
}
END_TEST

/* A profile by hand: types 1, samples 2, locations 4, functions 5, strings 6. */
#define STRINGS(...) PB_TEXT(6, ""), PB_TEXT(6, "t"), PB_TEXT(6, "u"), __VA_ARGS__
#define CPU          PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, 2))

START_TEST(of_inlined_functions_the_innermost_is_named)
{
    open_profile(PB_JOIN(CPU, PB_MESSAGE(2, pb_varint(1, 9), pb_varint(2, 5)),
                         PB_MESSAGE(4, pb_varint(1, 9), PB_MESSAGE(4, pb_varint(1, 7)),
                                    PB_MESSAGE(4, pb_varint(1, 8))),
                         PB_MESSAGE(5, pb_varint(1, 8), pb_varint(2, 4)),
                         PB_MESSAGE(5, pb_varint(1, 7), pb_varint(2, 3)),
                         STRINGS(PB_TEXT(6, "in"), PB_TEXT(6, "out"))));
    ck_assert(view_eq(leaf_of(0), VIEW("in")));
    arena_release(&arena);
}
END_TEST

START_TEST(what_has_no_symbols_has_no_name)
{
    open_profile(PB_JOIN(CPU, PB_MESSAGE(2, pb_varint(1, 9), pb_varint(2, 5)),
                         PB_MESSAGE(2, pb_varint(1, 10), pb_varint(2, 5)),
                         PB_MESSAGE(4, pb_varint(1, 9), pb_varint(3, 0x1000)), /* no line */
                         PB_MESSAGE(4, pb_varint(1, 10), PB_MESSAGE(4, pb_varint(1, 77))),
                         STRINGS(VIEW(""))));
    ck_assert_uint_eq(leaf_of(0).size, 0);
    ck_assert_uint_eq(leaf_of(1).size, 0);
    arena_release(&arena);
}
END_TEST

START_TEST(a_small_arena_fails_cleanly)
{
    struct pprof_build *build = pprof_build_new();
    struct proto_fault fault;
    pprof_build_type(build, "cpu", "nanoseconds");
    for (unsigned i = 0; i < 50; i++) {
        char name[2] = {(char)('a' + i % 26), '\0'};
        pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){name, "main", NULL});
    }
    struct bytes raw = pprof_build_raw(build);
    struct arena whole, small;
    arena_init(&whole, 1 << 20);
    ck_assert(pprof_open(&pprof, bytes_view(&raw), &whole, &fault));
    size_t cap = 0;
    for (bool good = false; !good; cap += 16) {
        arena_init(&small, cap);
        good = pprof_symbols_open(&symbols, &pprof, &small);
        if (good)
            ck_assert(view_eq(leaf_of(0), VIEW("a")));
        arena_release(&small);
        ck_assert_uint_lt(cap, 1 << 20);
    }
    ck_assert_uint_gt(cap, 16);
    arena_release(&whole);
    bytes_release(&raw);
    pprof_build_free(build);
}
END_TEST

static const char *reference_leaf(const Profile *profile, const Perftools__Profiles__Sample *sample)
{
    if (sample->n_location_id == 0)
        return "";
    for (size_t i = 0; i < profile->n_location; i++) {
        const Perftools__Profiles__Location *location = profile->location[i];
        if (location->id != sample->location_id[0] || location->n_line == 0)
            continue;
        for (size_t f = 0; f < profile->n_function; f++)
            if (profile->function[f]->id == location->line[0]->function_id)
                return profile->string_table[profile->function[f]->name];
    }
    return "";
}

START_TEST(random_profiles_are_read_as_protobuf_c_reads_them)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct view raw = pprof_random(seed);
        Profile *profile = perftools__profiles__profile__unpack(NULL, raw.size, raw.data);
        ck_assert_ptr_nonnull(profile);
        open_profile(raw);
        ck_assert_uint_eq(pprof.sample_count, profile->n_sample);
        for (size_t i = 0; i < profile->n_sample; i++) {
            struct view name = leaf_of(i);
            const char *wanted = reference_leaf(profile, profile->sample[i]);
            ck_assert_msg(view_eq(name, view_of(wanted)), "seed %lu, sample %zu: %.*s, not %s",
                          (unsigned long)seed, i, VIEW_ARG(name), wanted);
        }
        arena_release(&arena);
        perftools__profiles__profile__free_unpacked(profile, NULL);
    }
}
END_TEST

SUITE_MAIN("pprof_symbols", the_leafs_function_is_named_packed_or_not,
           of_inlined_functions_the_innermost_is_named, what_has_no_symbols_has_no_name,
           a_small_arena_fails_cleanly, random_profiles_are_read_as_protobuf_c_reads_them)
