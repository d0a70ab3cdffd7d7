/* OTLP over gRPC, unary calls. Codes: OTLP specification 1.11, "OTLP/gRPC response". */
#include "lib/net/endpoint.h"
#include "lib/net/http/client_keys.h"
#include "lib/net/http/dial.h"
#include "lib/wire/http/grpc_frame.h"
#include "lib/wire/http/status.h"
#include "pipeline/batch_veto.h"
#include "pipeline/component.h"
#include "pipeline/delivery/delivery.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_HEADERS = 5 };

struct otlp_grpc_exporter {
    char *endpoint;
    char *authority;
    struct client_settings client;
    struct delivery delivery;
    char *urls[SIGNAL_COUNT];
    char *base; /* what they have in common, as it is shown */
    struct http_client *http;
    const struct env *env;
};

static const struct key keys[] = {
    KEY_STRING(struct otlp_grpc_exporter, endpoint, "endpoint", NULL, KEY_REQUIRED,
               "host:port, or a URL; http:// is cleartext, https:// is TLS, unix:/path a socket"),
    CLIENT_KEYS(struct otlp_grpc_exporter, client, "5s"),
    KEY_STRING(
        struct otlp_grpc_exporter, authority, "authority", NULL, 0,
        "host (and port) to request, and to expect in the certificate, instead of the endpoint's"),
    KEY_INT(struct otlp_grpc_exporter, delivery.max_request_bytes, "max_request_bytes", "4000000",
            0, 2147483647, "size in uncompressed bytes above which requests are split; 0: never"),
    KEY_GROUP(struct otlp_grpc_exporter, delivery.queue, struct queue_settings, "sending_queue",
              queue_keys, "queue of requests for the backend"),
    KEY_GROUP(struct otlp_grpc_exporter, delivery.retry, struct retry_settings, "retry_on_failure",
              retry_keys, "when and how long to retry"),
    KEY_HINT("read_buffer_size", "accepted; spanlink sizes its own buffers"),
    KEY_HINT("write_buffer_size", "accepted; spanlink sizes its own buffers"),
    KEY_HINT("balancer_name", "accepted; one address is used"),
    KEY_HINT("keepalive", "accepted; a dead connection is replaced when it is needed"),
    KEY_HINT("compression_params", "accepted; each compression has its own level"),
    KEY_HINT("wait_for_ready", "accepted; failed requests are retried"),
    KEY_END,
};

static const char *const paths[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    [SIGNAL_METRICS] = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    [SIGNAL_LOGS] = "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    [SIGNAL_PROFILES] =
        "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
};

/* A parsed endpoint. */
struct target {
    bool tls;
    const char *authority; /* host:port */
    const char *unix_path; /* NULL: none */
};

static const char *without_prefix(const char *text, const char *prefix)
{
    size_t size = strlen(prefix);
    return strncasecmp(text, prefix, size) == 0 ? text + size : NULL;
}

static bool parse_target(const struct otlp_grpc_exporter *self, struct target *target, char *why,
                         size_t why_size)
{
    const char *text = self->endpoint, *rest;
    struct endpoint endpoint;
    const struct tls_client_settings *tls = &self->client.tls;
    bool has_ca = *tls->ca_file || *tls->ca_pem;
    *target = (struct target){.tls = !tls->insecure || has_ca};
    if ((rest = without_prefix(text, "http://"))) {
        target->tls = false;
        text = rest;
    } else if ((rest = without_prefix(text, "https://"))) {
        target->tls = true;
        text = rest;
    } else if ((rest = without_prefix(text, "dns:///")) ||
               (rest = without_prefix(text, "passthrough:///"))) {
        text = rest;
    }
    if (!endpoint_parse(text, false, &endpoint, why, why_size))
        return false;
    target->authority = text;
    if (*endpoint.unix_path) {
        /* The path is the end of the configured text, which outlives the client. */
        target->unix_path = text + strlen(text) - strlen(endpoint.unix_path);
        target->authority = "localhost";
    }
    return true;
}

static void otlp_grpc_check(const void *config, struct key_report *report)
{
    const struct otlp_grpc_exporter *self = config;
    struct target target;
    char why[160];
    if (*self->endpoint && !parse_target(self, &target, why, sizeof why))
        key_report_add(report, "endpoint", "%s", why);
    compression_check(&self->client, COMPRESSIONS_GRPC, "gRPC", report);
    client_check(&self->client, report);
    delivery_check(&self->delivery, report);
}

static void otlp_grpc_places(const void *config, place_visit_fn *visit, void *ctx)
{
    const struct otlp_grpc_exporter *self = config;
    struct target target;
    struct endpoint endpoint;
    struct place place = {.key = "endpoint"};
    char why[160];
    if (!*self->endpoint || !parse_target(self, &target, why, sizeof why))
        return;
    if (target.unix_path)
        snprintf(place.unix_path, sizeof place.unix_path, "%s", target.unix_path);
    else if (endpoint_parse(target.authority, false, &endpoint, why, sizeof why)) {
        memcpy(place.host, endpoint.host, sizeof place.host);
        memcpy(place.port, endpoint.service, sizeof place.port);
    }
    visit(ctx, &place);
}

/* False: no memory. */
static bool make_urls(struct otlp_grpc_exporter *self, const struct target *target)
{
    const char *scheme = target->tls ? "https" : "http";
    int made = target->unix_path ? asprintf(&self->base, "unix:%s", target->unix_path)
                                 : asprintf(&self->base, "%s://%s", scheme, target->authority);
    if (made < 0)
        self->base = NULL;
    for (int i = 0; i < SIGNAL_COUNT && made >= 0; i++)
        if ((made = asprintf(&self->urls[i], "%s://%s%s", scheme, target->authority, paths[i])) < 0)
            self->urls[i] = NULL;
    return made >= 0;
}

static bool otlp_grpc_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct otlp_grpc_exporter *self = instance;
    struct target target;
    self->env = env;
    if (!parse_target(self, &target, error, error_size) ||
        !client_reaches(target.tls ? "https:" : "http:", error, error_size))
        return false;
    if (!make_urls(self, &target)) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    self->http = client_open(&self->client, env->id, true, target.unix_path, self->authority, error,
                             error_size);
    return self->http != NULL;
}

static size_t fill_headers(const struct otlp_grpc_exporter *self, const struct batch *batch,
                           struct http_header headers[MAX_HEADERS])
{
    const struct metadata *sender = batch->metadata;
    size_t count = 0;
    enum encoding_name compression = compression_of(&self->client);
    headers[count++] = (struct http_header){"Content-Type", "application/grpc"};
    headers[count++] = (struct http_header){"TE", "trailers"};
    if (compression != ENCODING_IDENTITY)
        headers[count++] = (struct http_header){"grpc-encoding", encoding_text(compression)};
    if (!sender)
        return count;
    return client_sender(&self->client, headers, count, sender->tenant, sender->authorization);
}

/* One message: its prefix, and the payload's runs or their compressed form. */
struct message {
    uint8_t prefix[GRPC_PREFIX_SIZE];
    struct view *runs; /* the prefix is the first */
    size_t run_count;
    struct bytes packed;
};

static void message_release(struct message *message)
{
    bytes_release(&message->packed);
    free(message->runs);
}

/* False: no memory. */
static bool encode_message(const struct otlp_grpc_exporter *self, const struct buffer *payload,
                           struct message *message)
{
    enum encoding_name compression = compression_of(&self->client);
    if (compression == ENCODING_SNAPPY)
        compression = ENCODING_SNAPPY_FRAMED; /* gRPC's meaning of "snappy" */
    bool compressed = compression != ENCODING_IDENTITY;
    size_t size = payload->size, count = buffer_run_count(payload);
    bytes_init(&message->packed, UINT32_MAX, NULL);
    message->runs = malloc((1 + count) * sizeof(struct view));
    if (!message->runs)
        return false;
    buffer_runs(payload, message->runs + 1);
    if (compressed) {
        struct pieces content = {message->runs + 1, count};
        if (!deflate_append_pieces(compression, content, &message->packed))
            return false;
        message->runs[1] = bytes_view(&message->packed);
        size = message->packed.size;
        count = 1;
    }
    grpc_frame_prefix(message->prefix, compressed, (uint32_t)size);
    message->runs[0] = (struct view){message->prefix, GRPC_PREFIX_SIZE};
    message->run_count = 1 + count;
    return true;
}

static struct outcome read_success(const struct http_reply *reply)
{
    struct outcome outcome = OUTCOME_OK;
    struct view message;
    bool compressed;
    uint64_t rejected;
    if (grpc_frame_read(bytes_view(&reply->body), &compressed, &message) == GRPC_FRAME_OK &&
        !compressed &&
        export_response_decode(message, &rejected, outcome.text, sizeof outcome.text))
        outcome.rejected = rejected > UINT32_MAX ? UINT32_MAX : (uint32_t)rejected;
    return outcome;
}

/* Writes " from http://host:port"; "": not known. */
static void backend_of(const struct http_reply *reply, char *out, size_t size)
{
    const char *host = reply->from ? strstr(reply->from, "://") : NULL;
    *out = '\0';
    if (host)
        snprintf(out, size, " from %.*s",
                 (int)((size_t)(host + 3 - reply->from) + strcspn(host + 3, "/?")), reply->from);
}

static struct outcome read_failure(const struct http_reply *reply)
{
    int code = reply->grpc_status;
    char text[128];
    bool has_retry_info = false;
    uint64_t retry_after_ns = 0;
    if (reply->grpc_details.size)
        rpc_status_decode(bytes_view(&reply->grpc_details), &code, text, sizeof text,
                          &has_retry_info, &retry_after_ns);
    struct outcome outcome =
        status_from_grpc(reply->grpc_status, has_retry_info, reply->grpc_message);
    bool limited = reply->grpc_status == GRPC_RESOURCE_EXHAUSTED &&
                   outcome.verdict == VERDICT_REJECT && outcome.cause == CAUSE_UNAVAILABLE;
    char from[64], told[384];
    backend_of(reply, from, sizeof from);
    snprintf(told, sizeof told, "gRPC %s%s%s%s%s",
             grpc_code_name((enum grpc_code)reply->grpc_status), from,
             limited ? " without RetryInfo, so by OTLP it is not repeated" : "",
             *reply->grpc_message ? ": " : "", reply->grpc_message);
    snprintf(outcome.text, sizeof outcome.text, "%.*s", (int)sizeof outcome.text - 1, told);
    outcome.retry_after_ns = retry_after_ns;
    return outcome;
}

static struct outcome otlp_grpc_read_reply(const struct http_reply *reply)
{
    if (reply->status == 0)
        return http_reply_failure(reply);
    if (reply->grpc_status == GRPC_OK)
        return read_success(reply);
    if (reply->grpc_status > 0)
        return read_failure(reply);
    if (reply->status == 200)
        return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE,
                          "the response ended without a gRPC status");
    struct outcome outcome = status_from_http(reply->status);
    http_reply_tell(reply, "not a gRPC response; for OTLP over HTTP use the exporter otlp_http",
                    outcome.text, sizeof outcome.text);
    return outcome;
}

/* Sends one call. False: no memory, and there is no reply. */
static bool call(struct otlp_grpc_exporter *self, const struct batch *batch,
                 struct http_reply *reply)
{
    struct http_header headers[MAX_HEADERS];
    struct message message;
    bool encoded = encode_message(self, batch->payload, &message);
    if (encoded)
        http_client_post_pieces(
            self->http, self->urls[batch->signal], headers, fill_headers(self, batch, headers),
            (struct pieces){message.runs, message.run_count}, batch_veto(batch), reply);
    message_release(&message);
    return encoded;
}

static struct outcome otlp_grpc_send(void *instance, struct batch *batch)
{
    struct http_reply reply = {0};
    if (!call(instance, batch, &reply))
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    struct outcome outcome = otlp_grpc_read_reply(&reply);
    http_reply_release(&reply);
    return outcome;
}

static bool otlp_grpc_probe(void *instance, enum signal signal, struct probe_result *result)
{
    struct otlp_grpc_exporter *self = instance;
    struct target target;
    struct http_reply reply;
    *result = (struct probe_result){.key = "endpoint"};
    if (!parse_target(self, &target, result->text, sizeof result->text))
        return false;
    const struct dial dial = {.speech = DIAL_OTLP_GRPC,
                              .url = self->urls[signal],
                              .unix_path = target.unix_path,
                              .what = signal_name(signal),
                              .client = &self->client};
    dial_where(&dial, result->where, sizeof result->where);
    struct batch *empty = batch_new(signal, BATCH_OTLP, buffer_new(0, NULL, false), 0, NULL);
    bool posted = empty && call(self, empty, &reply);
    batch_unref(empty);
    return dial_conclude(&dial, posted, &reply, result->text, sizeof result->text);
}

static void otlp_grpc_abort(void *instance)
{
    struct otlp_grpc_exporter *self = instance;
    http_client_abort(self->http);
}

static void otlp_grpc_close(void *instance)
{
    struct otlp_grpc_exporter *self = instance;
    http_client_free(self->http);
    self->http = NULL;
    free(self->base);
    self->base = NULL;
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        free(self->urls[i]);
        self->urls[i] = NULL;
    }
}

/* Without the path of the service, which is the same for every backend. */
static const char *otlp_grpc_url(const void *instance, enum signal signal)
{
    (void)signal;
    return ((const struct otlp_grpc_exporter *)instance)->base;
}

static const struct delivery *otlp_grpc_delivery(const void *instance)
{
    return &((const struct otlp_grpc_exporter *)instance)->delivery;
}

const struct component exporter_otlp_grpc = {
    .type = "otlp_grpc",
    .alias = "otlp",
    .text = "OTLP over gRPC, to Tempo or any OTLP endpoint",
    .stability = "beta",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP),
    .size = sizeof(struct otlp_grpc_exporter),
    .keys = keys,
    .check = otlp_grpc_check,
    .places = otlp_grpc_places,
    .url = otlp_grpc_url,
    .opens_quietly = true,
    .open = otlp_grpc_open,
    .gathers = true,
    .send = otlp_grpc_send,
    .probe = otlp_grpc_probe,
    .abort = otlp_grpc_abort,
    .delivery = otlp_grpc_delivery,
    .close = otlp_grpc_close,
};
