/* The HTTP server's responses: the table of receivers/otlp/README.md, row by row. */
#include "receivers/otlp/otlp.h"

#include "lib/wire/http/status.h"
#include "tests/support/proto_build.h"
#include "tests/support/receiver_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component receiver_otlp;
const struct component *const component_table[] = {&receiver_otlp, &scripted_keeper, NULL};

#define PROTO        "Content-Type: application/x-protobuf\r\n"
#define JSON         "Content-Type: application/json\r\n"
#define GZIP         "Content-Encoding: gzip\r\n"
#define HTTP(keys)   "receivers: {otlp: {protocols: {http: {endpoint: 'unix:%s/http'" keys "}}}}\n"
#define KEEPER(keys) "exporters: {keeper: {" keys "}}\n"
#define WAITING      "sending_queue: {enabled: false}, retry_on_failure: {enabled: false}"
#define TRACES       "service: {pipelines: {traces: {receivers: [otlp], exporters: [keeper]}}}\n"
#define ALL                                                                                        \
    "service:\n  pipelines:\n"                                                                     \
    "    traces: {receivers: [otlp], exporters: [keeper]}\n"                                       \
    "    metrics: {receivers: [otlp], exporters: [keeper]}\n"                                      \
    "    logs: {receivers: [otlp], exporters: [keeper]}\n"                                         \
    "    profiles: {receivers: [otlp], exporters: [keeper]}\n"

static uint64_t counted(enum meter_count what)
{
    return meter_get(given_meter(&given, "otlp"), what, SIGNAL_TRACES);
}

static struct view spans(unsigned count)
{
    struct view list[16];
    for (unsigned i = 0; i < count; i++)
        list[i] = PB_SPAN(PB_TEXT(5, "work"));
    return PB_MESSAGE(1, pb_message(2, list, count));
}

/* A span without a trace id between two valid ones. */
static struct view mixed_spans(void)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "one")),
                                    PB_MESSAGE(2, pb_fill(2, 8, 0xb2), PB_TEXT(5, "bad")),
                                    PB_SPAN(PB_TEXT(5, "two"))));
}

#define JSON_SPAN(trace_id)                                                                        \
    "{\"traceId\":\"" trace_id "\",\"spanId\":\"00f067aa0ba902b7\",\"name\":\"x\"}"
#define JSON_SPANS(list) "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[" list "]}]}]}"
#define GOOD_TRACE       "4bf92f3577b34da6a3ce929d0e0e4736"

static void assert_status_body(enum grpc_code expected, const char *words)
{
    char text[256];
    int code;
    bool has_retry_info;
    uint64_t wait;
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/x-protobuf"));
    ck_assert(
        rpc_status_decode(answer_body(&answer), &code, text, sizeof text, &has_retry_info, &wait));
    ck_assert_int_eq(code, expected);
    ck_assert_msg(strstr(text, words), "%s", text);
    ck_assert_int_eq(has_retry_info, expected == GRPC_UNAVAILABLE);
}

static void assert_json_body(const char *words)
{
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/json"));
    ck_assert_int_eq(answer.body[0], '{');
    ck_assert_msg(strstr(answer.body, words), "%s", answer.body);
}

START_TEST(accepted_protobuf_goes_on_as_it_came_and_is_answered_empty)
{
    rig_begin(HTTP() KEEPER() TRACES);
    struct view body = spans(3);
    receiver_post(fd, "/v1/traces", PROTO, body, 200, &answer);
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/x-protobuf"));
    ck_assert_uint_eq(answer.size, 0);
    const struct batch *batch = keeper_batch(0);
    ck_assert(view_eq(buffer_view(batch->payload), body));
    ck_assert_uint_eq(batch->items, 3);
    ck_assert_ptr_null(batch->metadata);
    ck_assert_uint_eq(counted(METER_ACCEPTED), 3);
    rig_end();
}
END_TEST

START_TEST(accepted_json_is_answered_in_json)
{
    rig_begin(HTTP() KEEPER() TRACES);
    receiver_post(fd, "/v1/traces", "content-type: Application/JSON; charset=utf-8\r\n",
                  VIEW(JSON_SPANS(JSON_SPAN(GOOD_TRACE))), 200, &answer);
    ck_assert_str_eq(answer.body, "{\"partialSuccess\":{}}");
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/json"));
    ck_assert_uint_eq(keeper_batch(0)->items, 1);
    rig_end();
}
END_TEST

START_TEST(compressed_bodies_are_read)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    struct bytes zstd;
    bytes_init(&zstd, 1 << 16, NULL);
    ck_assert(deflate_append(ENCODING_ZSTD, spans(1), &zstd));
    receiver_post(fd, "/v1/traces", PROTO GZIP, receiver_gzip(spans(2)), 200, &answer);
    receiver_post(fd, "/v1/traces", PROTO "Content-Encoding: zstd\r\n", bytes_view(&zstd), 200,
                  &answer);
    receiver_post_chunked(fd, "/v1/traces", PROTO GZIP, receiver_gzip(spans(3)), 200, &answer);
    ck_assert_uint_eq(keeper_batch(0)->items, 2);
    ck_assert_uint_eq(keeper_batch(1)->items, 1);
    ck_assert_uint_eq(keeper_batch(2)->items, 3);
    bytes_release(&zstd);
    rig_end();
}
END_TEST

START_TEST(a_request_without_items_is_a_success_that_goes_nowhere)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    receiver_post(fd, "/v1/traces", PROTO, VIEW(""), 200, &answer);
    receiver_post(fd, "/v1/traces", PROTO, PB_MESSAGE(1, PB_EMPTY(2)), 200, &answer);
    receiver_post(fd, "/v1/traces", JSON, VIEW("{}"), 200, &answer);
    ck_assert_str_eq(answer.body, "{\"partialSuccess\":{}}");
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(spans_without_good_ids_are_left_out_and_told_of)
{
    rig_begin(HTTP() KEEPER() TRACES);
    uint64_t rejected;
    char text[128];
    receiver_post(fd, "/v1/traces", PROTO, mixed_spans(), 200, &answer);
    ck_assert(export_response_decode(answer_body(&answer), &rejected, text, sizeof text));
    ck_assert_uint_eq(rejected, 1);
    ck_assert_msg(strstr(text, "trace id"), "%s", text);
    const struct batch *batch = keeper_batch(0);
    ck_assert_uint_eq(batch->items, 2);
    ck_assert_ptr_null(memmem(batch->payload->data, batch->payload->size, "bad", 3));
    ck_assert_uint_eq(counted(METER_ACCEPTED), 2);
    ck_assert_uint_eq(counted(METER_REFUSED), 1);
    rig_end();
}
END_TEST

START_TEST(a_partial_success_in_json_has_the_signals_own_field)
{
    rig_begin(HTTP() KEEPER() TRACES);
    receiver_post(fd, "/v1/traces", JSON,
                  VIEW(JSON_SPANS(JSON_SPAN("") "," JSON_SPAN(GOOD_TRACE) "," JSON_SPAN(
                      "00000000000000000000000000000000"))),
                  200, &answer);
    assert_json_body("\"rejectedSpans\":\"2\"");
    assert_json_body("\"errorMessage\":\"");
    ck_assert_uint_eq(keeper_batch(0)->items, 1);
    rig_end();
}
END_TEST

START_TEST(where_no_span_has_good_ids_nothing_goes_on)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    uint64_t rejected;
    char text[128];
    receiver_post(fd, "/v1/traces", PROTO,
                  PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_TEXT(5, "bad")),
                                           PB_MESSAGE(2, pb_fill(1, 16, 0), pb_fill(2, 8, 1)))),
                  200, &answer);
    ck_assert(export_response_decode(answer_body(&answer), &rejected, text, sizeof text));
    ck_assert_uint_eq(rejected, 2);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(what_a_waited_for_backend_left_out_is_told_too)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    struct outcome partial = {.verdict = VERDICT_OK, .rejected = 1, .text = "too old"};
    uint64_t rejected;
    char text[128];
    keeper_answers(&partial);
    receiver_post(fd, "/v1/traces", PROTO, spans(3), 200, &answer);
    ck_assert(export_response_decode(answer_body(&answer), &rejected, text, sizeof text));
    ck_assert_uint_eq(rejected, 1);
    ck_assert_str_eq(text, "too old");
    receiver_post(fd, "/v1/traces", PROTO, mixed_spans(), 200, &answer);
    ck_assert(export_response_decode(answer_body(&answer), &rejected, text, sizeof text));
    ck_assert_uint_eq(rejected, 2);
    close(fd);
    given_stop(&given);
}
END_TEST

START_TEST(malformed_bodies_are_400_at_any_depth)
{
    static const uint8_t cut[] = {0x0a, 0x7f, 0x01};
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    receiver_post(fd, "/v1/traces", PROTO, (struct view){cut, sizeof cut}, 400, &answer);
    assert_status_body(GRPC_INVALID_ARGUMENT, "malformed protobuf");
    /* A valid span, then one whose attribute value is truncated. */
    struct view deep = PB_SPAN(PB_MESSAGE(9, PB_TEXT(1, "k"), PB_MESSAGE(2, PB_RAW(0x0a, 9, 'x'))));
    receiver_post(fd, "/v1/traces", PROTO, PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_EMPTY(5)), deep)),
                  400, &answer);
    assert_status_body(GRPC_INVALID_ARGUMENT, "malformed protobuf");
    receiver_post(fd, "/v1/traces", JSON, VIEW("{\"resourceSpans\":[{"), 400, &answer);
    assert_json_body("\"code\":3");
    receiver_post(fd, "/v1/traces", JSON, VIEW("{\"resourceSpans\":[{\"schemaUrl\":\"\xff\"}]}"),
                  400, &answer);
    assert_json_body("malformed JSON");
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(unknown_and_broken_compression_is_400)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    receiver_post(fd, "/v1/traces", PROTO "Content-Encoding: br\r\n", spans(1), 400, &answer);
    assert_status_body(GRPC_INVALID_ARGUMENT, "\"br\", expected gzip, zstd, zlib,");
    receiver_post(fd, "/v1/traces", JSON GZIP, VIEW("no gzip"), 400, &answer);
    assert_json_body("not valid gzip");
    struct view whole = receiver_gzip(spans(1));
    receiver_post(fd, "/v1/traces", PROTO GZIP, (struct view){whole.data, whole.size - 1}, 400,
                  &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(too_large_is_413_before_and_after_decompression)
{
    rig_begin(HTTP(", max_request_body_size: 2000") KEEPER(WAITING) TRACES);
    struct view large = PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(pb_fill(5, 3000, 'x'))));
    receiver_post(fd, "/v1/traces", PROTO, large, 413, &answer);
    assert_status_body(GRPC_RESOURCE_EXHAUSTED, "2000 bytes");
    close(fd);
    fd = receiver_connect("http");
    ck_assert_uint_lt(receiver_gzip(large).size, 200);
    receiver_post(fd, "/v1/traces", PROTO GZIP, receiver_gzip(large), 413, &answer);
    assert_status_body(GRPC_RESOURCE_EXHAUSTED, "after decompression");
    receiver_post(fd, "/v1/traces", JSON GZIP, receiver_gzip(large), 413, &answer);
    assert_json_body("\"code\":8");
    receiver_post(fd, "/v1/traces", PROTO, spans(1), 200, &answer);
    rig_end();
}
END_TEST

START_TEST(wrong_media_types_are_415_and_say_what_is_read)
{
    rig_begin(HTTP() KEEPER(WAITING) ALL);
    receiver_post(fd, "/v1/traces", "Content-Type: text/plain\r\n", spans(1), 415, &answer);
    assert_json_body("[application/json, application/x-protobuf]");
    receiver_post(fd, "/v1/traces", "", spans(1), 415, &answer);
    receiver_post(fd, "/v1/traces", "Content-Type: application/json2\r\n", VIEW("{}"), 415,
                  &answer);
    receiver_post(fd, "/v1development/profiles", "Content-Type: text/plain\r\n", VIEW("{}"), 415,
                  &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(wrong_methods_are_405)
{
    rig_begin(HTTP() KEEPER() TRACES);
    raw_exchange(fd, "GET /v1/traces HTTP/1.1\r\nHost: x\r\n\r\n", 405, &answer);
    ck_assert(answer_has(&answer, "\r\nAllow: POST"));
    ck_assert_str_eq(answer.body, "405 method not allowed, supported: [POST]");
    rig_end();
}
END_TEST

START_TEST(unknown_paths_and_signals_without_a_pipeline_are_404)
{
    static const char *const paths[] = {"/v1/metrics", "/v1/logs", "/v1development/profiles",
                                        "/v1/traces/", "/",        "/v1/Traces"};
    rig_begin(HTTP() KEEPER() TRACES);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        receiver_post(fd, paths[i], PROTO, VIEW(""), 404, &answer);
    rig_end();
}
END_TEST

START_TEST(paths_are_configurable_and_get_their_slash)
{
    rig_begin(HTTP(", traces_url_path: t/r, logs_url_path: /l") KEEPER() ALL);
    receiver_post(fd, "/t/r", PROTO, spans(1), 200, &answer);
    receiver_post(fd, "/l", PROTO, VIEW(""), 200, &answer);
    receiver_post(fd, "/v1/metrics", PROTO, VIEW(""), 200, &answer);
    receiver_post(fd, "/v1/traces", PROTO, spans(1), 404, &answer);
    rig_end();
}
END_TEST

START_TEST(every_signal_with_a_pipeline_passes_in_wire_form)
{
    static const char *const paths[] = {[SIGNAL_METRICS] = "/v1/metrics",
                                        [SIGNAL_LOGS] = "/v1/logs",
                                        [SIGNAL_PROFILES] = "/v1development/profiles"};
    /* A sum of two points, two log records, one profile. */
    struct view bodies[SIGNAL_COUNT] = {
        [SIGNAL_METRICS] = PB_MESSAGE(
            1,
            PB_MESSAGE(2, PB_MESSAGE(2, PB_TEXT(1, "m"), PB_MESSAGE(7, PB_EMPTY(1), PB_EMPTY(1))))),
        [SIGNAL_LOGS] = PB_MESSAGE(1, PB_MESSAGE(2, PB_EMPTY(2), PB_EMPTY(2))),
        [SIGNAL_PROFILES] = PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, pb_fixed64(3, 1)))),
    };
    static const uint32_t items[] = {
        [SIGNAL_METRICS] = 2, [SIGNAL_LOGS] = 2, [SIGNAL_PROFILES] = 1};
    rig_begin(HTTP() KEEPER(WAITING) ALL);
    for (int i = SIGNAL_METRICS; i < SIGNAL_COUNT; i++) {
        receiver_post(fd, paths[i], PROTO, bodies[i], 200, &answer);
        const struct batch *batch = keeper_batch((size_t)i - SIGNAL_METRICS);
        ck_assert_int_eq(batch->signal, i);
        ck_assert_uint_eq(batch->items, items[i]);
        ck_assert(view_eq(buffer_view(batch->payload), bodies[i]));
    }
    rig_end();
}
END_TEST

START_TEST(profiles_in_json_are_read_and_answered_in_json)
{
    rig_begin(HTTP() KEEPER(WAITING) ALL);
    receiver_post(
        fd, "/v1development/profiles", JSON,
        VIEW("{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"timeUnixNano\":"
             "\"1\"}]}]}],\"dictionary\":{\"stringTable\":[\"\"]}}"),
        200, &answer);
    ck_assert_str_eq(answer.body, "{\"partialSuccess\":{}}");
    ck_assert_int_eq(keeper_batch(0)->signal, SIGNAL_PROFILES);
    ck_assert_uint_eq(keeper_batch(0)->items, 1);
    receiver_post(fd, "/v1development/profiles", JSON, VIEW("{\"resourceProfiles\":1}"), 400,
                  &answer);
    assert_json_body("malformed JSON");
    rig_end();
}
END_TEST

START_TEST(profiles_with_broken_tables_are_400)
{
    rig_begin(HTTP() KEEPER(WAITING) ALL);
    struct view outside =
        PB_MESSAGE(2, pb_varint(1, 7)); /* a sample with stack 7, which does not exist */
    receiver_post(fd, "/v1development/profiles", PROTO,
                  PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, outside))), 400, &answer);
    assert_status_body(GRPC_INVALID_ARGUMENT, "malformed profiles");
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(backpressure_is_503_with_a_wait)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    struct outcome later = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "come back");
    later.retry_after_ns = 2500 * NS_PER_MS;
    keeper_answers(&later);
    receiver_post(fd, "/v1/traces", PROTO, spans(1), 503, &answer);
    ck_assert(answer_has(&answer, "\r\nRetry-After: 3\r\n"));
    assert_status_body(GRPC_UNAVAILABLE, "come back");
    later.retry_after_ns = 0;
    keeper_answers(&later);
    receiver_post(fd, "/v1/traces", JSON, VIEW(JSON_SPANS(JSON_SPAN(GOOD_TRACE))), 503, &answer);
    ck_assert(answer_has(&answer, "\r\nRetry-After: 1\r\n"));
    assert_json_body("\"code\":14");
    ck_assert_uint_eq(counted(METER_ACCEPTED), 0);
    ck_assert_uint_eq(counted(METER_REFUSED), 2);
    rig_end();
}
END_TEST

START_TEST(a_full_queue_refuses_and_loses_nothing_that_was_accepted)
{
    rig_begin(HTTP() KEEPER("sending_queue: {queue_size: 1, num_consumers: 1}") TRACES);
    keeper_gate(true);
    receiver_post(fd, "/v1/traces", PROTO, spans(2), 200, &answer);
    receiver_post(fd, "/v1/traces", PROTO, spans(1), 503, &answer);
    assert_status_body(GRPC_UNAVAILABLE, "queue of keeper is full");
    keeper_gate(false);
    ck_assert_uint_eq(keeper_batch(0)->items, 2);
    rig_end();
    ck_assert_uint_eq(keeper_count(), 1);
}
END_TEST

START_TEST(a_refusal_for_good_is_what_a_waiting_client_is_told)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    struct outcome outcome = outcome_of(VERDICT_REJECT, CAUSE_AUTH, "who are you");
    keeper_answers(&outcome);
    receiver_post(fd, "/v1/traces", PROTO, spans(1), 401, &answer);
    assert_status_body(GRPC_UNAUTHENTICATED, "who are you");
    ck_assert(!answer_has(&answer, "Retry-After"));
    rig_end();
}
END_TEST

START_TEST(metadata_are_sent_on_exactly_and_only_where_configured)
{
    rig_begin(HTTP(", include_metadata: true") KEEPER(WAITING) TRACES);
    receiver_post(fd, "/v1/traces",
                  PROTO "X-Scope-OrgID: a\r\nAuthorization: Basic eA==\r\nX-Other: o\r\n", spans(1),
                  200, &answer);
    receiver_post(fd, "/v1/traces", PROTO "x-scope-orgid: b\r\n", spans(1), 200, &answer);
    receiver_post(fd, "/v1/traces", PROTO, spans(1), 200, &answer);
    ck_assert_str_eq(keeper_batch(0)->metadata->tenant, "a");
    ck_assert_str_eq(keeper_batch(0)->metadata->authorization, "Basic eA==");
    ck_assert_str_eq(keeper_batch(1)->metadata->tenant, "b");
    ck_assert_ptr_null(keeper_batch(1)->metadata->authorization);
    ck_assert_ptr_null(keeper_batch(2)->metadata);
    rig_end();
}
END_TEST

START_TEST(metadata_stay_here_by_default)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    receiver_post(fd, "/v1/traces", PROTO "X-Scope-OrgID: a\r\nAuthorization: b\r\n", spans(1), 200,
                  &answer);
    ck_assert_ptr_null(keeper_batch(0)->metadata);
    rig_end();
}
END_TEST

START_TEST(recorded_traffic_of_sdks_is_accepted_whole)
{
    rig_begin(HTTP() KEEPER(WAITING) TRACES);
    receiver_post(fd, "/v1/traces", PROTO,
                  receiver_recorded(SOURCE_DIR "/tests/recorded/python/001-5.282-traces.bin"), 200,
                  &answer);
    ck_assert_uint_eq(answer.size, 0);
    receiver_post(fd, "/v1/traces", PROTO,
                  receiver_recorded(SOURCE_DIR "/tests/recorded/go/001-5.007-traces.bin"), 200,
                  &answer);
    ck_assert_uint_eq(answer.size, 0);
    ck_assert_uint_gt(keeper_batch(0)->items, 10);
    ck_assert_uint_gt(keeper_batch(1)->items, 10);
    rig_end();
}
END_TEST

START_TEST(a_receiver_without_an_endpoint_or_with_a_bad_address_is_refused)
{
    char *faults = given_faults("receivers: {otlp: }\n" KEEPER() TRACES);
    ck_assert_msg(strstr(faults, "at least one protocol"), "%s", faults);
    free(faults);
    faults = given_faults("receivers: {otlp: {protocols: {http: {endpoint: 'localhost'}, "
                          "grpc: {endpoint: 'x:y'}}}}\n" KEEPER() TRACES);
    ck_assert_msg(strstr(faults, "receivers.otlp.protocols.http.endpoint: "), "%s", faults);
    ck_assert_msg(strstr(faults, "receivers.otlp.protocols.grpc.endpoint: "), "%s", faults);
    free(faults);
}
END_TEST

SUITE_MAIN("otlp_http_door", accepted_protobuf_goes_on_as_it_came_and_is_answered_empty,
           accepted_json_is_answered_in_json, compressed_bodies_are_read,
           a_request_without_items_is_a_success_that_goes_nowhere,
           spans_without_good_ids_are_left_out_and_told_of,
           a_partial_success_in_json_has_the_signals_own_field,
           where_no_span_has_good_ids_nothing_goes_on,
           what_a_waited_for_backend_left_out_is_told_too, malformed_bodies_are_400_at_any_depth,
           unknown_and_broken_compression_is_400, too_large_is_413_before_and_after_decompression,
           wrong_media_types_are_415_and_say_what_is_read, wrong_methods_are_405,
           unknown_paths_and_signals_without_a_pipeline_are_404,
           paths_are_configurable_and_get_their_slash,
           every_signal_with_a_pipeline_passes_in_wire_form,
           profiles_in_json_are_read_and_answered_in_json, profiles_with_broken_tables_are_400,
           backpressure_is_503_with_a_wait,
           a_full_queue_refuses_and_loses_nothing_that_was_accepted,
           a_refusal_for_good_is_what_a_waiting_client_is_told,
           metadata_are_sent_on_exactly_and_only_where_configured, metadata_stay_here_by_default,
           recorded_traffic_of_sdks_is_accepted_whole,
           a_receiver_without_an_endpoint_or_with_a_bad_address_is_refused)
