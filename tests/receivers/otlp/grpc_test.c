/* The gRPC server's responses: the table of receivers/otlp/README.md, row by row. */
#include "receivers/otlp/otlp.h"

#include "lib/net/http/http_client.h"
#include "lib/wire/codec/compress.h"
#include "lib/wire/http/grpc_frame.h"
#include "lib/wire/http/status.h"
#include "tests/support/forever.h"
#include "tests/support/keeper.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component receiver_otlp;
const struct component *const component_table[] = {&receiver_otlp, &scripted_keeper, NULL};

#define GRPC(keys)                                                                                 \
    "receivers: {otlp: {protocols: {grpc: {endpoint: 'unix:%s/grpc'" keys "}}}}\n"                 \
    "exporters: {keeper: {sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}}\n"
#define TRACES "service: {pipelines: {traces: {receivers: [otlp], exporters: [keeper]}}}\n"
#define ALL                                                                                        \
    "service:\n  pipelines:\n"                                                                     \
    "    traces: {receivers: [otlp], exporters: [keeper]}\n"                                       \
    "    metrics: {receivers: [otlp], exporters: [keeper]}\n"                                      \
    "    logs: {receivers: [otlp], exporters: [keeper]}\n"                                         \
    "    profiles: {receivers: [otlp], exporters: [keeper]}\n"
#define SERVICE(name) "/opentelemetry.proto.collector." name "/Export"
#define TRACE_EXPORT  SERVICE("trace.v1.TraceService")

static struct given_runtime given;
static struct http_client *client;
static struct http_reply reply;

static void begin(const char *yaml)
{
    static char path[128]; /* borrowed by the client */
    char error[192];
    receiver_start(&given, yaml);
    snprintf(path, sizeof path, "%s/grpc", receiver_folder());
    struct http_client_options options = {
        .http2 = true, .timeout_ns = 30 * NS_PER_S, .unix_path = path, .max_reply = 1 << 16};
    client = http_client_new(&options, error, sizeof error);
    ck_assert_ptr_nonnull(client);
}

static void end(void)
{
    http_reply_release(&reply);
    http_client_free(client);
    ck_assert_uint_eq(given_stop(&given), 0);
}

static void call_framed(const char *path, const char *encoding, const char *tenant,
                        struct view framed, enum grpc_code code)
{
    char url[256];
    struct http_header headers[6] = {{"Content-Type", "application/grpc"}, {"TE", "trailers"}};
    size_t count = 2;
    if (encoding)
        headers[count++] = (struct http_header){"grpc-encoding", encoding};
    if (tenant)
        headers[count++] = (struct http_header){"X-Scope-OrgID", tenant};
    snprintf(url, sizeof url, "http://localhost%s", path);
    http_reply_release(&reply);
    http_client_post(client, url, headers, count, framed, &reply);
    ck_assert_msg(reply.status == 200, "%ld %s", reply.status, reply.error);
    ck_assert_msg(reply.grpc_status == (int)code, "%d: %s", reply.grpc_status, reply.grpc_message);
}

static void call(const char *path, const char *encoding, const char *tenant, struct view message,
                 enum grpc_code code)
{
    struct bytes framed;
    bytes_init(&framed, 64 << 20, NULL);
    uint8_t prefix[GRPC_PREFIX_SIZE];
    grpc_frame_prefix(prefix, encoding != NULL, (uint32_t)message.size);
    ck_assert_int_eq(bytes_append(&framed, prefix, sizeof prefix), BYTES_OK);
    ck_assert_int_eq(bytes_append_view(&framed, message), BYTES_OK);
    call_framed(path, encoding, tenant, bytes_view(&framed), code);
    bytes_release(&framed);
}

static struct view spans(unsigned count)
{
    struct view list[16];
    for (unsigned i = 0; i < count; i++)
        list[i] = PB_SPAN(PB_TEXT(5, "work"));
    return PB_MESSAGE(1, pb_message(2, list, count));
}

static uint64_t told_rejected(char *text, size_t size)
{
    struct view message;
    bool compressed;
    uint64_t rejected;
    ck_assert_int_eq(grpc_frame_read(bytes_view(&reply.body), &compressed, &message),
                     GRPC_FRAME_OK);
    ck_assert(export_response_decode(message, &rejected, text, size));
    return rejected;
}

static struct view packed(enum encoding_name encoding, struct view body)
{
    struct bytes out;
    bytes_init(&out, 1 << 20, NULL);
    ck_assert(deflate_append(encoding, body, &out));
    return forever(out);
}

START_TEST(accepted_requests_go_on_as_they_came)
{
    char text[64];
    begin(GRPC() TRACES);
    struct view body = spans(3);
    call(TRACE_EXPORT, NULL, NULL, body, GRPC_OK);
    ck_assert_uint_eq(told_rejected(text, sizeof text), 0);
    ck_assert_str_eq(text, "");
    call(TRACE_EXPORT, "gzip", NULL, receiver_gzip(body), GRPC_OK);
    call(TRACE_EXPORT, "snappy", NULL, packed(ENCODING_SNAPPY_FRAMED, body), GRPC_OK);
    call(TRACE_EXPORT, "deflate", NULL, packed(ENCODING_DEFLATE, body), GRPC_OK);
    for (size_t i = 0; i < 4; i++) {
        ck_assert(view_eq(buffer_view(keeper_batch(i)->payload), body));
        ck_assert_uint_eq(keeper_batch(i)->items, 3);
    }
    end();
}
END_TEST

START_TEST(a_request_without_items_is_ok_and_goes_nowhere)
{
    begin(GRPC() TRACES);
    call(TRACE_EXPORT, NULL, NULL, VIEW(""), GRPC_OK);
    ck_assert_uint_eq(keeper_count(), 0);
    end();
}
END_TEST

START_TEST(spans_without_good_ids_are_left_out_and_told_of)
{
    char text[128];
    begin(GRPC() TRACES);
    call(TRACE_EXPORT, NULL, NULL,
         PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "one")),
                                  PB_MESSAGE(2, pb_fill(1, 16, 1), pb_fill(2, 7, 2)))),
         GRPC_OK);
    ck_assert_uint_eq(told_rejected(text, sizeof text), 1);
    ck_assert_msg(strstr(text, "span id"), "%s", text);
    ck_assert_uint_eq(keeper_batch(0)->items, 1);
    end();
}
END_TEST

START_TEST(malformed_messages_are_invalid_argument)
{
    begin(GRPC() TRACES);
    call(TRACE_EXPORT, NULL, NULL, VIEW("\x0a\x7f\x01"), GRPC_INVALID_ARGUMENT);
    ck_assert_msg(strstr(reply.grpc_message, "malformed protobuf"), "%s", reply.grpc_message);
    call(TRACE_EXPORT, "gzip", NULL, VIEW("no gzip"), GRPC_INVALID_ARGUMENT);
    call(TRACE_EXPORT, "br", NULL, spans(1), GRPC_UNIMPLEMENTED);
    ck_assert_uint_eq(keeper_count(), 0);
    end();
}
END_TEST

START_TEST(too_large_is_resource_exhausted_without_retry_info)
{
    char text[128];
    int code;
    bool has_retry_info = false;
    uint64_t wait;
    begin(GRPC(", max_recv_msg_size_mib: 1") TRACES);
    struct view large = PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(pb_fill(5, 2 << 20, 'x'))));
    call(TRACE_EXPORT, "gzip", NULL, receiver_gzip(large), GRPC_RESOURCE_EXHAUSTED);
    if (reply.grpc_details.size)
        rpc_status_decode(bytes_view(&reply.grpc_details), &code, text, sizeof text,
                          &has_retry_info, &wait);
    ck_assert(!has_retry_info);
    call(TRACE_EXPORT, NULL, NULL, spans(1), GRPC_OK);
    end();
}
END_TEST

START_TEST(backpressure_is_unavailable_with_retry_info)
{
    struct outcome later = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "come back");
    char text[128];
    int code;
    bool has_retry_info;
    uint64_t wait;
    begin(GRPC() TRACES);
    later.retry_after_ns = 3 * NS_PER_S;
    keeper_answers(&later);
    call(TRACE_EXPORT, NULL, NULL, spans(1), GRPC_UNAVAILABLE);
    ck_assert_str_eq(reply.grpc_message, "come back");
    ck_assert(rpc_status_decode(bytes_view(&reply.grpc_details), &code, text, sizeof text,
                                &has_retry_info, &wait));
    ck_assert_int_eq(code, GRPC_UNAVAILABLE);
    ck_assert(has_retry_info);
    ck_assert_uint_eq(wait, 3 * NS_PER_S);
    later.retry_after_ns = 0;
    keeper_answers(&later);
    call(TRACE_EXPORT, NULL, NULL, spans(1), GRPC_UNAVAILABLE);
    ck_assert(rpc_status_decode(bytes_view(&reply.grpc_details), &code, text, sizeof text,
                                &has_retry_info, &wait));
    ck_assert_uint_eq(wait, NS_PER_S);
    end();
}
END_TEST

START_TEST(every_signal_has_its_service_where_a_pipeline_has_it)
{
    begin(GRPC() ALL);
    call(SERVICE("metrics.v1.MetricsService"), NULL, NULL,
         PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(5, PB_EMPTY(1))))), GRPC_OK);
    call(SERVICE("logs.v1.LogsService"), NULL, NULL, PB_MESSAGE(1, PB_MESSAGE(2, PB_EMPTY(2))),
         GRPC_OK);
    call(SERVICE("profiles.v1development.ProfilesService"), NULL, NULL,
         PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, pb_fixed64(3, 1)))), GRPC_OK);
    ck_assert_int_eq(keeper_batch(0)->signal, SIGNAL_METRICS);
    ck_assert_int_eq(keeper_batch(1)->signal, SIGNAL_LOGS);
    ck_assert_int_eq(keeper_batch(2)->signal, SIGNAL_PROFILES);
    end();
}
END_TEST

START_TEST(services_without_a_pipeline_are_unimplemented)
{
    begin(GRPC() TRACES);
    call(SERVICE("logs.v1.LogsService"), NULL, NULL, VIEW(""), GRPC_UNIMPLEMENTED);
    call("/opentelemetry.proto.collector.trace.v1.TraceService/Other", NULL, NULL, VIEW(""),
         GRPC_UNIMPLEMENTED);
    end();
}
END_TEST

START_TEST(metadata_are_sent_on_call_by_call)
{
    begin(GRPC(", include_metadata: true") TRACES);
    call(TRACE_EXPORT, NULL, "a", spans(1), GRPC_OK);
    call(TRACE_EXPORT, NULL, NULL, spans(1), GRPC_OK);
    call(TRACE_EXPORT, NULL, "b", spans(1), GRPC_OK);
    ck_assert_str_eq(keeper_batch(0)->metadata->tenant, "a");
    ck_assert_ptr_null(keeper_batch(1)->metadata);
    ck_assert_str_eq(keeper_batch(2)->metadata->tenant, "b");
    end();
}
END_TEST

START_TEST(metadata_stay_here_by_default)
{
    begin(GRPC() TRACES);
    call(TRACE_EXPORT, NULL, "a", spans(1), GRPC_OK);
    ck_assert_ptr_null(keeper_batch(0)->metadata);
    end();
}
END_TEST

SUITE_MAIN("otlp_grpc_door", accepted_requests_go_on_as_they_came,
           a_request_without_items_is_ok_and_goes_nowhere,
           spans_without_good_ids_are_left_out_and_told_of, malformed_messages_are_invalid_argument,
           too_large_is_resource_exhausted_without_retry_info,
           backpressure_is_unavailable_with_retry_info,
           every_signal_has_its_service_where_a_pipeline_has_it,
           services_without_a_pipeline_are_unimplemented, metadata_are_sent_on_call_by_call,
           metadata_stay_here_by_default)
