/* Requests of the otlp_http exporter, and its handling of responses. */
#include "lib/wire/http/status.h"
#include "lib/wire/json/otlp_json.h"
#include "lib/wire/otlp/otlp.h"
#include "tests/support/backend.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"
#include "tests/support/tls_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component exporter_otlp_http;
const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &exporter_otlp_http, NULL};

#define EXPORTER(keys) "otlp_http: {endpoint: 'http://%s'" keys "}"

static struct given_exporter exporter;
static struct backend backend;

static void begin(const char *section)
{
    backend_start(&backend);
    exporter_start(&exporter, section, "traces", &backend);
}

static void end(void)
{
    exporter_stop(&exporter);
    backend_stop(&backend);
}

static struct view spans(void)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "work"))));
}

static struct outcome send_spans(void)
{
    return exporter_send(&exporter, otlp_batch_of(SIGNAL_TRACES, spans(), 1));
}

static struct outcome send_signal(enum signal signal)
{
    return exporter_send(&exporter, otlp_batch_of(signal, VIEW(""), 1));
}

START_TEST(protobuf_goes_as_it_is_in_every_compression)
{
    static const char *const words[] = {"gzip", "zstd",   "none",           "''", "zlib", "deflate",
                                        "lz4",  "snappy", "x-snappy-framed"};
    static const char *const codings[] = {
        "gzip", "zstd", "-", "-", "zlib", "deflate", "lz4", "snappy", "x-snappy-framed"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char section[128];
        snprintf(section, sizeof section, "otlp_http: {endpoint: 'http://%%s', compression: %s}",
                 words[i]);
        begin(section);
        ck_assert_int_eq(send_spans().verdict, VERDICT_OK);
        const struct backend_request *request = &backend.requests[0];
        ck_assert_str_eq(request->path, "/v1/traces");
        ck_assert_str_eq(request->content_type, "application/x-protobuf");
        ck_assert_str_eq(request->content_encoding, codings[i]);
        ck_assert(view_eq(request->body, spans()));
        end();
    }
}
END_TEST

START_TEST(gzip_is_the_default)
{
    begin(EXPORTER());
    send_spans();
    ck_assert_str_eq(backend.requests[0].content_encoding, "gzip");
    end();
}
END_TEST

START_TEST(json_means_the_same)
{
    struct bytes binary;
    char reason[128];
    begin(EXPORTER(", encoding: json"));
    send_spans();
    ck_assert_str_eq(backend.requests[0].content_type, "application/json");
    bytes_init(&binary, 1 << 20, NULL);
    ck_assert(
        otlp_json_read(SIGNAL_TRACES, backend.requests[0].body, &binary, reason, sizeof reason));
    ck_assert(otlp_reference_same(SIGNAL_TRACES, bytes_view(&binary), spans()));
    bytes_release(&binary);
    end();
}
END_TEST

START_TEST(paths_of_the_signals_are_added_to_the_endpoint)
{
    static const char *const paths[SIGNAL_COUNT] = {
        "/base/v1/traces", "/base/v1/metrics", "/base/v1/logs", "/base/v1development/profiles"};
    begin("otlp_http: {endpoint: 'http://%s/base//'}");
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        ck_assert_int_eq(send_signal((enum signal)i).verdict, VERDICT_OK);
        ck_assert_str_eq(backend.requests[i].path, paths[i]);
    }
    end();
}
END_TEST

START_TEST(a_signals_own_endpoint_is_used_as_it_is_and_wins)
{
    begin(
        "otlp_http: {traces_endpoint: 'http://%s/my/traces?x=1', endpoint: 'http://127.0.0.1:1'}");
    ck_assert_int_eq(send_spans().verdict, VERDICT_OK);
    ck_assert_str_eq(backend.requests[0].path, "/my/traces");
    ck_assert_str_eq(backend.requests[0].query, "x=1");
    ck_assert_int_eq(send_signal(SIGNAL_LOGS).verdict, VERDICT_RETRY);
    end();
}
END_TEST

START_TEST(a_signal_without_an_endpoint_is_refused_with_a_sentence)
{
    begin("otlp_http: {traces_endpoint: 'http://%s/t'}");
    struct outcome outcome = send_signal(SIGNAL_LOGS);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_str_eq(outcome.text, "no endpoint for logs is configured");
    end();
}
END_TEST

START_TEST(partial_success_is_counted_in_either_encoding)
{
    struct bytes proto;
    bytes_init(&proto, 4096, NULL);
    ck_assert(export_response_encode(SIGNAL_TRACES, false, 2, "too old", &proto));
    struct backend_answer answers[] = {
        {200, "application/x-protobuf", bytes_view(&proto), 0},
        {200, "application/json; charset=utf-8",
         VIEW("{\"partialSuccess\":{\"rejectedSpans\":\"2\",\"errorMessage\":\"too old\"}}"), 0},
        {200, "application/json",
         VIEW("{\"partial_success\":{\"rejected_spans\":2,\"error_message\":\"too old\"},\"x\":1}"),
         0},
    };
    begin(EXPORTER());
    memcpy(backend.answers, answers, sizeof answers);
    for (size_t i = 0; i < 3; i++) {
        struct outcome outcome = send_spans();
        ck_assert_int_eq(outcome.verdict, VERDICT_OK);
        ck_assert_uint_eq(outcome.rejected, 2);
        ck_assert_str_eq(outcome.text, "too old");
    }
    end();
}
END_TEST

START_TEST(complete_success_may_say_it_in_many_ways)
{
    struct backend_answer answers[] = {
        {200, "application/x-protobuf", VIEW(""), 0},
        {200, "application/x-protobuf", VIEW("\x0a\x00"), 0},
        {202, "application/json", VIEW("{\"partialSuccess\":{}}"), 0},
        {200, "application/json", VIEW("{\"partialSuccess\":null}"), 0},
        {200, "text/plain", VIEW("fine"), 0},
        {204, NULL, VIEW(""), 0},
    };
    size_t count = sizeof answers / sizeof *answers;
    begin(EXPORTER());
    memcpy(backend.answers, answers, sizeof answers);
    for (size_t i = 0; i < count; i++) {
        struct outcome outcome = send_spans();
        ck_assert_int_eq(outcome.verdict, VERDICT_OK);
        ck_assert_uint_eq(outcome.rejected, 0);
        ck_assert_str_eq(outcome.text, "");
    }
    end();
}
END_TEST

START_TEST(a_success_that_cannot_be_read_counts_and_is_told_once)
{
    char logged[2048] = "";
    FILE *log = tmpfile();
    begin(EXPORTER());
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    for (size_t i = 0; i < 3; i++) {
        backend.answers[i] = (struct backend_answer){200, "application/x-protobuf",
                                                     i ? VIEW("\xff\xff\xff") : VIEW(""), 0};
        ck_assert_int_eq(send_spans().verdict, VERDICT_OK);
    }
    ck_assert_int_ge(pread(fileno(log), logged, sizeof logged - 1, 0), 0);
    const char *line = strstr(logged, "a response of status 200, Content-Type "
                                      "application/x-protobuf, is no OTLP response");
    ck_assert_msg(line, "%s", logged);
    ck_assert_ptr_null(strstr(strchr(line, '\n'), "is no OTLP response"));
    end();
}
END_TEST

START_TEST(an_html_page_is_no_success)
{
    begin(EXPORTER());
    backend.answers[0] =
        (struct backend_answer){200, "Text/HTML; charset=utf-8", VIEW("<h1>It works</h1>"), 0};
    struct outcome outcome = send_spans();
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_UNAVAILABLE);
    ck_assert_str_eq(outcome.text, "HTTP 200 with an HTML page; this is a web server, not a "
                                   "receiver: check the endpoint");
    ck_assert_int_eq(send_spans().verdict, VERDICT_OK);
    end();
}
END_TEST

START_TEST(statuses_are_retried_as_the_protocol_says)
{
    static const struct {
        unsigned status;
        enum verdict verdict;
        enum cause cause;
    } rows[] = {
        {429, VERDICT_RETRY, CAUSE_UNAVAILABLE}, {502, VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {503, VERDICT_RETRY, CAUSE_UNAVAILABLE}, {504, VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {400, VERDICT_REJECT, CAUSE_INVALID},    {401, VERDICT_REJECT, CAUSE_AUTH},
        {403, VERDICT_REJECT, CAUSE_FORBIDDEN},  {404, VERDICT_REJECT, CAUSE_UNSUPPORTED},
        {408, VERDICT_REJECT, CAUSE_INTERNAL},   {413, VERDICT_REJECT, CAUSE_TOO_LARGE},
        {500, VERDICT_REJECT, CAUSE_INTERNAL},   {301, VERDICT_REJECT, CAUSE_UNSUPPORTED},
    };
    size_t count = sizeof rows / sizeof *rows;
    begin(EXPORTER());
    for (size_t i = 0; i < count; i++)
        backend.answers[i].status = rows[i].status;
    for (size_t i = 0; i < count; i++) {
        char text[200];
        struct outcome outcome = send_spans();
        snprintf(text, sizeof text, "HTTP %u from http://%s/v1/traces", rows[i].status,
                 backend.bound);
        ck_assert_str_eq(outcome.text, text);
        ck_assert_int_eq(outcome.verdict, rows[i].verdict);
        ck_assert_int_eq(outcome.cause, rows[i].cause);
    }
    end();
}
END_TEST

START_TEST(what_the_error_says_is_shown_whatever_it_is_written_in)
{
    struct bytes status;
    bytes_init(&status, 4096, NULL);
    ck_assert(rpc_status_encode(GRPC_UNAVAILABLE, "in protobuf", 4 * NS_PER_S, &status));
    struct backend_answer answers[] = {
        {503, "application/x-protobuf", bytes_view(&status), 0},
        {503, "application/json", VIEW("{\"code\":14,\"message\":\"in JSON\"}"), 9},
        {400, "text/html", VIEW("in HTML"), 9},
        {400, "application/json", VIEW("[]"), 0},
    };
    static const char *const texts[] = {": in protobuf", ": in JSON", ": in HTML", ": []"};
    static const uint64_t waits[] = {4 * NS_PER_S, 9 * NS_PER_S, 0, 0};
    begin(EXPORTER());
    memcpy(backend.answers, answers, sizeof answers);
    for (size_t i = 0; i < 4; i++) {
        struct outcome outcome = send_spans();
        ck_assert_msg(strstr(outcome.text, "/v1/traces: ") && strstr(outcome.text, texts[i]), "%s",
                      outcome.text);
        ck_assert_uint_eq(outcome.retry_after_ns, waits[i]);
    }
    end();
}
END_TEST

START_TEST(the_senders_headers_go_on_unless_the_exporter_has_its_own)
{
    bool failed;
    begin(EXPORTER(", headers: {authorization: Bearer own}"));
    struct batch *batch = otlp_batch_of(SIGNAL_TRACES, spans(), 1);
    batch_set_metadata(batch, metadata_new(VIEW("theirs"), VIEW("Basic eA=="), &failed));
    exporter_send(&exporter, batch);
    send_spans();
    ck_assert_str_eq(backend.requests[0].authorization, "Bearer own");
    ck_assert_str_eq(backend.requests[0].tenant, "theirs");
    ck_assert_str_eq(backend.requests[1].authorization, "Bearer own");
    ck_assert_str_eq(backend.requests[1].tenant, "-");
    end();
}
END_TEST

START_TEST(a_backend_that_has_moved_gets_the_spans)
{
    begin(EXPORTER());
    backend.answers[0].status = 308;
    backend.locations[0] = "/moved/v1/traces";
    struct outcome outcome = send_spans();
    ck_assert_msg(outcome.verdict == VERDICT_OK, "%s", outcome.text);
    ck_assert_str_eq(backend.requests[1].path, "/moved/v1/traces");
    ck_assert_uint_eq(backend.requests[1].body.size, backend.requests[0].body.size);
    end();
}
END_TEST

START_TEST(what_another_process_delivers_is_withheld)
{
    struct batch *batch = otlp_batch_of(SIGNAL_TRACES, spans(), 1);
    move_elsewhere(batch);
    begin(EXPORTER());
    struct outcome outcome = exporter_send(&exporter, batch);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_REVOKED);
    ck_assert_uint_eq(backend.count, 0);
    end();
}
END_TEST

START_TEST(a_server_that_is_not_there_is_retried_and_named)
{
    begin(EXPORTER());
    char bound[160];
    snprintf(bound, sizeof bound, "%s", backend.bound);
    backend_stop(&backend);
    struct outcome outcome = send_spans();
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_UNAVAILABLE);
    ck_assert_msg(strstr(outcome.text, bound), "%s", outcome.text);
    exporter_stop(&exporter);
}
END_TEST

START_TEST(a_servers_certificate_has_to_be_trusted)
{
    struct tls_server server;
    char section[512];
    const char *port;
    tls_server_start(&server);
    port = strrchr(server.bound, ':') + 1;
    snprintf(section, sizeof section, "otlp_http: {endpoint: 'https://localhost:%s'}", port);
    exporter_start(&exporter, section, "traces", NULL);
    struct outcome outcome = send_spans();
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_msg(strstr(outcome.text, "TLS") && strstr(outcome.text, "localhost"), "%s",
                  outcome.text);
    exporter_stop(&exporter);
    snprintf(section, sizeof section,
             "otlp_http: {endpoint: 'https://localhost:%s', compression: none, tls: {ca_file: %s}}",
             port, server.certificate_file);
    exporter_start(&exporter, section, "traces", NULL);
    /* The fixture's server expects this body. */
    outcome = exporter_send(&exporter, otlp_batch_of(SIGNAL_TRACES, VIEW("body"), 1));
    ck_assert_msg(outcome.verdict == VERDICT_OK, "%s", outcome.text);
    exporter_stop(&exporter);
    tls_server_stop(&server);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_an_error_at_start)
{
    char *text = start_faults(
        "receivers: {source: }\n"
        "exporters: {otlp_http: {endpoint: 'http://x', tls: {ca_file: /nowhere/ca}}}\n"
        "service: {pipelines: {traces: {receivers: [source], exporters: [otlp_http]}}}\n");
    ck_assert_msg(strstr(text, "/nowhere/ca"), "%s", text);
    free(text);
}
END_TEST

START_TEST(addresses_that_are_no_urls_are_errors_at_start)
{
    static const char *const sections[] = {"",
                                           "endpoint: 'tempo:4318'",
                                           "traces_endpoint: 'ftp://x/y'",
                                           "endpoint: 'http://'",
                                           "endpoint: 'http://x', headers: {A: \"b\\n\"}",
                                           "endpoint: 'http://x', headers: {'A B': c}",
                                           "endpoint: 'http://u:hush@x:port'",
                                           "endpoint: 'u:hush@x:4318'",
                                           "logs_endpoint: 'hush@x'"};
    static const char *const words[] = {"exporters.otlp_http.endpoint",
                                        "\"tempo:4318\" is not a URL",
                                        "exporters.otlp_http.traces_endpoint",
                                        "is not a URL",
                                        "headers.A: has a value with a line break",
                                        "headers.A B: is not a valid",
                                        "\"redacted@x:port\" is not a URL",
                                        "\"redacted@x:4318\" is not a URL",
                                        "\"redacted@x\" is not a URL"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 "receivers: {source: }\nexporters: {otlphttp: {%s}}\n"
                 "service: {pipelines: {traces: {receivers: [source], exporters: [otlphttp]}}}\n",
                 sections[i]);
        char *faults = given_faults(yaml), *wanted = strdup(words[i]);
        /* Under its alias, the path contains the alias. */
        ck_assert_msg(strstr(faults, strstr(wanted, "exporters") ? "exporters.otlphttp." : wanted),
                      "%s", faults);
        free(wanted);
        free(faults);
    }
}
END_TEST

START_TEST(a_pprof_of_the_pipeline_is_sent_as_otlp)
{
    struct answer answer;
    struct proto_fault fault;
    uint32_t items;
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_sample(build, (int64_t[]){1000}, (const char *const[]){"work", NULL});
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    backend_start(&backend);
    exporter_start(&exporter, "otlp_http: {endpoint: 'http://%s'}", "profiles", &backend);
    answer_init(&answer);
    source_offer("pprof_source",
                 pprof_batch_of(bytes_view(&raw), "process_cpu{service_name=shop}", NULL), &answer);
    ck_assert_int_eq(answer_wait(&answer).verdict, VERDICT_OK);
    exporter_stop(&exporter);
    ck_assert_uint_eq(backend.count, 1);
    ck_assert_str_eq(backend.requests[0].path, "/v1development/profiles");
    ck_assert(otlp_check(SIGNAL_PROFILES, backend.requests[0].body, &items, &fault));
    ck_assert_uint_eq(items, 1);
    backend_stop(&backend);
    bytes_release(&raw);
}
END_TEST

SUITE_MAIN("otlp_http_exporter", protobuf_goes_as_it_is_in_every_compression, gzip_is_the_default,
           json_means_the_same, paths_of_the_signals_are_added_to_the_endpoint,
           a_signals_own_endpoint_is_used_as_it_is_and_wins,
           a_signal_without_an_endpoint_is_refused_with_a_sentence,
           partial_success_is_counted_in_either_encoding, complete_success_may_say_it_in_many_ways,
           a_success_that_cannot_be_read_counts_and_is_told_once, an_html_page_is_no_success,
           statuses_are_retried_as_the_protocol_says,
           what_the_error_says_is_shown_whatever_it_is_written_in,
           the_senders_headers_go_on_unless_the_exporter_has_its_own,
           a_backend_that_has_moved_gets_the_spans, what_another_process_delivers_is_withheld,
           a_server_that_is_not_there_is_retried_and_named, a_servers_certificate_has_to_be_trusted,
           a_file_that_cannot_be_read_is_an_error_at_start,
           addresses_that_are_no_urls_are_errors_at_start, a_pprof_of_the_pipeline_is_sent_as_otlp)
