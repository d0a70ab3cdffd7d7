#include "lib/wire/profiles/otlp_profiles.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#define SPAN_ID            VIEW("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7")
#define PACKED(field, ...) PB_MESSAGE(field, PB_RAW(__VA_ARGS__))
#define STRING_TABLE(text) PB_TEXT(5, text)

static struct arena arena;
static struct otlp_dictionary dictionary;

/* Strings: 1 cpu, 2 nanoseconds, 3 span_id, 4 00f067aa0ba902b7, 5 service.name, 6 ride.
 * Attributes: 1 span_id inline, 2 span_id by reference, 3 service.name, 4 span_id as a number. */
static struct view dictionary_field(void)
{
    struct view zero = PB_EMPTY(3);
    return PB_MESSAGE(
        2, PB_EMPTY(1), PB_EMPTY(2), PB_MESSAGE(2, PB_MESSAGE(3, pb_varint(1, 1))),
        PB_MESSAGE(2, pb_varint(2, 4096)),
        PB_MESSAGE(2, PB_MESSAGE(3, pb_varint(2, 7)), pb_varint(2, 8192)),
        PB_MESSAGE(2, pb_varint(1, 0)), zero, PB_MESSAGE(3, pb_varint(1, 1)), PB_EMPTY(4),
        PB_MESSAGE(4, pb_fill(1, 16, 0xa1), PB_MESSAGE(2, SPAN_ID)),
        PB_MESSAGE(4, pb_fill(1, 16, 0xa1), pb_fill(2, 8, 0)), STRING_TABLE(""),
        STRING_TABLE("cpu"), STRING_TABLE("nanoseconds"), STRING_TABLE("span_id"),
        STRING_TABLE("00f067aa0ba902b7"), STRING_TABLE("service.name"), STRING_TABLE("ride"),
        PB_EMPTY(6), PB_MESSAGE(6, pb_varint(1, 3), PB_MESSAGE(2, PB_TEXT(1, "inline"))),
        PB_MESSAGE(6, pb_varint(1, 3), PB_MESSAGE(2, pb_varint(8, 4))),
        PB_MESSAGE(6, pb_varint(1, 5), PB_MESSAGE(2, PB_TEXT(1, "x"))),
        PB_MESSAGE(6, pb_varint(1, 3), PB_MESSAGE(2, pb_varint(3, 4))), PB_EMPTY(7),
        PB_MESSAGE(7, PACKED(1, 1, 2, 1)), PB_MESSAGE(7, pb_varint(1, 1), pb_varint(1, 2)),
        PB_MESSAGE(7, PACKED(1, 4)), PB_MESSAGE(7, PACKED(1, 2)), PB_MESSAGE(7, PACKED(1, 2, 3)),
        PB_MESSAGE(7, PACKED(1, 2, 1)), PB_MESSAGE(7, PACKED(1, 1, 4)));
}

/* A request with one profile of these fields. */
static struct view request_of(struct view profile_fields)
{
    return PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, profile_fields))), dictionary_field());
}

static bool open(struct view request, const char **reason)
{
    struct proto_fault fault;
    uint32_t items;
    ck_assert(otlp_check(SIGNAL_PROFILES, request, &items, &fault));
    arena_init(&arena, 1 << 20);
    return otlp_dictionary_open(&dictionary, request, &arena, reason);
}

/* The only sample of a profile with this body. */
static struct otlp_profile_sample sample_of(struct view sample_body)
{
    struct otlp_profile profile;
    struct otlp_profile_sample sample;
    const char *reason;
    struct view fields = PB_MESSAGE(2, sample_body);
    ck_assert_msg(open(request_of(fields), &reason), "%s", reason);
    otlp_profile_read(&dictionary, fields, &profile);
    ck_assert_uint_eq(profile.sample_count, 1);
    struct proto_scan scan = proto_scan_begin(fields);
    ck_assert(otlp_profile_next_sample(&dictionary, &profile, &scan, &sample));
    struct otlp_profile_sample none;
    ck_assert(!otlp_profile_next_sample(&dictionary, &profile, &scan, &none));
    return sample;
}

START_TEST(a_profile_is_read)
{
    struct view fields =
        PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, 2)), pb_fixed64(3, 1700000000000000000),
                pb_varint(4, 10000000000), PB_MESSAGE(5, pb_varint(1, 1)),
                PB_MESSAGE(5, pb_varint(2, 2)), pb_varint(6, 10000000), PB_EMPTY(2), PB_EMPTY(2));
    struct otlp_profile profile;
    const char *reason;
    ck_assert(open(request_of(fields), &reason));
    otlp_profile_read(&dictionary, fields, &profile);
    ck_assert(view_eq(profile.type, VIEW("cpu")));
    ck_assert(view_eq(profile.unit, VIEW("nanoseconds")));
    ck_assert(view_eq(profile.period_type, VIEW("cpu")));
    ck_assert(view_eq(profile.period_unit, VIEW("nanoseconds")));
    ck_assert_int_eq(profile.period, 10000000);
    ck_assert_uint_eq(profile.time_ns, 1700000000000000000);
    ck_assert_uint_eq(profile.duration_ns, 10000000000);
    ck_assert_uint_eq(profile.sample_count, 2);
    arena_release(&arena);
}
END_TEST

START_TEST(the_three_legal_shapes_of_a_sample)
{
    struct view stamps = PB_JOIN(pb_fixed64(5, 1), PB_MESSAGE(5, VIEW("\1\0\0\0\0\0\0\0"
                                                                      "\2\0\0\0\0\0\0\0")));
    struct otlp_profile_sample sample = sample_of(PB_JOIN(pb_varint(1, 1), stamps));
    ck_assert_uint_eq(sample.count, 3);
    ck_assert_int_eq(sample.value_sum, 3);
    ck_assert_int_eq(sample.frames, OTLP_FRAMES_NAMED);
    arena_release(&arena);
    sample = sample_of(PB_JOIN(pb_varint(1, 2), PACKED(4, 0x90, 0x4e)));
    ck_assert_uint_eq(sample.count, 1);
    ck_assert_int_eq(sample.value_sum, 10000);
    ck_assert_int_eq(sample.frames, OTLP_FRAMES_NAMED);
    arena_release(&arena);
    sample = sample_of(PB_JOIN(PACKED(4, 5, 6, 7), stamps));
    ck_assert_uint_eq(sample.count, 3);
    ck_assert_int_eq(sample.value_sum, 18);
    ck_assert_int_eq(sample.frames, OTLP_FRAMES_NONE);
    arena_release(&arena);
}
END_TEST

START_TEST(a_stack_is_named_by_functions_or_addresses)
{
    /* Stacks: 4 and 5 of addresses alone, with a line of no function, 6 of an address and a
     * function, 7 of a location with neither, and a function. */
    static const enum otlp_frames frames[] = {
        [4] = OTLP_FRAMES_ADDRESSES,
        [5] = OTLP_FRAMES_ADDRESSES,
        [6] = OTLP_FRAMES_NAMED,
        [7] = OTLP_FRAMES_NONE,
    };
    for (unsigned stack = 4; stack < 8; stack++) {
        struct otlp_profile_sample sample = sample_of(PB_JOIN(pb_varint(1, stack), PACKED(4, 5)));
        ck_assert_int_eq(sample.value_sum, 5);
        ck_assert_int_eq(sample.frames, frames[stack]);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(a_link_names_the_span)
{
    struct otlp_profile_sample sample = sample_of(PB_JOIN(pb_varint(3, 1), PACKED(4, 1)));
    ck_assert(view_eq(sample.span_id_bytes, SPAN_ID));
    ck_assert_ptr_null(sample.span_id_text.data);
    arena_release(&arena);
    for (uint64_t none = 0; none <= 2; none += 2) {
        sample = sample_of(PB_JOIN(pb_varint(3, none), PACKED(4, 1)));
        ck_assert_uint_eq(sample.span_id_bytes.size, 0);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(an_attribute_names_the_span)
{
    struct otlp_profile_sample sample = sample_of(PACKED(2, 3, 2, 1));
    ck_assert(view_eq(sample.span_id_text, VIEW("00f067aa0ba902b7")));
    arena_release(&arena);
    sample = sample_of(pb_varint(2, 1));
    ck_assert(view_eq(sample.span_id_text, VIEW("inline")));
    arena_release(&arena);
    sample = sample_of(PACKED(2, 0, 3, 4));
    ck_assert_ptr_null(sample.span_id_text.data);
    arena_release(&arena);
}
END_TEST

START_TEST(a_resource_attribute_is_found_inline_and_by_reference)
{
    struct view key = VIEW("service.name");
    struct view inline_both = PB_MESSAGE(
        1,
        PB_MESSAGE(1, PB_MESSAGE(1, PB_TEXT(1, "service.name"), PB_MESSAGE(2, PB_TEXT(1, "a")))));
    struct view by_reference = PB_MESSAGE(
        1, PB_MESSAGE(1, PB_MESSAGE(1, pb_varint(3, 5), PB_MESSAGE(2, pb_varint(8, 6)))));
    struct view index_zero =
        PB_MESSAGE(1, PB_MESSAGE(1, PB_MESSAGE(1, pb_varint(3, 0), PB_TEXT(1, "service.name"),
                                               PB_MESSAGE(2, pb_varint(8, 6)))));
    struct view number = PB_MESSAGE(
        1, PB_MESSAGE(1, PB_MESSAGE(1, pb_varint(3, 5), PB_MESSAGE(2, pb_varint(3, 6)))));
    struct view entries[] = {inline_both, by_reference, index_zero, number};
    static const char *const want[] = {"a", "ride", "ride", NULL};
    for (size_t i = 0; i < 4; i++) {
        struct proto_field entry;
        const char *reason;
        ck_assert(open(PB_JOIN(entries[i], dictionary_field()), &reason));
        ck_assert(proto_find(entries[i], 1, WIRE_LEN, &entry));
        struct view got = otlp_profiles_resource_attribute(&dictionary, entry.bytes, key);
        ck_assert_int_eq(got.data == NULL, want[i] == NULL);
        ck_assert(view_eq(got, view_of(want[i])));
        ck_assert_ptr_null(
            otlp_profiles_resource_attribute(&dictionary, entry.bytes, VIEW("else")).data);
        arena_release(&arena);
    }
}
END_TEST

SUITE_MAIN("otlp_profiles", a_profile_is_read, the_three_legal_shapes_of_a_sample,
           a_stack_is_named_by_functions_or_addresses, a_link_names_the_span,
           an_attribute_names_the_span, a_resource_attribute_is_found_inline_and_by_reference)
