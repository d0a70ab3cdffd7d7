#include "exporters/pyroscope/pyroscope.h"

#include "net/http_server.h"
#include "wire/ingest_time.h"
#include "wire/otlp.h"

#include <stdio.h>
#include <stdlib.h>

enum { PACKED_CAP = 1 << 30, PROFILE_TIME_UNIX_NANO = 3 };

/* A stock server refuses what is older than an hour; a retry takes its time too. */
static const uint64_t OLDEST_NS = 55 * 60 * NS_PER_S;

static const struct key keys[] = {
    KEY_STRING(struct pyroscope_exporter, endpoint, "endpoint", NULL, KEY_REQUIRED,
               "base URL of the server, e.g. http://pyroscope:4040"),
    CLIENT_KEYS(struct pyroscope_exporter, client, "30s"),
    KEY_MAP(struct pyroscope_exporter, external_labels, "external_labels", NULL, 0,
            "labels set on every series, e.g. pod"),
    KEY_INT(struct pyroscope_exporter, max_profile_samples, "max_profile_samples", "16000", 1,
            2147483647, "profiles with more samples are split"),
    KEY_INT(struct pyroscope_exporter, max_profile_bytes, "max_profile_bytes", "1900000", 1000,
            2147483647, "larger profiles are split, inflated bytes"),
    KEY_INT(struct pyroscope_exporter, max_labels, "max_labels", "30", 4, 1000,
            "labels of a series, those that the server makes of samples included"),
    KEY_GROUP(struct pyroscope_exporter, delivery.queue, struct queue_settings, "sending_queue",
              queue_keys, "what waits for the backend"),
    KEY_GROUP(struct pyroscope_exporter, delivery.retry, struct retry_settings, "retry_on_failure",
              retry_keys, "when and how long to try again"),
    KEY_END,
};

static void check(const void *config, struct key_report *report)
{
    const struct pyroscope_exporter *self = config;
    const char *why;
    if (*self->endpoint && !url_check(self->endpoint, &why))
        key_report_add(report, "endpoint", "\"%s\" is not a URL, %s", self->endpoint, why);
    if (compression_of(&self->client) == ENCODING_ZSTD)
        key_report_add(report, "compression",
                       "is zstd, which Pyroscope does not read, expected "
                       "gzip or none");
    client_check(&self->client, report);
    delivery_check(&self->delivery, report);
}

static bool pyroscope_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct pyroscope_exporter *self = instance;
    self->env = env;
    self->push_url = url_join(self->endpoint, "/push.v1.PusherService/Push");
    self->otlp_url = url_join(self->endpoint, "/v1development/profiles");
    self->ingest_url = url_join(self->endpoint, "/ingest");
    self->http = client_open(&self->client, false, NULL, error, error_size);
    return self->http && self->push_url && self->otlp_url && self->ingest_url;
}

static bool closed_by_age(const struct pyroscope_exporter *self, uint64_t time_ns)
{
    return time_ns && clock_wall(self->env->clock) > time_ns + OLDEST_NS;
}

struct outcome send_post(struct pyroscope_exporter *self, const struct batch *batch,
                         const struct post *post,
                         struct outcome (*meaning)(const struct http_reply *reply))
{
    const struct metadata *sender = batch->metadata;
    struct http_header headers[4];
    struct http_reply reply = {0};
    struct bytes packed;
    struct view body = post->body;
    size_t count = 0;
    bytes_init(&packed, PACKED_CAP, NULL);
    headers[count++] = (struct http_header){"Content-Type", post->content_type};
    if (post->gzip && compression_of(&self->client) == ENCODING_GZIP &&
        deflate_append(ENCODING_GZIP, body, &packed)) {
        headers[count++] = (struct http_header){"Content-Encoding", "gzip"};
        body = bytes_view(&packed);
    }
    if (sender)
        count = client_sender(headers, count, sender->tenant, sender->authorization);
    http_client_post(self->http, post->url, headers, count, body, &reply);
    struct outcome outcome = meaning(&reply);
    http_reply_release(&reply);
    bytes_release(&packed);
    if (outcome.verdict == VERDICT_RETRY && closed_by_age(self, post->time_ns))
        return outcome_of(VERDICT_REJECT, CAUSE_UNAVAILABLE,
                          "older than the hour that Pyroscope takes, not tried again after: %.100s",
                          outcome.text);
    return outcome;
}

/* The query's `from`; its sender has no other time for us to read. */
static uint64_t opaque_time(const struct opaque_request *opaque)
{
    char text[32];
    return http_query_get(opaque->query, "from", text, sizeof text) ? ingest_time_parse(text) : 0;
}

static struct outcome send_opaque(struct pyroscope_exporter *self, const struct batch *batch)
{
    const struct opaque_request *opaque = batch->opaque;
    char *url = NULL;
    if (asprintf(&url, "%s?%s", self->ingest_url, opaque->query) < 0)
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    struct post post = {.url = url,
                        .content_type = opaque->content_type ? opaque->content_type : "",
                        .body = buffer_view(batch->payload),
                        .time_ns = opaque_time(opaque)};
    struct outcome outcome = send_post(self, batch, &post, ingest_outcome);
    free(url);
    return outcome;
}

/* The newest one of a request's profiles; 0: one has no time, which the server takes for now. */
static uint64_t otlp_time(struct view request)
{
    struct otlp_walk walk;
    struct proto_field time;
    uint64_t newest = 0;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step != OTLP_ITEM)
            continue;
        if (!proto_find(walk.item.bytes, PROFILE_TIME_UNIX_NANO, WIRE_I64, &time))
            return 0;
        newest = time.value > newest ? time.value : newest;
    }
    return newest;
}

static struct outcome send_otlp(struct pyroscope_exporter *self, const struct batch *batch)
{
    struct view request = buffer_view(batch->payload);
    struct post post = {.url = self->otlp_url,
                        .content_type = "application/x-protobuf",
                        .body = request,
                        .gzip = true,
                        .time_ns = otlp_time(request)};
    return send_post(self, batch, &post, push_outcome);
}

static struct outcome pyroscope_send(void *instance, struct batch *batch)
{
    struct pyroscope_exporter *self = instance;
    switch (batch->encoding) {
    case BATCH_PPROF:
        return send_pprof(self, batch);
    case BATCH_OTLP:
        return send_otlp(self, batch);
    case BATCH_OPAQUE:
        break;
    }
    return send_opaque(self, batch);
}

static void pyroscope_abort(void *instance)
{
    struct pyroscope_exporter *self = instance;
    http_client_abort(self->http);
}

static void pyroscope_explain(void *instance, struct bytes *out)
{
    struct pyroscope_exporter *self = instance;
    bytes_printf(out, "%s: series labels cut to max_labels %llu\n", self->env->id,
                 (unsigned long long)atomic_load(&self->labels_cut));
}

static void pyroscope_close(void *instance)
{
    struct pyroscope_exporter *self = instance;
    http_client_free(self->http);
    free(self->push_url);
    free(self->otlp_url);
    free(self->ingest_url);
    self->http = NULL;
    self->push_url = self->otlp_url = self->ingest_url = NULL;
}

static const struct delivery *pyroscope_delivery(const void *instance)
{
    return &((const struct pyroscope_exporter *)instance)->delivery;
}

const struct component exporter_pyroscope = {
    .type = "pyroscope",
    .text = "profiles to a Pyroscope server: pprof by Push, the rest as it came",
    .stability = "beta",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNAL_BIT(SIGNAL_PROFILES),
    .encodings = BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OTLP) | BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct pyroscope_exporter),
    .keys = keys,
    .check = check,
    .open = pyroscope_open,
    .send = pyroscope_send,
    .abort = pyroscope_abort,
    .delivery = pyroscope_delivery,
    .explain = pyroscope_explain,
    .close = pyroscope_close,
};
