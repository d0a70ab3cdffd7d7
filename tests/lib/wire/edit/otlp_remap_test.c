#include "lib/wire/edit/otlp_remap.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static const struct remap_pair usual[] = {{"service.name", "service_name"}};

static bool remaps_of(enum signal signal, struct view request, const struct remap_pair *pairs,
                      size_t count, struct view want)
{
    struct arena arena;
    struct splice splice;
    arena_init(&arena, 1 << 20);
    splice_begin(&splice, request, &arena);
    otlp_remap(signal, request, pairs, count, &splice);
    ck_assert(!splice.failed);
    uint8_t *out = malloc(splice_size(&splice) + 1);
    splice_write(&splice, out);
    bool same = view_eq((struct view){out, splice_size(&splice)}, want);
    free(out);
    arena_release(&arena);
    return same;
}

/* Whether remapping request gives want. */
static bool remaps(struct view request, const struct remap_pair *pairs, size_t count,
                   struct view want)
{
    return remaps_of(SIGNAL_TRACES, request, pairs, count, want);
}

static struct view request_of(struct view attributes)
{
    return PB_MESSAGE(1, PB_MESSAGE(1, attributes, pb_varint(2, 7)), PB_MESSAGE(2, PB_EMPTY(2)));
}

START_TEST(the_value_also_stands_under_the_new_name)
{
    struct view from = pb_attribute(1, "service.name", "shop");
    struct view other = pb_attribute(1, "host", "h"), to = pb_attribute(1, "service_name", "shop");
    ck_assert(
        remaps(request_of(PB_JOIN(from, other)), usual, 1, request_of(PB_JOIN(from, other, to))));
}
END_TEST

START_TEST(any_value_is_copied_byte_for_byte)
{
    struct view value =
        PB_JOIN(PB_MESSAGE(2, PB_MESSAGE(5, PB_MESSAGE(1, pb_varint(3, 1)))),
                PB_TEXT(77, "unknown"), PB_MESSAGE(2, PB_RAW(0x98, 0x00, 0x85, 0x00)));
    struct view from = PB_MESSAGE(1, PB_TEXT(1, "service.name"), value);
    struct view to = PB_MESSAGE(1, PB_TEXT(1, "service_name"), value);
    ck_assert(remaps(request_of(from), usual, 1, request_of(PB_JOIN(from, to))));
}
END_TEST

START_TEST(nothing_moves_where_there_is_nothing_to_do)
{
    struct view both =
        PB_JOIN(pb_attribute(1, "service_name", "a"), pb_attribute(1, "service.name", "b"));
    const struct view same[] = {
        request_of(both),
        request_of(pb_attribute(1, "other", "x")),
        request_of((struct view){0}),
        PB_MESSAGE(1, PB_MESSAGE(2, PB_EMPTY(2))),
        PB_JOIN(PB_EMPTY(1), PB_TEXT(9, "unknown")),
        (struct view){0},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        ck_assert(remaps(same[i], usual, 1, same[i]));
}
END_TEST

START_TEST(pairs_are_judged_by_what_came_and_one_target_is_set_once)
{
    const struct remap_pair pairs[] = {{"a", "x"}, {"b", "x"}, {"b", "y"}, {"x", "z"}};
    struct view a = pb_attribute(1, "a", "1"), b = pb_attribute(1, "b", "2");
    struct view want = PB_JOIN(a, b, pb_attribute(1, "x", "1"), pb_attribute(1, "y", "2"));
    ck_assert(remaps(request_of(PB_JOIN(a, b)), pairs, 4, request_of(want)));
    ck_assert(remaps(request_of(b), pairs, 4,
                     request_of(PB_JOIN(b, pb_attribute(1, "x", "2"), pb_attribute(1, "y", "2")))));
}
END_TEST

START_TEST(two_resources_in_one_entry_are_judged_together)
{
    struct view from = PB_MESSAGE(1, pb_attribute(1, "service.name", "a"));
    struct view to = PB_MESSAGE(1, pb_attribute(1, "service_name", "b"));
    struct view both = PB_MESSAGE(1, from, PB_TEXT(3, "url"), to);
    ck_assert(remaps(both, usual, 1, both));
    struct view other = PB_MESSAGE(1, pb_attribute(1, "host", "h"));
    struct view wider =
        PB_MESSAGE(1, pb_attribute(1, "host", "h"), pb_attribute(1, "service_name", "a"));
    ck_assert(remaps(PB_MESSAGE(1, from, other), usual, 1, PB_MESSAGE(1, from, wider)));
}
END_TEST

START_TEST(every_resource_of_a_request_is_remapped)
{
    struct view from = pb_attribute(1, "service.name", "s"),
                to = pb_attribute(1, "service_name", "s");
    struct view one = request_of(from), want = request_of(PB_JOIN(from, to));
    ck_assert(remaps(PB_JOIN(one, PB_EMPTY(1), one), usual, 1, PB_JOIN(want, PB_EMPTY(1), want)));
}
END_TEST

START_TEST(keys_of_profiles_may_be_references)
{
    struct view dictionary = PB_MESSAGE(2, PB_EMPTY(5), PB_TEXT(5, "service.name"),
                                        PB_TEXT(5, "service_name"), PB_TEXT(5, "shop"));
    struct view value = PB_MESSAGE(2, pb_varint(8, 3));
    struct view from = PB_MESSAGE(1, pb_varint(3, 1), value);
    struct view to = PB_MESSAGE(1, PB_TEXT(1, "service_name"), value);
    struct view there = PB_MESSAGE(1, pb_varint(3, 2), PB_MESSAGE(2, PB_TEXT(1, "own")));
    struct view plain = request_of(from);
    ck_assert(remaps_of(SIGNAL_PROFILES, PB_JOIN(plain, dictionary), usual, 1,
                        PB_JOIN(request_of(PB_JOIN(from, to)), dictionary)));
    struct view both = PB_JOIN(request_of(PB_JOIN(from, there)), dictionary);
    ck_assert(remaps_of(SIGNAL_PROFILES, both, usual, 1, both));
    /* No other signal has references. */
    ck_assert(
        remaps_of(SIGNAL_TRACES, PB_JOIN(plain, dictionary), usual, 1, PB_JOIN(plain, dictionary)));
}
END_TEST

START_TEST(a_full_arena_is_a_clean_failure)
{
    struct view request = request_of(pb_attribute(1, "service.name", "shop"));
    size_t cap = 0;
    for (bool done = false; !done; cap += 16) {
        struct arena arena;
        struct splice splice;
        arena_init(&arena, cap);
        splice_begin(&splice, request, &arena);
        otlp_remap(SIGNAL_TRACES, request, usual, 1, &splice);
        done = !splice.failed;
        arena_release(&arena);
    }
    ck_assert_uint_gt(cap, 32);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_value_also_stands_under_the_new_name,
        any_value_is_copied_byte_for_byte,
        nothing_moves_where_there_is_nothing_to_do,
        pairs_are_judged_by_what_came_and_one_target_is_set_once,
        two_resources_in_one_entry_are_judged_together,
        every_resource_of_a_request_is_remapped,
        keys_of_profiles_may_be_references,
        a_full_arena_is_a_clean_failure,
        NULL,
    };
    return suite_run("otlp_remap", tests);
}
