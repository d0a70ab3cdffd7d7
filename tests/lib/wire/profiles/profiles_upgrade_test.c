#include "lib/wire/profiles/profiles_upgrade.h"

#include "lib/wire/profiles/otlp_profiles.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#define PACKED(field, ...) PB_MESSAGE(field, PB_RAW(__VA_ARGS__))
#define STAMP              VIEW("\1\0\0\0\0\0\0\0")

enum layout { V1_8, V1_9, V1_10 };

static struct bytes out;
static const char *reason;

static enum profiles_upgrade upgrade(struct view request)
{
    struct arena arena;
    bytes_release(&out);
    bytes_init(&out, 1 << 24, NULL);
    arena_init(&arena, 1 << 24);
    enum profiles_upgrade result = profiles_upgrade(request, &arena, &out, &reason);
    ck_assert_int_eq(result == PROFILES_REFUSED, reason != NULL);
    ck_assert_int_eq(result == PROFILES_UPGRADED, out.size > 0);
    arena_release(&arena);
    return result;
}

/* A request of one profile with these fields. Tables: three attributes (the mapping refers to the
 * second), two links, two strings. */
static struct view request_of(struct view profile)
{
    struct view dictionary =
        PB_MESSAGE(2, PB_EMPTY(1), PB_MESSAGE(1, PACKED(5, 2)), PB_EMPTY(2), PB_EMPTY(3),
                   PB_EMPTY(4), PB_MESSAGE(4, pb_fill(1, 16, 1), pb_fill(2, 8, 2)), PB_EMPTY(5),
                   PB_TEXT(5, "one"), PB_EMPTY(6), PB_MESSAGE(6, pb_varint(1, 1)),
                   PB_MESSAGE(6, pb_varint(1, 1)), PB_EMPTY(7), PB_EMPTY(7));
    return PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, profile))), dictionary);
}

static struct view with_sample(struct view fields)
{
    return request_of(PB_MESSAGE(2, fields));
}

static bool check_takes(struct view request)
{
    struct proto_fault fault;
    struct arena arena;
    struct otlp_dictionary dictionary;
    const char *why;
    uint32_t items;
    arena_init(&arena, 1 << 24);
    bool taken = otlp_check(SIGNAL_PROFILES, request, &items, &fault) &&
                 otlp_dictionary_open(&dictionary, request, &arena, &why);
    arena_release(&arena);
    return taken;
}

START_TEST(a_current_request_stays_as_it_is)
{
    const struct view samples[] = {
        PB_JOIN(pb_varint(1, 1), PACKED(4, 7)),
        PB_JOIN(pb_varint(1, 1), PACKED(2, 1, 2), pb_varint(3, 1), PACKED(4, 7)),
        PB_JOIN(pb_varint(1, 1), PACKED(2, 1, 2), PB_MESSAGE(5, STAMP)),
        PB_JOIN(PACKED(2, 1, 2), PACKED(4, 7, 7), PB_MESSAGE(5, STAMP, STAMP)),
        PB_JOIN(pb_varint(4, 100), pb_varint(4, 200), pb_fixed64(5, 1), pb_fixed64(5, 2)),
        PB_JOIN(pb_varint(1, 1), PB_MESSAGE(5, STAMP)),
        PB_JOIN(pb_varint(1, 1)),
        /* One attribute and one timestamp, which could be one value of 1.9; but nothing else refers
         * to attribute 1. */
        PB_JOIN(PACKED(2, 1), PB_MESSAGE(5, STAMP)),
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        ck_assert_msg(upgrade(with_sample(samples[i])) == PROFILES_CURRENT, "%zu: %s", i, reason);
    ck_assert_int_eq(upgrade(VIEW("")), PROFILES_CURRENT);
    ck_assert_int_eq(upgrade(request_of(VIEW(""))), PROFILES_CURRENT);
}
END_TEST

START_TEST(bytes_that_are_no_request_are_left_to_the_check)
{
    ck_assert_int_eq(upgrade(VIEW("\x0a\xff")), PROFILES_CURRENT);
    ck_assert_int_eq(upgrade(with_sample(VIEW("\x22\x05"))), PROFILES_CURRENT);
    ck_assert_int_eq(upgrade(VIEW("plain text")), PROFILES_CURRENT);
}
END_TEST

START_TEST(a_sample_of_1_9_gets_the_numbers_of_1_10)
{
    struct view old = with_sample(PB_JOIN(pb_varint(1, 1), PACKED(2, 7, 9), PACKED(3, 1, 2),
                                          pb_varint(4, 1), PB_MESSAGE(5, STAMP, STAMP)));
    struct view want = with_sample(PB_JOIN(pb_varint(1, 1), PACKED(4, 7, 9), PACKED(2, 1, 2),
                                           pb_varint(3, 1), PB_MESSAGE(5, STAMP, STAMP)));
    ck_assert_int_eq(upgrade(old), PROFILES_UPGRADED);
    ck_assert(view_eq(bytes_view(&out), want));
    ck_assert(check_takes(bytes_view(&out)));
    ck_assert_int_eq(upgrade(want), PROFILES_CURRENT);
}
END_TEST

START_TEST(without_attributes_the_values_tell)
{
    /* An index outside its table; neither values nor timestamps; not as many values as times. */
    const struct view old[] = {
        PB_JOIN(pb_varint(1, 1), PACKED(2, 100)),
        PB_JOIN(pb_varint(1, 1), PACKED(2, 1)),
        PB_JOIN(pb_varint(1, 1), PACKED(2, 1), pb_varint(4, 1)),
        PB_JOIN(PACKED(2, 2, 100), PB_MESSAGE(5, STAMP, STAMP)),
        PB_JOIN(PB_MESSAGE(2, PB_RAW(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1))),
    };
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        ck_assert_msg(upgrade(with_sample(old[i])) == PROFILES_UPGRADED, "%zu: %s", i, reason);
        ck_assert(check_takes(bytes_view(&out)));
    }
}
END_TEST

START_TEST(one_sample_that_tells_is_enough)
{
    struct view unclear = PB_MESSAGE(2, PACKED(2, 2), PB_MESSAGE(5, STAMP));
    struct view old = PB_MESSAGE(2, PACKED(2, 77), PB_MESSAGE(5, STAMP));
    struct view new = PB_MESSAGE(2, PACKED(2, 2), PACKED(4, 77), PB_MESSAGE(5, STAMP));
    ck_assert_int_eq(upgrade(request_of(PB_JOIN(unclear, old))), PROFILES_UPGRADED);
    ck_assert_int_eq(upgrade(request_of(PB_JOIN(new, unclear))), PROFILES_CURRENT);
}
END_TEST

START_TEST(what_reads_well_in_both_layouts_is_refused)
{
    /* The mapping already refers to attribute 2, so this may be a value of 2. */
    ck_assert_int_eq(upgrade(with_sample(PB_JOIN(PACKED(2, 2), PB_MESSAGE(5, STAMP)))),
                     PROFILES_REFUSED);
    ck_assert_ptr_nonnull(strstr(reason, "1.9 or of 1.10"));
}
END_TEST

START_TEST(a_sample_that_has_no_weight_in_any_layout_is_refused)
{
    ck_assert_int_eq(upgrade(with_sample(pb_varint(4, 1))), PROFILES_CURRENT);
    ck_assert_int_eq(upgrade(with_sample(pb_varint(3, 1))), PROFILES_REFUSED);
    ck_assert_int_eq(upgrade(with_sample(PACKED(3, 1))), PROFILES_REFUSED);
    ck_assert_ptr_nonnull(strstr(reason, "neither values nor timestamps"));
}
END_TEST

/* The tail of a profile: id, dropped attributes, payload and attributes, from this number on. */
static struct view tail(uint32_t from)
{
    return PB_JOIN(pb_fill(from, 16, 0xee), pb_varint(from + 1, 3), PB_TEXT(from + 2, "jfr"),
                   PB_TEXT(from + 3, "payload"), PACKED(from + 4, 2));
}

START_TEST(a_profile_of_1_8_is_renumbered)
{
    struct view type = PB_MESSAGE(1, pb_varint(1, 1)), samples = PB_MESSAGE(2, PACKED(4, 7));
    struct view old = request_of(PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1), pb_varint(3, 2)),
                                         PB_MESSAGE(2, PACKED(2, 7)), pb_varint(4, 10),
                                         PB_MESSAGE(5, pb_varint(3, 1)), tail(8)));
    struct view want = request_of(PB_JOIN(type, samples, pb_varint(4, 10), PB_EMPTY(5), tail(7)));
    ck_assert_int_eq(upgrade(old), PROFILES_UPGRADED);
    ck_assert(view_eq(bytes_view(&out), want));
    /* The profile alone is enough. */
    ck_assert_int_eq(upgrade(request_of(tail(8))), PROFILES_UPGRADED);
    ck_assert(view_eq(bytes_view(&out), request_of(tail(7))));
    ck_assert_int_eq(upgrade(request_of(tail(7))), PROFILES_CURRENT);
    /* There 1.9 already had the numbers of 1.10. */
    old = request_of(PB_JOIN(PB_MESSAGE(2, PACKED(2, 7)), tail(7)));
    ck_assert_int_eq(upgrade(old), PROFILES_UPGRADED);
    ck_assert(view_eq(bytes_view(&out), request_of(PB_JOIN(samples, tail(7)))));
}
END_TEST

START_TEST(comments_of_1_8_become_attributes)
{
    struct view old = PB_JOIN(
        PB_MESSAGE(
            1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(2, PACKED(2, 7)), PACKED(7, 1, 2), tail(8)),
                          PB_MESSAGE(2, pb_varint(7, 2), pb_fill(8, 16, 1)))),
        PB_MESSAGE(2, PB_EMPTY(5), PB_TEXT(5, "first"), PB_TEXT(5, "second"), PB_EMPTY(6),
                   PB_EMPTY(6), PB_MESSAGE(6, pb_varint(1, 1))));
    struct view first = PB_MESSAGE(1, PB_TEXT(1, "first")),
                second = PB_MESSAGE(1, PB_TEXT(1, "second"));
    struct view want = PB_JOIN(
        PB_MESSAGE(
            1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(2, PACKED(4, 7)), tail(7), pb_varint(11, 3)),
                          PB_MESSAGE(2, pb_fill(7, 16, 1), pb_varint(11, 4)))),
        PB_MESSAGE(2, PB_EMPTY(5), PB_TEXT(5, "first"), PB_TEXT(5, "second"), PB_EMPTY(6),
                   PB_EMPTY(6), PB_MESSAGE(6, pb_varint(1, 1)),
                   PB_MESSAGE(6, pb_varint(1, 3), PB_MESSAGE(2, PB_MESSAGE(5, first, second))),
                   PB_MESSAGE(6, pb_varint(1, 3), PB_MESSAGE(2, PB_MESSAGE(5, second))),
                   PB_TEXT(5, "pprof.profile.comment")));
    ck_assert_int_eq(upgrade(old), PROFILES_UPGRADED);
    ck_assert(view_eq(bytes_view(&out), want));
    ck_assert(check_takes(bytes_view(&out)));
}
END_TEST

START_TEST(unknown_fields_and_long_tags_survive)
{
    struct view old = with_sample(PB_JOIN(PB_TEXT(40, "unknown"), PB_RAW(0x92, 0x80, 0x00, 1, 77),
                                          PB_RAW(0xa0, 0x00, 1), pb_varint(7, 5)));
    struct view want = with_sample(PB_JOIN(PB_TEXT(40, "unknown"), PB_RAW(0xa2, 0x80, 0x00, 1, 77),
                                           PB_RAW(0x98, 0x00, 1), pb_varint(7, 5)));
    ck_assert_int_eq(upgrade(old), PROFILES_UPGRADED);
    ck_assert(view_eq(bytes_view(&out), want));
}
END_TEST

/* A valid request with random samples, the same in each layout. Its dictionary has no unused
 * entries. */
struct picture {
    struct random random;
    enum layout layout;
    bool used[8]; /* attributes that samples refer to */
};

static struct view random_sample(struct picture *picture)
{
    static const uint32_t numbers[][3] = {{2, 3, 4}, {2, 3, 4}, {4, 2, 3}};
    const uint32_t *number = numbers[picture->layout];
    struct view parts[4], values[3], attributes[3];
    size_t count = random_below(&picture->random, 4), stamps = random_below(&picture->random, 4);
    size_t part = 0;
    uint8_t zeros[24] = {0};
    bool has_values = stamps == 0 || random_below(&picture->random, 2);
    uint32_t most = random_below(&picture->random, 2) ? 5 : 100000;
    for (size_t i = 0; i < (stamps ? stamps : 1); i++) {
        struct view value = pb_varint(1, random_below(&picture->random, most));
        values[i] = (struct view){value.data + 1, value.size - 1};
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t index = 1 + random_below(&picture->random, 7);
        picture->used[index] = true;
        attributes[i] = PB_RAW((uint8_t)index);
    }
    if (count)
        parts[part++] = pb_message(number[1], attributes, count);
    if (random_below(&picture->random, 2))
        parts[part++] = pb_varint(number[2], random_below(&picture->random, 4));
    if (has_values)
        parts[part++] = pb_message(number[0], values, stamps ? stamps : 1);
    if (stamps)
        parts[part++] = PB_MESSAGE(5, ((struct view){zeros, 8 * stamps}));
    return pb_message(2, parts, part);
}

static struct view random_request(uint64_t seed, enum layout layout)
{
    struct picture picture = {random_seeded(seed), layout, {0}};
    struct view samples[4], rest[8], entries[8];
    size_t count = 1 + random_below(&picture.random, 3), others = 0;
    for (size_t i = 0; i < count; i++)
        samples[i] = random_sample(&picture);
    bool with_tail = random_below(&picture.random, 2);
    for (uint8_t i = 0; i < 8; i++)
        entries[i] = PB_EMPTY(6);
    for (uint8_t i = 1; i < 8; i++)
        if (!picture.used[i] || random_below(&picture.random, 2))
            rest[others++] = PB_RAW(i);
    struct view end = with_tail ? tail(layout == V1_8 ? 8 : 7) : VIEW("");
    struct view mapping = PB_MESSAGE(1, pb_message(5, rest, others));
    return PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, pb_join(samples, count), end))),
                   PB_MESSAGE(2, mapping, PB_EMPTY(4), PB_EMPTY(4), PB_EMPTY(4), PB_EMPTY(4),
                              pb_join(entries, 8)));
}

START_TEST(no_request_is_ever_taken_for_another)
{
    unsigned upgraded = 0, refused = 0, kept = 0;
    for (uint64_t seed = 0; seed < 6000; seed++) {
        struct view new = random_request(seed, V1_10);
        enum layout layout = (enum layout)(seed % 3);
        struct view old = random_request(seed, layout);
        enum profiles_upgrade result = upgrade(old);
        refused += result == PROFILES_REFUSED;
        upgraded += result == PROFILES_UPGRADED;
        kept += layout == V1_10 && result == PROFILES_CURRENT;
        if (layout == V1_10)
            ck_assert_int_ne(result, PROFILES_UPGRADED);
        if (result == PROFILES_CURRENT)
            ck_assert_msg(view_eq(old, new), "seed %zu", (size_t)seed);
        if (result == PROFILES_UPGRADED)
            ck_assert_msg(otlp_reference_same(SIGNAL_PROFILES, bytes_view(&out), new), "seed %zu",
                          (size_t)seed);
    }
    ck_assert_uint_gt(upgraded, 3600);
    ck_assert_uint_gt(kept, 1900);
    ck_assert_uint_lt(refused, 300);
}
END_TEST

START_TEST(too_little_room_is_a_clean_refusal)
{
    struct view old = PB_JOIN(request_of(
        PB_JOIN(PB_MESSAGE(2, PACKED(2, 7)), PACKED(7, 1), PB_MESSAGE(1, pb_varint(3, 1)))));
    bool done = false;
    for (size_t cap = 0; !done; cap++) {
        struct arena arena;
        struct bytes small;
        arena_init(&arena, cap * 16);
        bytes_init(&small, cap, NULL);
        done = profiles_upgrade(old, &arena, &small, &reason) == PROFILES_UPGRADED;
        if (!done)
            ck_assert_uint_eq(small.size, 0);
        arena_release(&arena);
        bytes_release(&small);
        ck_assert_uint_lt(cap, 4096);
    }
}
END_TEST

SUITE_MAIN("profiles_upgrade", a_current_request_stays_as_it_is,
           bytes_that_are_no_request_are_left_to_the_check,
           a_sample_of_1_9_gets_the_numbers_of_1_10, without_attributes_the_values_tell,
           one_sample_that_tells_is_enough, what_reads_well_in_both_layouts_is_refused,
           a_sample_that_has_no_weight_in_any_layout_is_refused, a_profile_of_1_8_is_renumbered,
           comments_of_1_8_become_attributes, unknown_fields_and_long_tags_survive,
           no_request_is_ever_taken_for_another, too_little_room_is_a_clean_refusal)
