#include "lib/wire/proto/proto_normal.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

static bool is_odd(enum signal signal, struct view request)
{
    struct proto_fault fault;
    struct otlp_found found;
    ck_assert(otlp_check_all(signal, request, NULL, &found, &fault));
    return found.odd;
}

/* In memory that stays. */
static struct view normal_of(enum signal signal, struct view request)
{
    struct arena arena;
    struct bytes out;
    arena_init(&arena, 1 << 24);
    bytes_init(&out, request.size, NULL);
    ck_assert(proto_normal(otlp_shape(signal), request, &arena, &out));
    arena_release(&arena);
    struct view kept = pb_join(&(struct view){out.data, out.size}, 1);
    bytes_release(&out);
    ck_assert(!is_odd(signal, kept));
    return kept;
}

static void becomes(enum signal signal, struct view given, struct view want)
{
    ck_assert(is_odd(signal, given));
    ck_assert(!is_odd(signal, want));
    ck_assert(view_eq(normal_of(signal, given), want));
}

#define SCOPED(...)    PB_MESSAGE(1, PB_MESSAGE(2, __VA_ARGS__))
#define IN_SPAN(...)   SCOPED(PB_SPAN(__VA_ARGS__))
#define IN_LOG(...)    SCOPED(PB_MESSAGE(2, __VA_ARGS__))
#define IN_METRIC(...) SCOPED(PB_MESSAGE(2, __VA_ARGS__))

START_TEST(messages_given_twice_add_up)
{
    struct view a = PB_TEXT(1, "secret"), key = PB_TEXT(1, "k");
    becomes(SIGNAL_TRACES, IN_SPAN(PB_MESSAGE(9, key, PB_MESSAGE(2, a), PB_EMPTY(2))),
            IN_SPAN(PB_MESSAGE(9, key, PB_MESSAGE(2, a))));
    becomes(SIGNAL_LOGS, IN_LOG(PB_MESSAGE(5, a), pb_fixed64(1, 7), PB_EMPTY(5)),
            IN_LOG(PB_MESSAGE(5, a), pb_fixed64(1, 7)));
    becomes(SIGNAL_TRACES,
            IN_SPAN(PB_MESSAGE(15, pb_varint(3, 2)), PB_MESSAGE(15, PB_TEXT(2, "bad"))),
            IN_SPAN(PB_MESSAGE(15, pb_varint(3, 2), PB_TEXT(2, "bad"))));
    struct view one = pb_attribute(1, "a", "1"), two = pb_attribute(1, "b", "2");
    becomes(SIGNAL_TRACES, PB_MESSAGE(1, PB_MESSAGE(1, one), PB_EMPTY(2), PB_MESSAGE(1, two)),
            PB_MESSAGE(1, PB_MESSAGE(1, one, two), PB_EMPTY(2)));
    struct view sum = PB_MESSAGE(7, PB_MESSAGE(1, pb_fixed64(3, 1)));
    becomes(SIGNAL_METRICS, IN_METRIC(sum, PB_MESSAGE(7, pb_varint(2, 2))),
            IN_METRIC(PB_MESSAGE(7, PB_MESSAGE(1, pb_fixed64(3, 1)), pb_varint(2, 2))));
}
END_TEST

START_TEST(what_adds_up_is_put_in_its_form_too)
{
    struct view one = PB_MESSAGE(1, PB_TEXT(1, "x")), two = PB_MESSAGE(1, PB_TEXT(1, "y"));
    struct view split = PB_MESSAGE(9, PB_TEXT(1, "k"), PB_MESSAGE(2, PB_MESSAGE(5, one)),
                                   PB_MESSAGE(2, PB_MESSAGE(5, two)));
    becomes(SIGNAL_TRACES, IN_SPAN(split),
            IN_SPAN(PB_MESSAGE(9, PB_TEXT(1, "k"), PB_MESSAGE(2, PB_MESSAGE(5, one, two)))));
}
END_TEST

START_TEST(the_last_member_of_a_oneof_counts)
{
    struct view points = PB_MESSAGE(1, pb_fixed64(3, 1)), other = PB_MESSAGE(1, pb_fixed64(3, 2));
    becomes(SIGNAL_METRICS, IN_METRIC(PB_MESSAGE(5, points), PB_MESSAGE(7, other)),
            IN_METRIC(PB_MESSAGE(7, other)));
    becomes(SIGNAL_METRICS,
            IN_METRIC(PB_MESSAGE(5, points), PB_MESSAGE(7, other), PB_MESSAGE(5, other)),
            IN_METRIC(PB_MESSAGE(5, other)));
    struct view list = PB_MESSAGE(5, PB_MESSAGE(1, PB_TEXT(1, "x")));
    struct view map = PB_MESSAGE(6, PB_MESSAGE(1, PB_TEXT(1, "k")));
    becomes(SIGNAL_LOGS, IN_LOG(PB_MESSAGE(5, list, map)), IN_LOG(PB_MESSAGE(5, map)));
}
END_TEST

START_TEST(long_tags_become_short)
{
    /* The attributes of a span, field 9, with a tag of two and three bytes. */
    struct view body = PB_RAW(0x0a, 1, 'k', 0x12, 3, 0x0a, 1, 'v');
    struct view two = PB_JOIN(PB_RAW(0xca, 0, 8), body);
    struct view three = PB_JOIN(PB_RAW(0xca, 0x80, 0, 8), body);
    struct view want = IN_SPAN(pb_attribute(9, "k", "v"));
    becomes(SIGNAL_TRACES, IN_SPAN(two), want);
    becomes(SIGNAL_TRACES, IN_SPAN(three), want);
    becomes(SIGNAL_LOGS, PB_JOIN(PB_RAW(0x8a, 0, 0), pb_varint(1000, 1)),
            PB_JOIN(PB_EMPTY(1), pb_varint(1000, 1)));
    ck_assert(!is_odd(SIGNAL_TRACES, IN_SPAN(pb_fixed32(16, 1))));
}
END_TEST

START_TEST(what_repeats_and_what_is_unknown_stays)
{
    struct view event = PB_MESSAGE(11, PB_TEXT(2, "e"), pb_attribute(3, "k", "v"));
    struct view request = IN_SPAN(event, event, pb_attribute(9, "a", "1"),
                                  pb_attribute(9, "a", "2"), PB_TEXT(99, "x"), PB_TEXT(99, "y"));
    ck_assert(!is_odd(SIGNAL_TRACES, request));
    ck_assert(view_eq(normal_of(SIGNAL_TRACES, request), request));
    struct view unknown = IN_SPAN(PB_RAW(0x98, 0x86, 0x80, 0, 7));
    ck_assert(!is_odd(SIGNAL_TRACES, unknown));
    ck_assert(view_eq(normal_of(SIGNAL_TRACES, unknown), unknown));
}
END_TEST

START_TEST(random_messages_mean_the_same)
{
    for (unsigned seed = 0; seed < 3000; seed++) {
        struct random random = random_seeded(seed);
        enum signal signal = (enum signal)(seed % SIGNAL_COUNT);
        struct bytes message;
        bytes_init(&message, SIZE_MAX / 2, NULL);
        unsigned flags = RANDOM_PADDED | (seed % 3 ? RANDOM_UNKNOWN : RANDOM_PLAIN);
        proto_random(&random, otlp_shape(signal), flags, 9, &message);
        struct view normal = normal_of(signal, bytes_view(&message));
        ck_assert_msg(otlp_reference_same(signal, bytes_view(&message), normal), "seed %u", seed);
        bytes_release(&message);
    }
}
END_TEST

START_TEST(without_memory_there_is_none)
{
    struct view half = PB_MESSAGE(1, pb_fill(9, 4000, 1));
    struct view request = PB_MESSAGE(1, half, half);
    struct arena arena;
    struct bytes out;
    arena_init(&arena, 4096);
    bytes_init(&out, request.size, NULL);
    ck_assert(!proto_normal(&shape_trace_request, request, &arena, &out));
    arena_release(&arena);
    bytes_release(&out);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        messages_given_twice_add_up,
        what_adds_up_is_put_in_its_form_too,
        the_last_member_of_a_oneof_counts,
        long_tags_become_short,
        what_repeats_and_what_is_unknown_stays,
        random_messages_mean_the_same,
        without_memory_there_is_none,
        NULL,
    };
    return suite_run("proto_normal", tests);
}
