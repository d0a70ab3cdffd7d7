#include "lib/wire/proto/proto_shape.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

static bool traces_pass(struct view request)
{
    struct proto_fault fault;
    return proto_check(&shape_trace_request, request, &fault);
}

static struct view in_span(struct view part)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(part)));
}

START_TEST(the_fault_says_where_and_why)
{
    struct view request = in_span(PB_MESSAGE(9, PB_TEXT(1, "key"), pb_varint(2, 5)));
    struct proto_fault fault = {0};
    ck_assert(!proto_check(&shape_trace_request, request, &fault));
    ck_assert_str_eq(fault.message, "KeyValue");
    ck_assert_uint_eq(fault.field, 2);
    ck_assert_str_eq(fault.reason, "wrong wire type");
    ck_assert_uint_eq(fault.offset, request.size - 2);
}
END_TEST

START_TEST(a_known_field_of_wrong_type_is_refused_at_every_depth)
{
    ck_assert(!traces_pass(pb_varint(1, 0)));
    ck_assert(!traces_pass(PB_MESSAGE(1, pb_varint(2, 0))));
    ck_assert(!traces_pass(PB_MESSAGE(1, PB_MESSAGE(2, pb_fixed32(2, 0)))));
    ck_assert(!traces_pass(in_span(PB_TEXT(7, "12345678"))));
    ck_assert(!traces_pass(in_span(pb_varint(16, 1))));
    ck_assert(!traces_pass(in_span(pb_group(9, VIEW("")))));
    ck_assert(!traces_pass(in_span(PB_MESSAGE(15, PB_TEXT(3, "x")))));
    struct view array = PB_MESSAGE(2, PB_MESSAGE(5, PB_MESSAGE(1, pb_varint(4, 1))));
    ck_assert(!traces_pass(in_span(PB_MESSAGE(9, array))));
    ck_assert(traces_pass(in_span(pb_fixed64(7, 1))));
}
END_TEST

START_TEST(unknown_fields_pass_at_every_depth)
{
    struct view extra = PB_JOIN(pb_varint(1000, 1), PB_TEXT(99, "x"), pb_fixed32(98, 1),
                                pb_fixed64(97, 1), pb_group(96, pb_group(1, PB_TEXT(2, "y"))));
    ck_assert(traces_pass(extra));
    ck_assert(traces_pass(PB_JOIN(PB_MESSAGE(1, extra, PB_MESSAGE(2, extra)), extra)));
    ck_assert(traces_pass(in_span(PB_MESSAGE(9, extra, PB_MESSAGE(2, extra)))));
}
END_TEST

START_TEST(broken_framing_inside_is_refused)
{
    /* Each message ends inside one of its own fields, while the outer lengths are right. */
    ck_assert(!traces_pass(in_span(PB_RAW(0x2a, 0x05, 'a'))));
    ck_assert(!traces_pass(PB_MESSAGE(1, PB_MESSAGE(2, PB_RAW(0x12, 0x01)), PB_TEXT(3, "u"))));
    ck_assert(!traces_pass(in_span(PB_MESSAGE(9, PB_RAW(0x00)))));
    ck_assert(!traces_pass(in_span(PB_RAW(0xf3, 0x01))));
}
END_TEST

static struct view nested_arrays(unsigned depth)
{
    struct view any = pb_varint(3, 1);
    for (unsigned i = 0; i < depth; i++)
        any = PB_MESSAGE(5, PB_MESSAGE(1, any));
    return in_span(PB_MESSAGE(9, PB_TEXT(1, "k"), PB_MESSAGE(2, any)));
}

START_TEST(nesting_is_legal_up_to_the_limit)
{
    /* Request, resource, scope, span, attribute, value: six; an array adds two. */
    ck_assert(traces_pass(nested_arrays((PROTO_MAX_DEPTH - 6) / 2)));
    ck_assert(!traces_pass(nested_arrays((PROTO_MAX_DEPTH - 6) / 2 + 1)));
    ck_assert(!traces_pass(nested_arrays(5000)));
    struct view groups = {0};
    for (unsigned i = 0; i < PROTO_MAX_DEPTH - 4; i++)
        groups = pb_group(50, groups);
    ck_assert(traces_pass(in_span(groups)));
    ck_assert(!traces_pass(in_span(pb_group(50, groups))));
}
END_TEST

START_TEST(ids_are_measured_where_the_collector_measures_them)
{
    struct proto_fault fault;
    struct view good = PB_JOIN(pb_fill(9, 16, 1), pb_fill(10, 8, 1));
    struct view none = PB_JOIN(PB_EMPTY(9), PB_EMPTY(10));
    struct view bad = PB_JOIN(pb_fill(9, 16, 1), pb_fill(10, 7, 1));
#define LOGS(record) PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, record)))
    ck_assert(proto_check(&shape_logs_request, LOGS(good), &fault));
    ck_assert(proto_check(&shape_logs_request, LOGS(none), &fault));
    ck_assert(!proto_check(&shape_logs_request, LOGS(bad), &fault));
    ck_assert_str_eq(fault.message, "LogRecord");
    ck_assert_uint_eq(fault.field, 10);
    struct view exemplar = PB_MESSAGE(5, pb_fill(4, 8, 1), pb_fill(5, 15, 1));
    struct view gauge = PB_MESSAGE(2, PB_MESSAGE(5, PB_MESSAGE(1, exemplar)));
    ck_assert(!proto_check(&shape_metrics_request, PB_MESSAGE(1, PB_MESSAGE(2, gauge)), &fault));
    ck_assert_str_eq(fault.message, "Exemplar");
    /* A span with wrong ids passes: it is dropped later, alone. */
    ck_assert(traces_pass(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, pb_fill(1, 3, 1))))));
}
END_TEST

START_TEST(packed_and_single_numbers_pass_and_broken_ones_do_not)
{
    struct proto_fault fault;
    const struct proto_shape *shape = &shape_pprof;
    ck_assert(proto_check(shape, PB_MESSAGE(2, PB_MESSAGE(1, PB_RAW(1, 0x80, 1))), &fault));
    ck_assert(proto_check(shape, PB_MESSAGE(2, pb_varint(1, 7), pb_varint(1, 8)), &fault));
    ck_assert(!proto_check(shape, PB_MESSAGE(2, PB_MESSAGE(1, PB_RAW(1, 0x80))), &fault));
    ck_assert_str_eq(fault.reason, "broken packed numbers");
    ck_assert(!proto_check(shape, PB_MESSAGE(2, pb_fixed64(1, 7)), &fault));
#define HISTOGRAM(point)                                                                           \
    PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(9, PB_MESSAGE(1, point)))))
    shape = &shape_metrics_request;
    ck_assert(proto_check(shape, HISTOGRAM(pb_fill(6, 16, 1)), &fault));
    ck_assert(proto_check(shape, HISTOGRAM(pb_fixed64(6, 1)), &fault));
    ck_assert(!proto_check(shape, HISTOGRAM(pb_fill(6, 15, 1)), &fault));
}
END_TEST

START_TEST(push_requests_are_checked)
{
    struct proto_fault fault;
    struct view series = PB_MESSAGE(1, PB_MESSAGE(1, PB_TEXT(1, "a"), PB_TEXT(2, "b")),
                                    PB_MESSAGE(2, PB_TEXT(1, "pprof"), PB_TEXT(2, "id")));
    ck_assert(proto_check(&shape_push_request, series, &fault));
    ck_assert(!proto_check(&shape_push_request, PB_MESSAGE(1, pb_varint(2, 1)), &fault));
}
END_TEST

/* Old profiles messages, whose samples have field 3 as LEN, are refused rather than misread. */
START_TEST(samples_of_the_older_profiles_layout_are_refused)
{
    struct proto_fault fault;
    struct view sample =
        PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(2, PB_RAW(5)), PB_MESSAGE(3, PB_RAW(1, 2)));
    struct view request = PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, sample)));
    ck_assert(!proto_check(&shape_profiles_request, request, &fault));
    ck_assert_str_eq(fault.message, "Sample");
}
END_TEST

START_TEST(random_messages_pass_here_and_in_protobuf_c)
{
    for (unsigned seed = 0; seed < 4000; seed++) {
        struct random random = random_seeded(seed);
        enum signal signal = (enum signal)(seed % SIGNAL_COUNT);
        struct proto_fault fault;
        struct bytes message;
        bytes_init(&message, SIZE_MAX / 2, NULL);
        unsigned flags = seed % 3 ? RANDOM_UNKNOWN | RANDOM_PADDED : RANDOM_PLAIN;
        proto_random(&random, otlp_shape(signal), flags, 9, &message);
        ck_assert_msg(proto_check(otlp_shape(signal), bytes_view(&message), &fault),
                      "seed %u: %s.%u %s", seed, fault.message, fault.field, fault.reason);
        ProtobufCMessage *other = otlp_reference_read(signal, bytes_view(&message));
        ck_assert_ptr_nonnull(other);
        protobuf_c_message_free_unpacked(other, NULL);
        bytes_release(&message);
    }
}
END_TEST

/* Checks that the two only disagree in known ways: protobuf-c accepts field number 0, varints
 * longer than ten bytes, ids of any length and wire types of unknown fields that do not nest; and
 * it does not support groups. */
static void compare_broken(enum signal signal, struct view message, unsigned seed)
{
    struct proto_fault fault = {0};
    bool ours = proto_check(otlp_shape(signal), message, &fault);
    ProtobufCMessage *other = otlp_reference_read(signal, message);
    if (ours && !other) {
        /* Only groups are accepted here but not there. */
        bool group = false;
        for (size_t i = 0; i < message.size && !group; i++)
            group = (message.data[i] & 7) == WIRE_START_GROUP;
        ck_assert_msg(group, "seed %u: refused by protobuf-c", seed);
    }
    if (other)
        protobuf_c_message_free_unpacked(other, NULL);
}

START_TEST(whatever_passes_can_be_read_by_protobuf_c)
{
    for (unsigned seed = 0; seed < 6000; seed++) {
        struct random random = random_seeded(seed);
        enum signal signal = (enum signal)(seed % SIGNAL_COUNT);
        struct bytes message;
        bytes_init(&message, SIZE_MAX / 2, NULL);
        proto_random(&random, otlp_shape(signal), RANDOM_UNKNOWN, 8, &message);
        for (unsigned i = 0; message.size && i < 1 + seed % 3; i++)
            message.data[random_below(&random, (uint32_t)message.size)] ^=
                (uint8_t)(1u << random_below(&random, 8));
        compare_broken(signal, bytes_view(&message), seed);
        bytes_release(&message);
    }
}
END_TEST

START_TEST(every_truncation_of_a_span_is_refused)
{
    struct view request = in_span(PB_JOIN(pb_attribute(9, "k", "v"), pb_fixed32(16, 1)));
    for (size_t size = 1; size < request.size; size++)
        ck_assert_msg(!traces_pass((struct view){request.data, size}), "%zu bytes passed", size);
    ck_assert(traces_pass(request));
    ck_assert(traces_pass((struct view){0}));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_fault_says_where_and_why,
        a_known_field_of_wrong_type_is_refused_at_every_depth,
        unknown_fields_pass_at_every_depth,
        broken_framing_inside_is_refused,
        nesting_is_legal_up_to_the_limit,
        ids_are_measured_where_the_collector_measures_them,
        packed_and_single_numbers_pass_and_broken_ones_do_not,
        push_requests_are_checked,
        samples_of_the_older_profiles_layout_are_refused,
        random_messages_pass_here_and_in_protobuf_c,
        whatever_passes_can_be_read_by_protobuf_c,
        every_truncation_of_a_span_is_refused,
        NULL,
    };
    return suite_run("proto_shape", tests);
}
