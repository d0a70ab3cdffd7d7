/* OTLP over HTTP/1.1. Statuses: OTLP specification 1.11, "OTLP/HTTP response". */
#include "lib/net/http/otlp_http.h"
#include "lib/net/http/client_keys.h"
#include "lib/net/http/dial.h"
#include "lib/wire/http/status.h"
#include "lib/wire/json/otlp_json.h"
#include "lib/wire/json/reply_json.h"
#include "lib/wire/proto/text.h"
#include "pipeline/batch_veto.h"
#include "pipeline/component.h"
#include "pipeline/delivery/delivery.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { JSON_CAP = 1 << 30, MAX_HEADERS = 4 };

struct otlp_http_exporter {
    char *endpoint;
    char *endpoints[SIGNAL_COUNT];
    int encoding;
    struct client_settings client;
    struct delivery delivery;
    char *urls[SIGNAL_COUNT];
    struct http_client *http;
    const struct env *env;
    _Atomic bool told_unreadable;
};

static const char *const encodings[] = {"proto", "json", NULL};
enum { ENCODING_JSON = 1 };

static const struct key keys[] = {
    KEY_STRING(struct otlp_http_exporter, endpoint, "endpoint", NULL, 0,
               "base URL; /v1/traces or the other signals' paths are added"),
    KEY_STRING(struct otlp_http_exporter, endpoints[SIGNAL_TRACES], "traces_endpoint", NULL, 0,
               "URL for traces, used unchanged"),
    KEY_STRING(struct otlp_http_exporter, endpoints[SIGNAL_METRICS], "metrics_endpoint", NULL, 0,
               "URL for metrics, used unchanged"),
    KEY_STRING(struct otlp_http_exporter, endpoints[SIGNAL_LOGS], "logs_endpoint", NULL, 0,
               "URL for logs, used unchanged"),
    KEY_STRING(struct otlp_http_exporter, endpoints[SIGNAL_PROFILES], "profiles_endpoint", NULL, 0,
               "URL for profiles, used unchanged"),
    KEY_CHOICE(struct otlp_http_exporter, encoding, "encoding", "proto", encodings,
               "protobuf or JSON bodies"),
    CLIENT_KEYS(struct otlp_http_exporter, client, "30s"),
    KEY_INT(struct otlp_http_exporter, delivery.max_request_bytes, "max_request_bytes", "20000000",
            0, 2147483647, "size in uncompressed bytes above which requests are split; 0: never"),
    KEY_GROUP(struct otlp_http_exporter, delivery.queue, struct queue_settings, "sending_queue",
              queue_keys, "queue of requests for the backend"),
    KEY_GROUP(struct otlp_http_exporter, delivery.retry, struct retry_settings, "retry_on_failure",
              retry_keys, "when and how long to retry"),
    KEY_HINT("read_buffer_size", "accepted; spanlink sizes its own buffers"),
    KEY_HINT("write_buffer_size", "accepted; spanlink sizes its own buffers"),
    KEY_HINT("max_idle_conns", "accepted; one connection per worker is kept"),
    KEY_HINT("max_idle_conns_per_host", "accepted; one connection per worker is kept"),
    KEY_HINT("max_conns_per_host", "accepted; one connection per worker is kept"),
    KEY_HINT("idle_conn_timeout", "accepted; connections are kept"),
    KEY_HINT("compression_params", "accepted; each compression has its own level"),
    KEY_HINT("disable_keep_alives", "accepted; connections are kept"),
    KEY_HINT("http2_read_idle_timeout", "accepted; HTTP/1.1 is used"),
    KEY_HINT("http2_ping_timeout", "accepted; HTTP/1.1 is used"),
    KEY_HINT("force_attempt_http2", "accepted; HTTP/1.1 is used"),
    KEY_END,
};

static const char *const paths[SIGNAL_COUNT] = {"/v1/traces", "/v1/metrics", "/v1/logs",
                                                "/v1development/profiles"};
static const char *const endpoint_keys[SIGNAL_COUNT] = {"traces_endpoint", "metrics_endpoint",
                                                        "logs_endpoint", "profiles_endpoint"};

static const char *url(const void *instance, enum signal signal)
{
    return ((const struct otlp_http_exporter *)instance)->urls[signal];
}

static void otlp_http_places(const void *config, place_visit_fn *visit, void *ctx)
{
    const struct otlp_http_exporter *self = config;
    if (*self->endpoint)
        url_place("endpoint", self->endpoint, visit, ctx);
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (*self->endpoints[i])
            url_place(endpoint_keys[i], self->endpoints[i], visit, ctx);
}

/* Warns about endpoints that are valid, but probably not intended. */
static void warn_about_endpoint(const struct otlp_http_exporter *self, struct key_report *report)
{
    size_t size = strlen(self->endpoint);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        size_t n = strlen(paths[i]);
        if (size > n && strcmp(self->endpoint + size - n, paths[i]) == 0)
            key_report_warn(report, "endpoint",
                            "ends in %s, which is added again: remove it, or use %s", paths[i],
                            endpoint_keys[i]);
    }
    if (client_port_is(self->endpoint, "http", "4317"))
        key_report_warn(report, "endpoint",
                        "uses port 4317, which is for gRPC: use the exporter otlp_grpc, or "
                        "port 4318");
}

static void otlp_http_check(const void *config, struct key_report *report)
{
    const struct otlp_http_exporter *self = config;
    warn_about_endpoint(self, report);
    bool any = *self->endpoint != '\0';
    url_report("endpoint", self->endpoint, report);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        url_report(endpoint_keys[i], self->endpoints[i], report);
        any |= *self->endpoints[i] != '\0';
    }
    compression_check(&self->client, ENCODINGS_ALL, "HTTP", report);
    if (!any)
        key_report_add(report, "endpoint",
                       "is missing, expected a URL such as "
                       "http://tempo:4318");
    client_check(&self->client, report);
    delivery_check(&self->delivery, report);
}

static bool otlp_http_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct otlp_http_exporter *self = instance;
    self->env = env;
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        if (*self->endpoints[i])
            self->urls[i] = strdup(self->endpoints[i]);
        else if (*self->endpoint)
            self->urls[i] = url_join(self->endpoint, paths[i]);
        else
            continue;
        if (!self->urls[i]) {
            snprintf(error, error_size, "out of memory");
            return false;
        }
        if (!client_reaches(self->urls[i], error, error_size))
            return false;
    }
    self->http = client_open(&self->client, env->id, false, NULL, NULL, error, error_size);
    return self->http != NULL;
}

/* Headers of one request: Content-Type, Content-Encoding, and the batch's metadata. */
static size_t fill_headers(const struct otlp_http_exporter *self, const struct batch *batch,
                           struct http_header headers[MAX_HEADERS])
{
    const struct metadata *sender = batch->metadata;
    size_t count = 0;
    enum encoding_name compression = compression_of(&self->client);
    headers[count++] = (struct http_header){"Content-Type", self->encoding == ENCODING_JSON
                                                                ? "application/json"
                                                                : "application/x-protobuf"};
    if (compression != ENCODING_IDENTITY)
        headers[count++] = (struct http_header){"Content-Encoding", encoding_text(compression)};
    if (!sender)
        return count;
    return client_sender(&self->client, headers, count, sender->tenant, sender->authorization);
}

/* A body to send: runs of the payload, or their converted or compressed form in `made`. */
struct body {
    struct view *runs;
    size_t run_count;
    struct bytes made;
};

/* Replaces the runs by `made`. */
static void replace_runs(struct body *body, struct bytes *made)
{
    bytes_release(&body->made);
    body->made = *made;
    body->runs[0] = bytes_view(made);
    body->run_count = 1;
}

static bool encode_json(const struct batch *batch, struct body *body)
{
    struct bytes json;
    struct buffer *flat = buffer_flat(batch->payload);
    bytes_init(&json, JSON_CAP, NULL);
    bool good = flat && otlp_json_write(batch->signal, buffer_view(flat), &json);
    buffer_unref(flat);
    if (good)
        replace_runs(body, &json);
    else
        bytes_release(&json);
    return good;
}

static bool compress(enum encoding_name compression, struct body *body)
{
    struct bytes packed;
    bytes_init(&packed, SIZE_MAX / 2, NULL);
    bool good =
        deflate_append_pieces(compression, (struct pieces){body->runs, body->run_count}, &packed);
    if (good)
        replace_runs(body, &packed);
    else
        bytes_release(&packed);
    return good;
}

static void body_release(struct body *body)
{
    bytes_release(&body->made);
    free(body->runs);
}

/* False: no memory. */
static bool encode_body(const struct otlp_http_exporter *self, const struct batch *batch,
                        struct body *body)
{
    enum encoding_name compression = compression_of(&self->client);
    bytes_init(&body->made, 0, NULL);
    body->run_count = buffer_run_count(batch->payload);
    body->runs = malloc(body->run_count * sizeof(struct view));
    if (!body->runs)
        return false;
    buffer_runs(batch->payload, body->runs);
    return (self->encoding != ENCODING_JSON || encode_json(batch, body)) &&
           (compression == ENCODING_IDENTITY || compress(compression, body));
}

static bool otlp_http_is_json(const struct http_reply *reply)
{
    return media_type_is(reply->content_type, "application/json");
}

/* Told once, as a backend does so every time. */
static void tell_unreadable(struct otlp_http_exporter *self, const struct http_reply *reply)
{
    if (reply->body.size == 0 || atomic_exchange(&self->told_unreadable, true))
        return;
    env_warn(self->env,
             "a response of status %ld, Content-Type %s, is no OTLP response; it counts as "
             "delivered, but check that the endpoint is an OTLP receiver",
             reply->status, *reply->content_type ? reply->content_type : "missing");
}

static struct outcome read_success(struct otlp_http_exporter *self, const struct http_reply *reply)
{
    struct outcome outcome = OUTCOME_OK;
    struct view body = bytes_view(&reply->body);
    uint64_t rejected;
    char *text = outcome.text;
    size_t size = sizeof outcome.text;
    bool readable = otlp_http_is_json(reply)
                        ? export_response_decode_json(body, &rejected, text, size)
                        : export_response_decode(body, &rejected, text, size);
    if (readable)
        outcome.rejected = rejected > UINT32_MAX ? UINT32_MAX : (uint32_t)rejected;
    else
        text[0] = '\0'; /* accepted, whatever the body says */
    if (!readable)
        tell_unreadable(self, reply);
    return outcome;
}

/* The human-readable message of an error body; *wait: its RetryInfo, 0: none. */
static void read_status(const struct http_reply *reply, char *text, size_t size, uint64_t *wait)
{
    struct view body = bytes_view(&reply->body);
    int code;
    bool has_retry_info;
    *wait = 0;
    if (media_type_is(reply->content_type, "application/x-protobuf") &&
        rpc_status_decode(body, &code, text, size, &has_retry_info, wait))
        return;
    *wait = 0;
    if (!otlp_http_is_json(reply) || !rpc_status_message_json(body, text, size))
        text_shown(body, text, size);
}

static struct outcome otlp_http_read_reply(struct otlp_http_exporter *self,
                                           const struct http_reply *reply)
{
    char text[128];
    uint64_t wait;
    if (reply->status == 0)
        return http_reply_failure(reply);
    struct outcome outcome = status_from_http(reply->status);
    if (http_reply_is_page(reply, &outcome))
        return outcome;
    if (outcome.verdict == VERDICT_OK)
        return read_success(self, reply);
    read_status(reply, text, sizeof text, &wait);
    http_reply_tell(reply, text, outcome.text, sizeof outcome.text);
    if (outcome.verdict == VERDICT_RETRY)
        outcome.retry_after_ns = wait > reply->retry_after_ns ? wait : reply->retry_after_ns;
    return outcome;
}

/* Sends one request. False: no memory, and there is no reply. */
static bool post(struct otlp_http_exporter *self, const struct batch *batch,
                 struct http_reply *reply)
{
    struct http_header headers[MAX_HEADERS];
    struct body body;
    bool encoded = encode_body(self, batch, &body);
    if (encoded)
        http_client_post_pieces(
            self->http, self->urls[batch->signal], headers, fill_headers(self, batch, headers),
            (struct pieces){body.runs, body.run_count}, batch_veto(batch), reply);
    body_release(&body);
    return encoded;
}

static struct outcome otlp_http_send(void *instance, struct batch *batch)
{
    struct otlp_http_exporter *self = instance;
    struct http_reply reply = {0};
    if (!self->urls[batch->signal])
        return outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "no endpoint for %s is configured",
                          signal_name(batch->signal));
    if (!post(self, batch, &reply))
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    struct outcome outcome = otlp_http_read_reply(self, &reply);
    http_reply_release(&reply);
    return outcome;
}

static bool otlp_http_probe(void *instance, enum signal signal, struct probe_result *result)
{
    struct otlp_http_exporter *self = instance;
    const struct dial dial = {.speech = DIAL_OTLP_HTTP,
                              .url = self->urls[signal],
                              .what = signal_name(signal),
                              .client = &self->client};
    struct http_reply reply;
    *result =
        (struct probe_result){.key = *self->endpoints[signal] ? endpoint_keys[signal] : "endpoint"};
    if (!dial.url) {
        snprintf(result->text, sizeof result->text, "no endpoint for %s is configured", dial.what);
        return false;
    }
    dial_where(&dial, result->where, sizeof result->where);
    struct batch *empty = batch_new(signal, BATCH_OTLP, buffer_new(0, NULL, false), 0, NULL);
    bool posted = empty && post(self, empty, &reply);
    batch_unref(empty);
    return dial_conclude(&dial, posted, &reply, result->text, sizeof result->text);
}

static void otlp_http_abort(void *instance)
{
    struct otlp_http_exporter *self = instance;
    http_client_abort(self->http);
}

static void otlp_http_close(void *instance)
{
    struct otlp_http_exporter *self = instance;
    http_client_free(self->http);
    self->http = NULL;
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        free(self->urls[i]);
        self->urls[i] = NULL;
    }
}

static const struct delivery *otlp_http_delivery(const void *instance)
{
    return &((const struct otlp_http_exporter *)instance)->delivery;
}

const struct component exporter_otlp_http = {
    .type = "otlp_http",
    .alias = "otlphttp",
    .text = "OTLP over HTTP, to Tempo or any OTLP endpoint",
    .stability = "beta",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP),
    .size = sizeof(struct otlp_http_exporter),
    .keys = keys,
    .check = otlp_http_check,
    .places = otlp_http_places,
    .url = url,
    .opens_quietly = true,
    .open = otlp_http_open,
    .gathers = true,
    .send = otlp_http_send,
    .probe = otlp_http_probe,
    .abort = otlp_http_abort,
    .delivery = otlp_http_delivery,
    .close = otlp_http_close,
};
