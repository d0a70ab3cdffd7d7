/* Refused requests are counted by signal and cause, and logged with the client's address. */
#include "receivers/otlp/otlp.h"

#include "lib/net/http/http_client.h"
#include "lib/wire/http/grpc_frame.h"
#include "tests/support/captured.h"
#include "tests/support/proto_build.h"
#include "tests/support/receiver_rig.h"
#include "tests/support/suite.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

extern const struct component receiver_otlp;
const struct component *const component_table[] = {&receiver_otlp, &scripted_keeper, NULL};

#define PROTO "Content-Type: application/x-protobuf\r\n"
#define RECEIVERS(keys)                                                                            \
    "receivers: {otlp: {protocols: {http: {endpoint: 'unix:%s/http', max_request_body_size: 2000}" \
    ", grpc: {endpoint: 'unix:%s/grpc', max_recv_msg_size_mib: 1}}}}\n"                            \
    "exporters: {keeper: {" keys "}}\n"                                                            \
    "service: {pipelines: {traces: {receivers: [otlp], exporters: [keeper]}}}\n"
#define SERVICE(name) "/opentelemetry.proto.collector." name "/Export"
#define TRACE_EXPORT  SERVICE("trace.v1.TraceService")

static struct http_reply reply;

static void begin(const char *yaml)
{
    captured_begin();
    rig_begin(yaml);
}

static void end(void)
{
    close(fd);
    given_stop(&given);
}

static uint64_t requests(enum admission_transport transport, int signal, enum cause cause)
{
    return admission_requests(given_meter(&given, "otlp")->admission, transport, signal, cause);
}

static uint64_t over_http(int signal, enum cause cause)
{
    return requests(ADMISSION_HTTP, signal, cause);
}

static uint64_t over_grpc(int signal, enum cause cause)
{
    return requests(ADMISSION_GRPC, signal, cause);
}

static const char *explained(void)
{
    static char text[8192];
    struct bytes out;
    bytes_init(&out, sizeof text - 1, NULL);
    runtime_explain(given.runtime, &out);
    snprintf(text, sizeof text, "%.*s", (int)out.size, (const char *)out.data);
    bytes_release(&out);
    return text;
}

static void call(const char *path, const char *encoding, struct view message, int code)
{
    char url[256], unix_path[128], error[192];
    uint8_t framed[4096];
    struct http_header headers[3] = {{"Content-Type", "application/grpc"}, {"TE", "trailers"}};
    size_t count = 2;
    if (encoding)
        headers[count++] = (struct http_header){"grpc-encoding", encoding};
    snprintf(unix_path, sizeof unix_path, "%s/grpc", receiver_folder());
    struct http_client_options options = {
        .http2 = true, .timeout_ns = 30 * NS_PER_S, .unix_path = unix_path, .max_reply = 1 << 16};
    struct http_client *client = http_client_new(&options, error, sizeof error);
    ck_assert_ptr_nonnull(client);
    grpc_frame_prefix(framed, encoding != NULL, (uint32_t)message.size);
    memcpy(framed + GRPC_PREFIX_SIZE, message.data, message.size);
    snprintf(url, sizeof url, "http://localhost%s", path);
    http_client_post(client, url, headers, count,
                     (struct view){framed, GRPC_PREFIX_SIZE + message.size}, &reply);
    ck_assert_msg(reply.grpc_status == code, "%d: %s", reply.grpc_status, reply.grpc_message);
    http_reply_release(&reply);
    http_client_free(client);
}

static struct view span(void)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "work"))));
}

START_TEST(a_path_of_pyroscope_is_sent_to_its_receiver)
{
    begin(RECEIVERS());
    receiver_post(fd, "/ingest?name=a", PROTO, span(), 404, &answer);
    ck_assert_uint_eq(captured_with("unknown path /ingest: point Pyroscope clients at the "
                                    "receiver pyroscope, usually port 4040 (over"),
                      1);
    end();
}
END_TEST

START_TEST(refusals_over_http_are_counted_by_signal_and_cause)
{
    static uint8_t large[2001];
    begin(RECEIVERS());
    receiver_post(fd, "/v1/traces", PROTO, VIEW("garbage"), 400, &answer);
    receiver_post(fd, "/v1/traces", PROTO "Content-Encoding: br\r\n", VIEW("x"), 400, &answer);
    receiver_post(fd, "/v1/traces", PROTO "Content-Encoding: gzip\r\n", VIEW("x"), 400, &answer);
    receiver_post(fd, "/v1/traces", "Content-Type: text/plain\r\n", VIEW("x"), 415, &answer);
    receiver_post(fd, "/v1/logs", PROTO, span(), 404, &answer);
    ck_assert_str_eq(answer.body, "no pipeline for logs uses this receiver\n");
    receiver_post(fd, "/v1/trace", PROTO, span(), 404, &answer);
    ck_assert_str_eq(answer.body, "404 page not found\n");
    raw_exchange(fd, "GET /v1/traces HTTP/1.1\r\nHost: a\r\n\r\n", 405, &answer);
    receiver_post(fd, "/v1/traces", PROTO, (struct view){large, sizeof large}, 413, &answer);
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_INVALID), 2);
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_ENCODING), 1);
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_UNSUPPORTED), 2);
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_TOO_LARGE), 1);
    ck_assert_uint_eq(over_http(SIGNAL_LOGS, CAUSE_NO_PIPELINE), 1);
    ck_assert_uint_eq(over_http(ADMISSION_NO_SIGNAL, CAUSE_UNSUPPORTED), 1);
    ck_assert_ptr_nonnull(strstr(explained(),
                                 "otlp: 6 requests of traces refused over HTTP (invalid "
                                 "2, too large 1, unsupported 2, encoding 1)\n"));
    ck_assert_uint_eq(captured_with("request refused:"), 8);
    ck_assert_uint_eq(captured_with("refused: unsupported: unknown path /v1/trace"), 1);
    ck_assert_uint_eq(captured_with("refused: unsupported: unsupported media type"), 1);
    ck_assert_uint_eq(captured_with("refused: unsupported: 405 method not allowed"), 1);
    ck_assert_uint_eq(
        captured_with("otlp: 1 request refused: no pipeline: no pipeline for logs uses "
                      "this receiver (logs over HTTP from a unix socket)"),
        1);
    end();
}
END_TEST

START_TEST(refusals_over_grpc_are_counted_by_signal_and_cause)
{
    begin(RECEIVERS());
    call(TRACE_EXPORT, NULL, VIEW("garbage"), GRPC_INVALID_ARGUMENT);
    call(TRACE_EXPORT, "br", VIEW("x"), GRPC_UNIMPLEMENTED);
    call(TRACE_EXPORT, "gzip", VIEW("x"), GRPC_INVALID_ARGUMENT);
    call(SERVICE("logs.v1.LogsService"), NULL, VIEW("x"), GRPC_UNIMPLEMENTED);
    call("/other.Service/Export", NULL, VIEW("x"), GRPC_UNIMPLEMENTED);
    ck_assert_uint_eq(over_grpc(SIGNAL_TRACES, CAUSE_INVALID), 2);
    ck_assert_uint_eq(over_grpc(SIGNAL_TRACES, CAUSE_ENCODING), 1);
    ck_assert_uint_eq(over_grpc(SIGNAL_LOGS, CAUSE_NO_PIPELINE), 1);
    ck_assert_uint_eq(over_grpc(ADMISSION_NO_SIGNAL, CAUSE_UNSUPPORTED), 1);
    ck_assert_uint_eq(captured_with("otlp: 1 request refused: encoding: grpc-encoding br is not "
                                    "supported (traces over gRPC from a unix socket)"),
                      1);
    end();
}
END_TEST

START_TEST(a_service_without_a_pipeline_names_its_signal)
{
    begin(RECEIVERS());
    char url[256], unix_path[128], error[192];
    snprintf(unix_path, sizeof unix_path, "%s/grpc", receiver_folder());
    struct http_client_options options = {
        .http2 = true, .timeout_ns = 30 * NS_PER_S, .unix_path = unix_path, .max_reply = 1 << 16};
    struct http_client *client = http_client_new(&options, error, sizeof error);
    const struct http_header headers[] = {{"Content-Type", "application/grpc"}};
    snprintf(url, sizeof url, "http://localhost%s", SERVICE("metrics.v1.MetricsService"));
    http_client_post(client, url, headers, 1, VIEW("\0\0\0\0\0"), &reply);
    ck_assert_int_eq(reply.grpc_status, GRPC_UNIMPLEMENTED);
    ck_assert_str_eq(reply.grpc_message, "no pipeline for metrics uses this receiver");
    http_reply_release(&reply);
    http_client_free(client);
    end();
}
END_TEST

START_TEST(a_full_queue_is_counted_with_its_items)
{
    begin(RECEIVERS("sending_queue: {queue_size: 1, num_consumers: 1}"));
    keeper_gate(true);
    receiver_post(fd, "/v1/traces", PROTO, span(), 200, &answer);
    receiver_post(fd, "/v1/traces", PROTO, span(), 503, &answer);
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_FULL), 1);
    const struct meter *meter = given_meter(&given, "otlp");
    ck_assert_uint_eq(admission_items(meter->admission, ADMISSION_HTTP, SIGNAL_TRACES, CAUSE_FULL),
                      1);
    ck_assert_uint_eq(admission_accepted(meter->admission, ADMISSION_HTTP, SIGNAL_TRACES), 1);
    ck_assert_ptr_nonnull(
        strstr(explained(), "otlp: spans received 2, accepted 1, refused 1 (queue full 1)\n"));
    ck_assert_uint_eq(captured_with("otlp: 1 request told to retry: queue full: sending queue of "
                                    "keeper is full (traces over HTTP"),
                      1);
    keeper_gate(false);
    end();
}
END_TEST

START_TEST(used_up_memory_is_counted)
{
    begin(RECEIVERS());
    struct budget *budget = &given.runtime->budget;
    size_t all = budget->limit;
    budget_force(budget, all);
    receiver_post(fd, "/v1/traces", PROTO, span(), 503, &answer);
    call(TRACE_EXPORT, NULL, span(), GRPC_UNAVAILABLE);
    budget_give(budget, all);
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_MEMORY), 1);
    ck_assert_uint_eq(
        over_grpc(SIGNAL_TRACES, CAUSE_MEMORY) + over_grpc(ADMISSION_NO_SIGNAL, CAUSE_MEMORY), 1);
    end();
}
END_TEST

START_TEST(what_is_no_http_is_counted)
{
    begin(RECEIVERS());
    raw_send(fd, "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n"
                 "\r\n");
    raw_await_close(fd);
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_INVALID), 1);
    end();
}
END_TEST

static void await_signal(enum admission_transport transport, int signal, enum cause cause,
                         uint64_t n)
{
    while (requests(transport, signal, cause) < n)
        poll(NULL, 0, 2);
}

static void await_requests(enum admission_transport transport, enum cause cause, uint64_t n)
{
    await_signal(transport, ADMISSION_NO_SIGNAL, cause, n);
}

/* A line follows its counter. */
static void await_line(const char *text)
{
    while (captured_with(text) == 0)
        poll(NULL, 0, 2);
}

static size_t say(const char *port, struct view bytes, char *heard, size_t size)
{
    size_t n = 0;
    int socket = receiver_connect(port);
    raw_send_bytes(socket, bytes.data, bytes.size);
    for (ssize_t got; n < size && (got = recv(socket, heard + n, size - n, 0)) > 0;)
        n += (size_t)got;
    close(socket);
    return n;
}

#define PREFACE VIEW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
#define HELLO   VIEW("\x16\x03\x01\0\x7b\1\0\0\x77\x03\x03")

static void send_and_leave(const char *port, struct view bytes)
{
    char rest[64];
    int socket = receiver_connect(port);
    raw_send_bytes(socket, bytes.data, bytes.size);
    shutdown(socket, SHUT_WR);
    while (recv(socket, rest, sizeof rest, 0) > 0) {
    }
    close(socket);
}

/* Header fields of an export: indexed :method and :scheme, then literal :authority, :path and
 * content-type. */
#define FIELDS                                                                                     \
    "\x83\x86\x01\x01"                                                                             \
    "a\x04\x3b" TRACE_EXPORT "\x0f\x10\x10"                                                        \
    "application/grpc"

START_TEST(a_client_that_leaves_in_the_middle_of_its_request_is_counted)
{
    begin(RECEIVERS());
    ck_assert_uint_eq(strlen(TRACE_EXPORT), 0x3b);
    send_and_leave("http", VIEW("POST /v1/traces HTTP/1.1\r\nHost: a\r\n" PROTO
                                "Content-Length: 100\r\n\r\n0123456789"));
    await_signal(ADMISSION_HTTP, SIGNAL_TRACES, CAUSE_INCOMPLETE, 1);
    await_line("otlp: 1 request refused: incomplete: the client left after 10 bytes of its body "
               "(traces over HTTP");
    send_and_leave("grpc", VIEW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
                                "\0\0\x55\1\4\0\0\0\1" FIELDS "\0\0\x0a\0\0\0\0\0\1"
                                "\0\0\0\0\x64"
                                "01234"));
    await_signal(ADMISSION_GRPC, SIGNAL_TRACES, CAUSE_INCOMPLETE, 1);
    receiver_post(fd, "/v1/traces", PROTO, span(), 200, &answer);
    close(receiver_connect("http"));
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_INCOMPLETE), 1);
    end();
}
END_TEST

START_TEST(grpc_at_the_http_port_is_told_where_it_belongs)
{
    char heard[512], want[200];
    begin(RECEIVERS());
    size_t n = say("http", PREFACE, heard, sizeof heard - 1);
    ck_assert_uint_eq(over_http(ADMISSION_NO_SIGNAL, CAUSE_UNSUPPORTED), 1);
    snprintf(want, sizeof want, "point it at unix:%s/grpc, protocols.grpc", receiver_folder());
    ck_assert_uint_eq(captured_with("otlp: 1 request refused: unsupported: a gRPC client (HTTP/2) "
                                    "on the HTTP socket "),
                      1);
    ck_assert_uint_eq(captured_with(want), 1);
    /* No frame: after one, gRPC clients reconnect without backoff. */
    ck_assert_mem_eq(heard, "HTTP/1.1 400", 12);
    ck_assert_ptr_nonnull(memmem(heard, n, want, strlen(want)));
    end();
}
END_TEST

START_TEST(tls_at_a_cleartext_port_is_told)
{
    char heard[512];
    begin(RECEIVERS());
    ck_assert_uint_gt(say("http", HELLO, heard, sizeof heard), 0);
    ck_assert_mem_eq(heard, "HTTP/1.1 400", 12);
    ck_assert_uint_eq(over_http(ADMISSION_NO_SIGNAL, CAUSE_TLS), 1);
    ck_assert_uint_gt(say("grpc", HELLO, heard, sizeof heard), 0);
    ck_assert_uint_eq(over_grpc(ADMISSION_NO_SIGNAL, CAUSE_TLS), 1);
    ck_assert_uint_eq(captured_with("otlp: 1 request refused: TLS failed: a TLS client (https) on "
                                    "the cleartext HTTP socket "),
                      1);
    end();
}
END_TEST

START_TEST(http_1_at_the_grpc_port_is_told_where_it_belongs)
{
    char heard[512];
    begin(RECEIVERS());
    say("grpc", VIEW("POST /v1/traces HTTP/1.1\r\nHost: a\r\n\r\n"), heard, sizeof heard);
    ck_assert_mem_eq(heard, "HTTP/1.1 400", 12);
    ck_assert_uint_eq(over_grpc(ADMISSION_NO_SIGNAL, CAUSE_UNSUPPORTED), 1);
    ck_assert_uint_eq(captured_with("/http, protocols.http (over gRPC from a unix socket)"), 1);
    end();
}
END_TEST

START_TEST(garbage_for_a_request_line_is_counted_and_a_probe_is_not)
{
    char heard[512];
    begin(RECEIVERS());
    close(receiver_connect("http"));
    say("http", VIEW("GARBAGE\r\n\r\n"), heard, sizeof heard);
    await_requests(ADMISSION_HTTP, CAUSE_INVALID, 1);
    say("http", VIEW("\1\2\3\r\n\r\n"), heard, sizeof heard);
    await_requests(ADMISSION_HTTP, CAUSE_UNSUPPORTED, 1);
    say("grpc", VIEW("\1\2\3"), heard, sizeof heard);
    await_requests(ADMISSION_GRPC, CAUSE_UNSUPPORTED, 1);
    receiver_post(fd, "/v1/traces", PROTO, span(), 200, &answer);
    ck_assert_uint_eq(over_http(ADMISSION_NO_SIGNAL, CAUSE_INVALID), 1);
    end();
}
END_TEST

START_TEST(spans_left_out_are_told_and_no_request_is_refused)
{
    begin(RECEIVERS());
    receiver_post(fd, "/v1/traces", PROTO,
                  PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "one")),
                                           PB_MESSAGE(2, pb_fill(2, 8, 0xb2), PB_TEXT(5, "bad")))),
                  200, &answer);
    ck_assert_uint_eq(over_http(SIGNAL_TRACES, CAUSE_INVALID), 0);
    ck_assert_ptr_nonnull(
        strstr(explained(), "otlp: spans received 2, accepted 1, refused 1 (invalid 1)"));
    ck_assert_uint_eq(captured_with("otlp: 1 request taken in part: invalid: "), 1);
    end();
}
END_TEST

SUITE_MAIN("refused", a_path_of_pyroscope_is_sent_to_its_receiver,
           refusals_over_http_are_counted_by_signal_and_cause,
           refusals_over_grpc_are_counted_by_signal_and_cause,
           a_service_without_a_pipeline_names_its_signal, a_full_queue_is_counted_with_its_items,
           used_up_memory_is_counted, what_is_no_http_is_counted,
           a_client_that_leaves_in_the_middle_of_its_request_is_counted,
           grpc_at_the_http_port_is_told_where_it_belongs, tls_at_a_cleartext_port_is_told,
           http_1_at_the_grpc_port_is_told_where_it_belongs,
           garbage_for_a_request_line_is_counted_and_a_probe_is_not,
           spans_left_out_are_told_and_no_request_is_refused)
