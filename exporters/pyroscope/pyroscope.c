#include "exporters/pyroscope/pyroscope.h"

#include "lib/net/http/dial.h"
#include "pipeline/batch_veto.h"

#include <stdlib.h>

enum { PACKED_CAP = 1 << 30 };

/* A stock server refuses profiles older than an hour, and a retry takes time too. */
static const uint64_t OLDEST_NS = 55 * 60 * NS_PER_S;

static const char *const protocols[] = {"auto", "push", "otlp", NULL};
static const char *const trace_id_words[] = {"keep", "strip", NULL};

static const struct key keys[] = {
    KEY_STRING(struct pyroscope_exporter, endpoint, "endpoint", NULL, KEY_REQUIRED,
               "base URL of the server, e.g. http://pyroscope:4040"),
    KEY_CHOICE(struct pyroscope_exporter, protocol, "protocol", "auto", protocols,
               "push: all as pprof through Push; auto: the same, but profiles that cannot be "
               "converted as OTLP; otlp: all to the OTLP endpoint"),
    KEY_CHOICE(struct pyroscope_exporter, trace_id, "trace_id", "keep", trace_id_words,
               "trace_id labels of pushed samples; strip them for servers before 2.1"),
    CLIENT_KEYS(struct pyroscope_exporter, client, "30s"),
    KEY_MAP(struct pyroscope_exporter, external_labels, "external_labels", NULL, 0,
            "labels to set on every series, e.g. pod"),
    KEY_INT(struct pyroscope_exporter, max_profile_samples, "max_profile_samples", "16000", 1,
            2147483647, "profiles with more samples are split"),
    KEY_INT(struct pyroscope_exporter, max_profile_bytes, "max_profile_bytes", "1900000", 1000,
            2147483647, "size in uncompressed bytes above which profiles are split"),
    KEY_INT(struct pyroscope_exporter, max_labels, "max_labels", "30", 4, 1000,
            "labels of a series, including those that the server makes from samples"),
    KEY_GROUP(struct pyroscope_exporter, delivery.queue, struct queue_settings, "sending_queue",
              queue_keys, "queue of requests for the backend"),
    KEY_GROUP(struct pyroscope_exporter, delivery.retry, struct retry_settings, "retry_on_failure",
              retry_keys, "when and how long to retry"),
    KEY_END,
};

/* Labels by which Grafana looks a span's profiles up. */
static void warn_of_labels(const struct key_map *labels, struct key_report *report)
{
    for (size_t i = 0; i < labels->count; i++)
        if (links_need(view_of(labels->pairs[i].name)))
            key_report_warn(report, "external_labels",
                            "%s replaces that of every profile: Grafana looks a span's profiles up "
                            "by it, so links find nothing where it was another",
                            labels->pairs[i].name);
}

static void pyroscope_check(const void *config, struct key_report *report)
{
    const struct pyroscope_exporter *self = config;
    url_report("endpoint", self->endpoint, report);
    compression_check(&self->client, ENCODING_BIT(ENCODING_IDENTITY) | ENCODING_BIT(ENCODING_GZIP),
                      "Pyroscope", report);
    client_check(&self->client, report);
    warn_of_labels(&self->external_labels, report);
    delivery_check(&self->delivery, report);
}

static const char *url(const void *instance, enum signal signal)
{
    const struct pyroscope_exporter *self = instance;
    return signal == SIGNAL_PROFILES ? self->push_url : NULL;
}

static void pyroscope_places(const void *config, place_visit_fn *visit, void *ctx)
{
    const struct pyroscope_exporter *self = config;
    if (*self->endpoint)
        url_place("endpoint", self->endpoint, visit, ctx);
}

static bool pyroscope_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct pyroscope_exporter *self = instance;
    self->env = env;
    if (!client_reaches(self->endpoint, error, error_size))
        return false;
    self->push_url = url_join(self->endpoint, "/push.v1.PusherService/Push");
    self->otlp_url = url_join(self->endpoint, "/v1development/profiles");
    self->ingest_url = url_join(self->endpoint, "/ingest");
    self->http = client_open(&self->client, env->id, false, NULL, NULL, error, error_size);
    return self->http && self->push_url && self->otlp_url && self->ingest_url;
}

static bool closed_by_age(const struct pyroscope_exporter *self, uint64_t time_ns)
{
    return time_ns && clock_wall(self->env->clock) > time_ns + OLDEST_NS;
}

struct outcome send_post(struct pyroscope_exporter *self, const struct batch *batch,
                         struct post *post,
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
        count = client_sender(&self->client, headers, count, sender->tenant, sender->authorization);
    http_client_post_pieces(self->http, post->url, headers, count, (struct pieces){&body, 1},
                            batch_veto(batch), &reply);
    struct outcome outcome = meaning(&reply);
    post->status = reply.status;
    http_reply_release(&reply);
    bytes_release(&packed);
    if (outcome.verdict == VERDICT_RETRY && outcome.cause != CAUSE_REVOKED &&
        closed_by_age(self, post->time_ns))
        return outcome_of(VERDICT_REJECT, CAUSE_UNAVAILABLE,
                          "older than the hour that Pyroscope accepts, not retried after: %.100s",
                          outcome.text);
    return outcome;
}

static struct outcome pyroscope_send_on(void *instance, struct batch *batch,
                                        struct progress *progress)
{
    struct pyroscope_exporter *self = instance;
    switch (batch->encoding) {
    case BATCH_PPROF:
        return self->protocol == PROTOCOL_OTLP ? send_pprof_as_otlp(self, batch, progress)
                                               : send_pprof(self, batch, progress);
    case BATCH_OTLP:
        return self->protocol == PROTOCOL_OTLP ? send_otlp(self, batch)
                                               : send_profiles(self, batch, progress);
    case BATCH_OPAQUE:
        break;
    }
    return send_opaque(self, batch);
}

static struct outcome pyroscope_send(void *instance, struct batch *batch)
{
    struct progress progress = {0};
    return pyroscope_send_on(instance, batch, &progress);
}

/* Sends an empty Push, or an empty OTLP request. */
static bool pyroscope_probe(void *instance, enum signal signal, struct probe_result *result)
{
    struct pyroscope_exporter *self = instance;
    bool otlp = self->protocol == PROTOCOL_OTLP;
    const struct http_header header = {"Content-Type",
                                       otlp ? "application/x-protobuf" : "application/proto"};
    const struct dial dial = {.speech = DIAL_PYROSCOPE,
                              .url = otlp ? self->otlp_url : self->push_url,
                              .what = signal_name(signal),
                              .client = &self->client};
    struct http_reply reply;
    *result = (struct probe_result){.key = "endpoint"};
    dial_where(&dial, result->where, sizeof result->where);
    http_client_post(self->http, dial.url, &header, 1, (struct view){0}, &reply);
    return dial_conclude(&dial, true, &reply, result->text, sizeof result->text);
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
    .text = "profiles to a Pyroscope server: pprof and OTLP through Push, others unchanged",
    .stability = "beta",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNAL_BIT(SIGNAL_PROFILES),
    .encodings = BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OTLP) | BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct pyroscope_exporter),
    .keys = keys,
    .check = pyroscope_check,
    .places = pyroscope_places,
    .url = url,
    .opens_quietly = true,
    .open = pyroscope_open,
    .send = pyroscope_send,
    .send_on = pyroscope_send_on,
    .probe = pyroscope_probe,
    .abort = pyroscope_abort,
    .delivery = pyroscope_delivery,
    .explain = pyroscope_explain,
    .close = pyroscope_close,
};
