#include "exporters/pyroscope/pyroscope.h"

#include <stdio.h>
#include <stdlib.h>

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
    KEY_GROUP(struct pyroscope_exporter, delivery.retry, struct retry_settings,
              "retry_on_failure", retry_keys, "when and how long to try again"),
    KEY_END,
};

static void check(const void *config, struct key_report *report)
{
    const struct pyroscope_exporter *self = config;
    const char *why;
    if (*self->endpoint && !url_check(self->endpoint, &why))
        key_report_add(report, "endpoint", "\"%s\" is not a URL, %s", self->endpoint, why);
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

size_t add_metadata(const struct batch *batch, struct http_header *headers, size_t count)
{
    if (batch->metadata && batch->metadata->tenant)
        headers[count++] = (struct http_header){"X-Scope-OrgID", batch->metadata->tenant};
    if (batch->metadata && batch->metadata->authorization)
        headers[count++] = (struct http_header){"Authorization", batch->metadata->authorization};
    return count;
}

static struct outcome send_opaque(struct pyroscope_exporter *self, const struct batch *batch)
{
    struct http_header headers[3];
    struct http_reply reply = {0};
    char *url = NULL;
    const char *type = batch->opaque->content_type;
    size_t count = 0;
    if (asprintf(&url, "%s?%s", self->ingest_url, batch->opaque->query) < 0)
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    headers[count++] = (struct http_header){"Content-Type", type ? type : ""};
    count = add_metadata(batch, headers, count);
    http_client_post(self->http, url, headers, count, buffer_view(batch->payload), &reply);
    struct outcome outcome = ingest_outcome(&reply);
    http_reply_release(&reply);
    free(url);
    return outcome;
}

static struct outcome send_otlp(struct pyroscope_exporter *self, const struct batch *batch)
{
    struct http_header headers[4] = {{"Content-Type", "application/x-protobuf"}};
    struct http_reply reply = {0};
    struct bytes packed;
    struct view body = buffer_view(batch->payload);
    size_t count = 1;
    bytes_init(&packed, SIZE_MAX / 2, NULL);
    /* The server undoes gzip only. */
    if (compression_of(&self->client) != ENCODING_IDENTITY &&
        deflate_append(ENCODING_GZIP, body, &packed)) {
        headers[count++] = (struct http_header){"Content-Encoding", "gzip"};
        body = bytes_view(&packed);
    }
    count = add_metadata(batch, headers, count);
    http_client_post(self->http, self->otlp_url, headers, count, body, &reply);
    struct outcome outcome = push_outcome(&reply);
    http_reply_release(&reply);
    bytes_release(&packed);
    return outcome;
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
