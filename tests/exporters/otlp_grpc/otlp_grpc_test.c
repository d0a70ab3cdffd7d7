/* Requests of the otlp_grpc exporter, and its handling of responses. */
#include "lib/net/grpc/grpc_server.h"
#include "lib/wire/http/status.h"
#include "tests/support/backend.h"
#include "tests/support/keeper.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"
#include "tests/support/tls_world.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct component exporter_otlp_grpc;
const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &exporter_otlp_grpc, NULL};

enum { MAX_CALLS = 64 };

struct call {
    char path[128];
    char tenant[64];
    char authorization[64];
    char encoding[32];
    struct bytes message;
};

static struct {
    struct grpc_server *server;
    char bound[160];
    pthread_mutex_t lock;
    struct call calls[MAX_CALLS];
    size_t count;
    /* The response to every call. */
    enum grpc_code code;
    const char *text;
    uint64_t retry_after_ns;
    struct view message;
} peer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct given_exporter exporter;

static void note(char *out, size_t size, const struct grpc_call *call, const char *name)
{
    const char *value = grpc_call_metadata(call, name);
    snprintf(out, size, "%s", value ? value : "-");
}

static void handle(void *ctx, struct grpc_call *call)
{
    (void)ctx;
    pthread_mutex_lock(&peer.lock);
    ck_assert_uint_lt(peer.count, MAX_CALLS);
    struct call *kept = &peer.calls[peer.count++];
    snprintf(kept->path, sizeof kept->path, "%s", grpc_call_path(call));
    note(kept->tenant, sizeof kept->tenant, call, "x-scope-orgid");
    note(kept->authorization, sizeof kept->authorization, call, "authorization");
    note(kept->encoding, sizeof kept->encoding, call, "grpc-encoding");
    grpc_call_take_message(call, &kept->message);
    pthread_mutex_unlock(&peer.lock);
    grpc_respond(call, peer.code, peer.text ? peer.text : "", peer.retry_after_ns, peer.message);
}

static bool serves(void *ctx, const char *path)
{
    (void)ctx;
    return strncmp(path, "/opentelemetry.", 15) == 0;
}

static void peer_start(const struct endpoint *endpoint)
{
    char error[256] = "";
    struct grpc_server_options options = {
        .endpoint = *endpoint,
        .max_message = 8 << 20,
        .threads = 1,
        .max_connections = 16,
        .max_concurrent_streams = 16,
        .handler = handle,
        .serves = serves,
    };
    peer.server = grpc_server_open(&options, peer.bound, sizeof peer.bound, error, sizeof error);
    ck_assert_msg(peer.server, "%s", error);
}

/* keys: "" or ", key: value"; "%s" in endpoint is the peer's address. */
static void begin(const char *endpoint, const char *keys)
{
    char section[512], address[256];
    peer_start(&(struct endpoint){.host = "127.0.0.1", .service = "0"});
    const char *mark = strstr(endpoint, "%s");
    snprintf(address, sizeof address, "%.*s%s", (int)(mark - endpoint), endpoint, peer.bound);
    snprintf(section, sizeof section, "otlp_grpc: {endpoint: '%s'%s}", address, keys);
    exporter_start(&exporter, section, "traces", NULL);
}

static void end(void)
{
    exporter_stop(&exporter);
    grpc_server_close(peer.server, clock_mono(&clock_system) + 20 * NS_PER_S);
}

static struct view spans(void)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "work"))));
}

static struct outcome send_spans(void)
{
    return exporter_send(&exporter, otlp_batch_of(SIGNAL_TRACES, spans(), 1));
}

START_TEST(messages_arrive_whole_in_every_compression)
{
    static const char *const keys[] = {"", ", compression: zstd", ", compression: none",
                                       ", compression: snappy"};
    static const char *const codings[] = {"gzip", "zstd", "-", "snappy"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        begin("http://%s", keys[i]);
        struct outcome outcome = send_spans();
        ck_assert_msg(outcome.verdict == VERDICT_OK, "%s", outcome.text);
        ck_assert_str_eq(peer.calls[i].encoding, codings[i]);
        ck_assert(view_eq(bytes_view(&peer.calls[i].message), spans()));
        end();
    }
}
END_TEST

START_TEST(a_secret_that_the_peer_repeats_is_hidden)
{
    begin("http://%s", ", headers: {authorization: Bearer SECRETH3}");
    peer.code = GRPC_PERMISSION_DENIED;
    peer.text = "bad token Bearer SECRETH3";
    struct outcome outcome = send_spans();
    ck_assert_ptr_null(strstr(outcome.text, "SECRETH3"));
    ck_assert_msg(strstr(outcome.text, "bad token ***************"), "%s", outcome.text);
    end();
}
END_TEST

START_TEST(a_compression_that_no_grpc_peer_reads_is_an_error_at_start)
{
    char *faults = given_faults(
        "receivers: {source: }\nexporters: {otlp_grpc: {endpoint: 'h:1', compression: lz4}}\n"
        "service: {pipelines: {traces: {receivers: [source], exporters: [otlp_grpc]}}}\n");
    ck_assert_msg(strstr(faults,
                         "otlp_grpc.compression: is lz4, which gRPC does not support, expected "
                         "gzip, zstd, snappy or none"),
                  "%s", faults);
    free(faults);
}
END_TEST

START_TEST(each_signal_has_its_service)
{
    static const char *const services[SIGNAL_COUNT] = {
        "trace.v1.TraceService", "metrics.v1.MetricsService", "logs.v1.LogsService",
        "profiles.v1development.ProfilesService"};
    begin("http://%s", "");
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        char path[128];
        exporter_send(&exporter, otlp_batch_of((enum signal)i, VIEW(""), 1));
        snprintf(path, sizeof path, "/opentelemetry.proto.collector.%s/Export", services[i]);
        ck_assert_str_eq(peer.calls[i].path, path);
    }
    end();
}
END_TEST

START_TEST(many_calls_share_a_connection)
{
    begin("%s", ", tls: {insecure: true}");
    for (size_t i = 0; i < 30; i++) {
        struct outcome outcome = send_spans();
        ck_assert_msg(outcome.verdict == VERDICT_OK, "call %zu: %s", i, outcome.text);
    }
    ck_assert_uint_eq(peer.count, 30);
    end();
}
END_TEST

START_TEST(endpoints_may_name_a_resolver)
{
    begin("dns:///%s", ", tls: {insecure: true}");
    ck_assert_int_eq(send_spans().verdict, VERDICT_OK);
    end();
    begin("passthrough:///%s", ", tls: {insecure: true}");
    ck_assert_int_eq(send_spans().verdict, VERDICT_OK);
    end();
}
END_TEST

START_TEST(a_unix_socket_is_an_endpoint_in_both_spellings)
{
    static const char *const forms[] = {"unix:", "unix://"};
    struct endpoint endpoint = {0};
    snprintf(endpoint.unix_path, sizeof endpoint.unix_path, "%s/grpc", receiver_folder());
    peer_start(&endpoint);
    for (size_t i = 0; i < 2; i++) {
        char address[128], section[256];
        snprintf(address, sizeof address, "%s%s/grpc", forms[i], receiver_folder());
        snprintf(section, sizeof section, "otlp_grpc: {endpoint: '%s', tls: {insecure: true}}",
                 address);
        exporter_start(&exporter, section, "traces", NULL);
        struct outcome outcome = send_spans();
        ck_assert_msg(outcome.verdict == VERDICT_OK, "%s: %s", forms[i], outcome.text);
        exporter_stop(&exporter);
    }
    grpc_server_close(peer.server, clock_mono(&clock_system) + 20 * NS_PER_S);
}
END_TEST

static void assert_shown(const char *endpoint, const char *shown)
{
    char section[256];
    snprintf(section, sizeof section, "otlp_grpc: {endpoint: '%s', tls: {insecure: true}}",
             endpoint);
    exporter_start(&exporter, section, "traces", NULL);
    ck_assert_str_eq(exporter_otlp_grpc.url(exporter.instance->self, SIGNAL_TRACES), shown);
    exporter_stop(&exporter);
}

START_TEST(where_it_sends_to_is_shown)
{
    assert_shown("tempo:4317", "http://tempo:4317");
    assert_shown("https://tempo:4317", "https://tempo:4317");
    assert_shown("unix:///run/tempo", "unix:/run/tempo");
}
END_TEST

START_TEST(insecure_with_a_ca_is_tls_as_in_the_collector)
{
    struct tls_world world;
    char keys[256];
    tls_world_make(&world);
    snprintf(keys, sizeof keys, ", tls: {insecure: true, ca_file: '%s'}", world.paths[WORLD_CA]);
    begin("%s", keys);
    struct outcome outcome = send_spans();
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_msg(strstr(outcome.text, "TLS with"), "%s", outcome.text);
    end();
    tls_world_remove(&world);
}
END_TEST

START_TEST(without_a_scheme_it_is_tls)
{
    begin("%s", "");
    struct outcome outcome = send_spans();
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_uint_eq(peer.count, 0);
    end();
    begin("https://%s", ", tls: {insecure: true}");
    ck_assert_int_eq(send_spans().verdict, VERDICT_RETRY);
    ck_assert_uint_eq(peer.count, 0);
    end();
}
END_TEST

START_TEST(codes_are_retried_as_the_protocol_says)
{
    static const struct {
        enum grpc_code code;
        uint64_t retry_after_ns;
        const char *text;
        enum verdict verdict;
        enum cause cause;
    } rows[] = {
        {GRPC_CANCELLED, 0, "t", VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {GRPC_UNKNOWN, 0, "t", VERDICT_REJECT, CAUSE_INTERNAL},
        {GRPC_INVALID_ARGUMENT, 0, "t", VERDICT_REJECT, CAUSE_INVALID},
        {GRPC_DEADLINE_EXCEEDED, 0, "t", VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {GRPC_NOT_FOUND, 0, "t", VERDICT_REJECT, CAUSE_UNSUPPORTED},
        {GRPC_PERMISSION_DENIED, 0, "t", VERDICT_REJECT, CAUSE_FORBIDDEN},
        {GRPC_RESOURCE_EXHAUSTED, 0, "quota", VERDICT_REJECT, CAUSE_UNAVAILABLE},
        {GRPC_RESOURCE_EXHAUSTED, 0, "message larger than max (5 vs. 4)", VERDICT_REJECT,
         CAUSE_TOO_LARGE},
        {GRPC_RESOURCE_EXHAUSTED, 2 * NS_PER_S, "quota", VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {GRPC_ABORTED, 0, "t", VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {GRPC_OUT_OF_RANGE, 0, "t", VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {GRPC_UNIMPLEMENTED, 0, "t", VERDICT_REJECT, CAUSE_UNSUPPORTED},
        {GRPC_INTERNAL, 0, "t", VERDICT_REJECT, CAUSE_INTERNAL},
        {GRPC_UNAVAILABLE, 3 * NS_PER_S, "t", VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {GRPC_DATA_LOSS, 0, "t", VERDICT_RETRY, CAUSE_UNAVAILABLE},
        {GRPC_UNAUTHENTICATED, 0, "t", VERDICT_REJECT, CAUSE_AUTH},
    };
    begin("http://%s", "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[400];
        bool limited = rows[i].cause == CAUSE_UNAVAILABLE && rows[i].verdict == VERDICT_REJECT;
        peer.code = rows[i].code;
        peer.text = rows[i].text;
        peer.retry_after_ns = rows[i].retry_after_ns;
        struct outcome outcome = send_spans();
        snprintf(text, sizeof text, "gRPC %s from http://%s%s: %s", grpc_code_name(rows[i].code),
                 peer.bound, limited ? " without RetryInfo, so by OTLP it is not repeated" : "",
                 rows[i].text);
        ck_assert_str_eq(outcome.text, text);
        ck_assert_int_eq(outcome.verdict, rows[i].verdict);
        ck_assert_int_eq(outcome.cause, rows[i].cause);
        ck_assert_uint_eq(outcome.retry_after_ns, rows[i].retry_after_ns);
        ck_assert_int_eq(outcome.part_may_pass, rows[i].code == GRPC_INTERNAL);
    }
    end();
}
END_TEST

START_TEST(partial_success_is_counted)
{
    struct bytes message;
    bytes_init(&message, 4096, NULL);
    ck_assert(export_response_encode(SIGNAL_TRACES, false, 5, "too old", &message));
    peer.message = bytes_view(&message);
    begin("http://%s", "");
    struct outcome outcome = send_spans();
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
    ck_assert_uint_eq(outcome.rejected, 5);
    ck_assert_str_eq(outcome.text, "too old");
    end();
}
END_TEST

START_TEST(the_senders_metadata_go_on_unless_the_exporter_has_its_own)
{
    bool failed;
    begin("http://%s", ", headers: {X-Scope-OrgID: own}");
    struct batch *batch = otlp_batch_of(SIGNAL_TRACES, spans(), 1);
    batch_set_metadata(batch, metadata_new(VIEW("theirs"), VIEW("Basic eA=="), &failed));
    exporter_send(&exporter, batch);
    send_spans();
    ck_assert_str_eq(peer.calls[0].tenant, "own");
    ck_assert_str_eq(peer.calls[0].authorization, "Basic eA==");
    ck_assert_str_eq(peer.calls[1].authorization, "-");
    end();
}
END_TEST

START_TEST(what_another_process_delivers_is_withheld)
{
    struct batch *batch = otlp_batch_of(SIGNAL_TRACES, spans(), 1);
    move_elsewhere(batch);
    begin("http://%s", "");
    struct outcome outcome = exporter_send(&exporter, batch);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_REVOKED);
    ck_assert_uint_eq(peer.count, 0);
    end();
}
END_TEST

START_TEST(a_server_that_is_not_there_is_retried_and_named)
{
    char bound[160];
    begin("http://%s", "");
    snprintf(bound, sizeof bound, "%s", peer.bound);
    grpc_server_close(peer.server, clock_mono(&clock_system) + 20 * NS_PER_S);
    struct outcome outcome = send_spans();
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_msg(strstr(outcome.text, bound), "%s", outcome.text);
    exporter_stop(&exporter);
}
END_TEST

START_TEST(an_http_server_is_no_grpc_server)
{
    static struct backend backend;
    backend_start(&backend);
    exporter_start(&exporter, "otlp_grpc: {endpoint: 'http://%s'}", "traces", &backend);
    struct outcome outcome = send_spans();
    ck_assert_int_ne(outcome.verdict, VERDICT_OK);
    ck_assert_str_ne(outcome.text, "");
    exporter_stop(&exporter);
    backend_stop(&backend);
}
END_TEST

START_TEST(endpoints_without_a_numeric_port_are_errors_at_start)
{
    static const char *const endpoints[] = {"tempo", "tempo:otlp", "http://tempo", "ftp://tempo:1",
                                            "unix:"};
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml,
                 "receivers: {source: }\nexporters: {otlp: {endpoint: '%s'}}\n"
                 "service: {pipelines: {traces: {receivers: [source], exporters: [otlp]}}}\n",
                 endpoints[i]);
        char *faults = given_faults(yaml);
        ck_assert_msg(strstr(faults, "exporters.otlp.endpoint"), "%s: %s", endpoints[i], faults);
        free(faults);
    }
}
END_TEST

SUITE_MAIN("otlp_grpc_exporter", a_secret_that_the_peer_repeats_is_hidden,
           messages_arrive_whole_in_every_compression,
           a_compression_that_no_grpc_peer_reads_is_an_error_at_start, each_signal_has_its_service,
           many_calls_share_a_connection, endpoints_may_name_a_resolver,
           a_unix_socket_is_an_endpoint_in_both_spellings, where_it_sends_to_is_shown,
           without_a_scheme_it_is_tls, insecure_with_a_ca_is_tls_as_in_the_collector,
           codes_are_retried_as_the_protocol_says, partial_success_is_counted,
           the_senders_metadata_go_on_unless_the_exporter_has_its_own,
           what_another_process_delivers_is_withheld,
           a_server_that_is_not_there_is_retried_and_named, an_http_server_is_no_grpc_server,
           endpoints_without_a_numeric_port_are_errors_at_start)
