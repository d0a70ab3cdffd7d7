#include "lib/wire/profiles/profiles_prune.h"

#include "lib/wire/profiles/otlp_profiles.h"
#include "tests/support/forever.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define PACKED(field, ...) PB_MESSAGE(field, PB_RAW(__VA_ARGS__))

/* The pruned request, with an arena of this size; data NULL: no room. */
static struct view pruned_within(struct view request, size_t room)
{
    struct arena arena;
    struct splice splice;
    struct bytes out;
    arena_init(&arena, room);
    splice_begin(&splice, request, &arena);
    bool good = profiles_prune(request, &splice);
    bytes_init(&out, 64 << 20, NULL);
    if (good) {
        ck_assert_int_eq(bytes_reserve(&out, splice_size(&splice) + 1), BYTES_OK);
        out.size = splice_size(&splice);
        splice_write(&splice, out.data);
    }
    arena_release(&arena);
    return good ? forever(out) : (struct view){0};
}

static struct view pruned(struct view request)
{
    struct view result = pruned_within(request, 64 << 20);
    ck_assert_ptr_nonnull(result.data);
    return result;
}

static struct view location(uint8_t mapping, uint8_t attribute, uint8_t function)
{
    return PB_MESSAGE(2, pb_varint(1, mapping), PACKED(4, attribute),
                      PB_MESSAGE(3, pb_varint(1, function)));
}

/* Two of everything after index 0, where each second one only refers to second ones. */
static struct view dictionary_of(struct view first[7], struct view second[7])
{
    struct view tables = VIEW("");
    for (unsigned i = 0; i < 7; i++)
        tables = PB_JOIN(tables, PB_EMPTY(i + 1), first[i], second[i]);
    return PB_MESSAGE(2, tables);
}

#define FIRST                                                                                      \
    {                                                                                              \
        PB_MESSAGE(1, pb_varint(4, 1)), location(1, 1, 1), PB_MESSAGE(3, pb_varint(1, 1)),         \
            PB_MESSAGE(4, pb_fill(1, 16, 1), pb_fill(2, 8, 1)), PB_TEXT(5, "first"),               \
            PB_MESSAGE(6, pb_varint(1, 1), PB_MESSAGE(2, pb_varint(8, 1))),                        \
            PB_MESSAGE(7, PACKED(1, 1))                                                            \
    }
#define SECOND                                                                                     \
    {                                                                                              \
        PB_MESSAGE(1, pb_varint(4, 2)), location(2, 2, 2), PB_MESSAGE(3, pb_varint(1, 2)),         \
            PB_MESSAGE(4, pb_fill(1, 16, 2), pb_fill(2, 8, 2)), PB_TEXT(5, "second"),              \
            PB_MESSAGE(6, pb_varint(1, 2), PB_MESSAGE(2, pb_varint(8, 2))),                        \
            PB_MESSAGE(7, PACKED(1, 2))                                                            \
    }
#define EMPTIES                                                                                    \
    {                                                                                              \
        PB_EMPTY(1), PB_EMPTY(2), PB_EMPTY(3), PB_EMPTY(4), PB_EMPTY(5), PB_EMPTY(6), PB_EMPTY(7)  \
    }

static struct view profile_of(struct view sample)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(2, sample))));
}

START_TEST(what_a_profile_refers_to_stays_and_the_rest_is_emptied)
{
    struct view first[7] = FIRST, second[7] = SECOND, empties[7] = EMPTIES;
    struct view profile = profile_of(PB_JOIN(pb_varint(1, 2), pb_varint(3, 2), PACKED(4, 1)));
    ck_assert(view_eq(pruned(PB_JOIN(profile, dictionary_of(first, second))),
                      PB_JOIN(profile, dictionary_of(empties, second))));
    profile = profile_of(PB_JOIN(pb_varint(1, 1), pb_varint(3, 1), PACKED(4, 1)));
    ck_assert(view_eq(pruned(PB_JOIN(profile, dictionary_of(first, second))),
                      PB_JOIN(profile, dictionary_of(first, empties))));
}
END_TEST

START_TEST(attributes_of_resources_and_scopes_keep_their_strings)
{
    struct view first[7] = FIRST, second[7] = SECOND, kept[7] = EMPTIES;
    struct view nested = PB_MESSAGE(6, PB_MESSAGE(1, pb_varint(3, 2)));
    struct view by_key = PB_MESSAGE(1, PB_MESSAGE(1, PB_MESSAGE(1, pb_varint(3, 1))));
    struct view by_list =
        PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(1, PB_MESSAGE(3, PB_MESSAGE(2, nested)))));
    struct view none[7] = EMPTIES;
    kept[4] = first[4];
    ck_assert(view_eq(pruned(PB_JOIN(by_key, dictionary_of(first, second))),
                      PB_JOIN(by_key, dictionary_of(kept, none))));
    kept[4] = PB_EMPTY(5);
    none[4] = second[4];
    ck_assert(view_eq(pruned(PB_JOIN(by_list, dictionary_of(first, second))),
                      PB_JOIN(by_list, dictionary_of(kept, none))));
}
END_TEST

START_TEST(types_and_attributes_of_profiles_keep_theirs)
{
    struct view first[7] = FIRST, second[7] = SECOND, kept[7] = EMPTIES, none[7] = EMPTIES;
    struct view typed = PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(1, pb_varint(1, 1)),
                                                               PB_MESSAGE(5, pb_varint(2, 1)))));
    kept[4] = first[4];
    ck_assert(view_eq(pruned(PB_JOIN(typed, dictionary_of(first, second))),
                      PB_JOIN(typed, dictionary_of(kept, none))));
    typed = PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PACKED(11, 1))));
    kept[5] = first[5];
    ck_assert(view_eq(pruned(PB_JOIN(typed, dictionary_of(first, second))),
                      PB_JOIN(typed, dictionary_of(kept, none))));
}
END_TEST

static bool passes(struct view request)
{
    struct proto_fault fault;
    struct otlp_dictionary dictionary;
    struct arena arena;
    const char *reason;
    uint32_t items;
    arena_init(&arena, 64 << 20);
    bool good = otlp_check(SIGNAL_PROFILES, request, &items, &fault) &&
                otlp_dictionary_open(&dictionary, request, &arena, &reason);
    arena_release(&arena);
    return good;
}

START_TEST(any_request_stays_a_good_one_and_loses_nothing_more)
{
    unsigned tried = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct random random = random_seeded(seed);
        struct bytes bytes;
        bytes_init(&bytes, 1 << 20, NULL);
        proto_random(&random, &shape_profiles_request, RANDOM_UNKNOWN | RANDOM_PADDED, 7, &bytes);
        struct view request = forever(bytes);
        if (!passes(request))
            continue;
        tried++;
        struct view once = pruned(request);
        ck_assert(once.size <= request.size);
        ck_assert(passes(once));
        ck_assert(view_eq(pruned(once), once));
    }
    ck_assert_uint_gt(tried, 20);
}
END_TEST

START_TEST(an_arena_without_room_is_a_clean_failure)
{
    struct view first[7] = FIRST, second[7] = SECOND;
    struct view request = dictionary_of(first, second), whole = pruned(request);
    bool failed = false;
    for (size_t room = 0;; room += 16) {
        struct view result = pruned_within(request, room);
        failed |= !result.data;
        if (!result.data)
            continue;
        ck_assert(view_eq(result, whole));
        break;
    }
    ck_assert(failed);
}
END_TEST

SUITE_MAIN("profiles_prune", what_a_profile_refers_to_stays_and_the_rest_is_emptied,
           attributes_of_resources_and_scopes_keep_their_strings,
           types_and_attributes_of_profiles_keep_theirs,
           any_request_stays_a_good_one_and_loses_nothing_more,
           an_arena_without_room_is_a_clean_failure)
