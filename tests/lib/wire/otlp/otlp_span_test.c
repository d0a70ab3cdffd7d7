#include "lib/wire/otlp/otlp_span.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include "opentelemetry/proto/trace/v1/trace.pb-c.h"

static struct otlp_span read_span(struct view body)
{
    struct otlp_span span;
    otlp_span_read(body, &span);
    return span;
}

START_TEST(the_last_scalar_wins_and_the_first_profile_attribute_counts)
{
    struct view first = pb_attribute(9, "pyroscope.profile.id", "aaaaaaaaaaaaaaaa");
    struct view body = PB_JOIN(pb_varint(6, 1), pb_fill(2, 8, 1), pb_varint(6, 2), pb_fill(2, 8, 2),
                               pb_attribute(9, "pyroscope.profile.ix", "no"), first,
                               pb_attribute(9, "pyroscope.profile.id", "bbbbbbbbbbbbbbbb"));
    struct otlp_span span = read_span(body);
    ck_assert_uint_eq(span.kind, SPAN_KIND_SERVER);
    ck_assert_uint_eq(span.span_id.data[0], 2);
    ck_assert_uint_eq(span.profile_attributes, 2);
    ck_assert(view_eq(span.profile_id, VIEW("aaaaaaaaaaaaaaaa")));
    ck_assert(
        view_eq(view_between(span.profile_attribute.start, span.profile_attribute.end), first));
}
END_TEST

START_TEST(a_profile_attribute_that_is_no_string_is_counted_without_a_value)
{
    struct otlp_span span = read_span(
        PB_MESSAGE(9, PB_TEXT(1, "pyroscope.profile.id"), PB_MESSAGE(2, pb_varint(3, 5))));
    ck_assert_uint_eq(span.profile_attributes, 1);
    ck_assert_ptr_null(span.profile_id.data);
}
END_TEST

START_TEST(spans_are_read_as_protobuf_c_reads_them)
{
    static const struct proto_shape *shape;
    shape = shape_trace_request.rows[1].shape->rows[2].shape->rows[2].shape;
    ck_assert_str_eq(shape->name, "Span");
    for (unsigned seed = 0; seed < 2000; seed++) {
        struct random random = random_seeded(seed);
        struct bytes body;
        bytes_init(&body, SIZE_MAX / 2, NULL);
        proto_random(&random, shape, RANDOM_UNKNOWN | RANDOM_PADDED, 3, &body);
        struct otlp_span span = read_span(bytes_view(&body));
        Opentelemetry__Proto__Trace__V1__Span *other =
            opentelemetry__proto__trace__v1__span__unpack(NULL, body.size, body.data);
        ck_assert_ptr_nonnull(other);
        ck_assert_uint_eq(span.kind, (uint32_t)other->kind);
        ck_assert_uint_eq(span.start_ns, other->start_time_unix_nano);
        ck_assert_uint_eq(span.end_ns, other->end_time_unix_nano);
        ck_assert_uint_eq(span.flags, other->flags);
        ck_assert(view_eq(span.name, view_of(other->name)));
        ck_assert(view_eq(span.span_id, (struct view){other->span_id.data, other->span_id.len}));
        ck_assert(view_eq(span.trace_id, (struct view){other->trace_id.data, other->trace_id.len}));
        ck_assert_uint_eq(span.parent_span_id.size, other->parent_span_id.len);
        opentelemetry__proto__trace__v1__span__free_unpacked(other, NULL);
        bytes_release(&body);
    }
}
END_TEST

static bool local_root(uint8_t parent, uint32_t flags, enum span_kind kind)
{
    struct otlp_span span =
        read_span(PB_JOIN(pb_fill(4, 8, parent), pb_fixed32(16, flags), pb_varint(6, kind)));
    return otlp_span_is_local_root(&span);
}

START_TEST(local_roots_are_told_by_parent_then_flags_then_kind)
{
    struct otlp_span none = read_span(PB_TEXT(5, "x")), empty = read_span(PB_EMPTY(4));
    ck_assert(otlp_span_is_local_root(&none));
    ck_assert(otlp_span_is_local_root(&empty));
    ck_assert(local_root(0, 0x100, SPAN_KIND_INTERNAL));
    ck_assert(local_root(7, 0x300, SPAN_KIND_INTERNAL));
    ck_assert(!local_root(7, 0x100, SPAN_KIND_SERVER));
    ck_assert(!local_root(7, 0x200, SPAN_KIND_INTERNAL));
    ck_assert(local_root(7, 0x001, SPAN_KIND_SERVER));
    ck_assert(local_root(7, 0, SPAN_KIND_CONSUMER));
    ck_assert(!local_root(7, 0, SPAN_KIND_CLIENT));
}
END_TEST

START_TEST(ids_go_to_hex_and_back)
{
    const uint8_t bytes[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    char hex[16];
    uint64_t id = span_id_load(bytes), parsed = 0;
    ck_assert_uint_eq(id, UINT64_C(0x0123456789abcdef));
    span_id_format(id, hex);
    ck_assert(view_eq((struct view){(uint8_t *)hex, 16}, VIEW("0123456789abcdef")));
    ck_assert(span_id_parse(VIEW("0123456789ABCDEF"), &parsed) && parsed == id);
    ck_assert_uint_eq(span_id_reversed(id), UINT64_C(0xefcdab8967452301));
}
END_TEST

START_TEST(what_is_no_id_is_not_parsed)
{
    uint64_t id;
    ck_assert(!span_id_parse(VIEW("0000000000000000"), &id));
    ck_assert(!span_id_parse(VIEW("0123456789abcde"), &id));
    ck_assert(!span_id_parse(VIEW("0123456789abcdef0"), &id));
    ck_assert(!span_id_parse(VIEW("0123456789abcdeg"), &id));
    ck_assert(!span_id_parse(VIEW(""), &id));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_last_scalar_wins_and_the_first_profile_attribute_counts,
        a_profile_attribute_that_is_no_string_is_counted_without_a_value,
        spans_are_read_as_protobuf_c_reads_them,
        local_roots_are_told_by_parent_then_flags_then_kind,
        ids_go_to_hex_and_back,
        what_is_no_id_is_not_parsed,
        NULL,
    };
    return suite_run("otlp_span", tests);
}
