#include "lib/wire/json/otlp_json.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdio.h>

static char text[65536];

static const char *written(enum signal signal, struct view request)
{
    struct bytes out;
    bytes_init(&out, sizeof text - 1, NULL);
    ck_assert(otlp_json_write(signal, request, &out));
    memcpy(text, out.data, out.size);
    text[out.size] = 0;
    bytes_release(&out);
    return text;
}

/* The text inside the only span's braces. */
static const char *span_written(struct view body)
{
    static const char before[] = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{";
    char *json = (char *)written(SIGNAL_TRACES, PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, body))));
    ck_assert_int_eq(strncmp(json, before, strlen(before)), 0);
    json[strlen(json) - strlen("}]}]}]}")] = 0;
    return json + strlen(before);
}

START_TEST(a_span_is_written_as_the_collector_writes_it)
{
    struct view span =
        PB_JOIN(pb_fill(1, 16, 0xab), pb_fill(2, 8, 0x01), PB_TEXT(5, "GET"), pb_varint(6, 2),
                pb_fixed64(7, 1544712660000000000), pb_attribute(9, "k", "v"),
                PB_MESSAGE(15, pb_varint(3, 2)), pb_fixed32(16, 257));
    ck_assert_str_eq(
        span_written(span),
        "\"traceId\":\"abababababababababababababababab\",\"spanId\":\"0101010101010101\","
        "\"name\":\"GET\",\"kind\":2,\"startTimeUnixNano\":\"1544712660000000000\","
        "\"attributes\":[{\"key\":\"k\",\"value\":{\"stringValue\":\"v\"}}],"
        "\"status\":{\"code\":2},\"flags\":257");
}
END_TEST

START_TEST(every_kind_of_value_is_written)
{
    struct view any[] = {pb_varint(2, 0),
                         pb_varint(3, (uint64_t)-7),
                         pb_fixed64(4, 0x3fb999999999999a),
                         PB_MESSAGE(5, PB_MESSAGE(1, pb_varint(3, 0))),
                         PB_MESSAGE(6, PB_MESSAGE(1, PB_TEXT(1, "a"))),
                         PB_MESSAGE(7, PB_RAW(1, 2, 0xfe, 0xff)),
                         PB_EMPTY(1),
                         (struct view){0},
                         pb_fixed64(4, 0x7ff8000000000000),
                         pb_fixed64(4, 0xfff0000000000000)};
    static const char *const want[] = {"{\"boolValue\":false}",
                                       "{\"intValue\":\"-7\"}",
                                       "{\"doubleValue\":0.1}",
                                       "{\"arrayValue\":{\"values\":[{\"intValue\":\"0\"}]}}",
                                       "{\"kvlistValue\":{\"values\":[{\"key\":\"a\"}]}}",
                                       "{\"bytesValue\":\"AQL+/w==\"}",
                                       "{\"stringValue\":\"\"}",
                                       "{}",
                                       "{\"doubleValue\":\"NaN\"}",
                                       "{\"doubleValue\":\"-Infinity\"}"};
    for (size_t i = 0; i < sizeof any / sizeof any[0]; i++) {
        char line[256];
        snprintf(line, sizeof line, "\"attributes\":[{\"value\":%s}]", want[i]);
        ck_assert_str_eq(span_written(PB_MESSAGE(9, PB_MESSAGE(2, any[i]))), line);
    }
}
END_TEST

START_TEST(zero_and_unknown_fields_are_left_out)
{
    ck_assert_str_eq(span_written(PB_JOIN(PB_EMPTY(5), pb_varint(6, 0), pb_fixed64(7, 0),
                                          PB_TEXT(99, "x"), pb_group(98, PB_TEXT(5, "y")))),
                     "");
    ck_assert_str_eq(written(SIGNAL_LOGS, (struct view){0}), "{}");
}
END_TEST

START_TEST(text_stays_on_one_line_and_valid)
{
    ck_assert_str_eq(
        span_written(PB_MESSAGE(5, PB_RAW('a', '\n', '"', '\\', 1, 0xc3, 0xa4, 0xff, 0xc3, 'z'))),
        "\"name\":\"a\\n\\\"\\\\\\u0001\xc3\xa4\xef\xbf\xbd\xef\xbf\xbdz\"");
}
END_TEST

START_TEST(repeated_fields_mean_what_protobuf_says)
{
    /* Last scalar, merged message, last member of a oneof, numbers packed and not. */
    ck_assert_str_eq(
        span_written(PB_JOIN(PB_TEXT(5, "a"), PB_TEXT(5, "b"), PB_MESSAGE(15, pb_varint(3, 1)),
                             PB_MESSAGE(15, PB_TEXT(2, "m")))),
        "\"name\":\"b\",\"status\":{\"message\":\"m\",\"code\":1}");
    struct view array = PB_MESSAGE(5, PB_MESSAGE(1, pb_varint(3, 1)));
    ck_assert_str_eq(
        span_written(PB_MESSAGE(9, PB_MESSAGE(2, array, pb_varint(2, 1), array, array))),
        "\"attributes\":[{\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"1\"},"
        "{\"intValue\":\"1\"}]}}}]");
    struct view point = PB_MESSAGE(1, PB_MESSAGE(6, PB_RAW(1, 0, 0, 0, 0, 0, 0, 0)),
                                   pb_fixed64(6, 0), PB_EMPTY(6), pb_fixed64(5, 0));
    ck_assert_str_eq(
        written(SIGNAL_METRICS, PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(9, point))))),
        "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"histogram\":{\"dataPoints\":["
        "{\"sum\":0,\"bucketCounts\":[\"1\",\"0\"]}]}}]}]}]}");
}
END_TEST

START_TEST(zigzag_numbers_of_exponential_histograms_are_read)
{
    struct view point =
        PB_MESSAGE(1, pb_varint(6, 3), PB_MESSAGE(8, pb_varint(1, 4), PB_MESSAGE(2, PB_RAW(1, 2))));
    ck_assert_str_eq(
        written(SIGNAL_METRICS, PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(10, point))))),
        "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"exponentialHistogram\":{"
        "\"dataPoints\":[{\"scale\":-2,\"positive\":{\"offset\":2,\"bucketCounts\":[\"1\",\"2\"]}}]"
        "}}]}]}]}");
}
END_TEST

START_TEST(random_requests_are_written_as_valid_json_and_alike_after_protobuf_c)
{
    for (unsigned seed = 0; seed < 800; seed++) {
        struct random random = random_seeded(seed);
        enum signal signal = (enum signal)(seed % SIGNAL_COUNT);
        struct bytes message, normal, a, b;
        bytes_init(&message, SIZE_MAX / 2, NULL);
        bytes_init(&normal, SIZE_MAX / 2, NULL);
        bytes_init(&a, SIZE_MAX / 2, NULL);
        bytes_init(&b, SIZE_MAX / 2, NULL);
        proto_random(&random, otlp_shape(signal), RANDOM_UNKNOWN | RANDOM_PADDED, 7, &message);
        ck_assert(otlp_reference_normal(signal, bytes_view(&message), &normal));
        ck_assert(otlp_json_write(signal, bytes_view(&message), &a));
        ck_assert(otlp_json_write(signal, bytes_view(&normal), &b));
        ck_assert(view_eq(bytes_view(&a), bytes_view(&b)));
        json_t *parsed = json_loadb((const char *)a.data, a.size, JSON_ALLOW_NUL, NULL);
        ck_assert_ptr_nonnull(parsed);
        json_decref(parsed);
        ck_assert_ptr_null(memchr(a.data, '\n', a.size));
        bytes_release(&message);
        bytes_release(&normal);
        bytes_release(&a);
        bytes_release(&b);
    }
}
END_TEST

START_TEST(too_little_room_is_a_clean_failure)
{
    struct view status = PB_JOIN(PB_MESSAGE(15, PB_TEXT(2, "m")), PB_MESSAGE(15, pb_varint(3, 1)));
    struct view request =
        PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(pb_attribute(9, "k", "v\n"), status)));
    size_t cap = 0;
    for (bool done = false; !done; cap++) {
        struct bytes out;
        bytes_init(&out, cap, NULL);
        done = otlp_json_write(SIGNAL_TRACES, request, &out);
        ck_assert(done || out.size == 0);
        bytes_release(&out);
        ck_assert_uint_lt(cap, 4096);
    }
    ck_assert_uint_gt(cap, 100);
}
END_TEST

SUITE_MAIN("otlp_json_write", a_span_is_written_as_the_collector_writes_it,
           every_kind_of_value_is_written, zero_and_unknown_fields_are_left_out,
           text_stays_on_one_line_and_valid, repeated_fields_mean_what_protobuf_says,
           zigzag_numbers_of_exponential_histograms_are_read,
           random_requests_are_written_as_valid_json_and_alike_after_protobuf_c,
           too_little_room_is_a_clean_failure)
