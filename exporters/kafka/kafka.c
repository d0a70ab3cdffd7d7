#include "exporters/kafka/attempt.h"

#include "exporters/kafka/producer.h"
#include "exporters/kafka/topic_limits.h"
#include "lib/base/log.h"
#include "lib/kafka/kafka_throttle.h"
#include "pipeline/native_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const otlp_encodings[] = {"", "otlp_proto", "otlp_json", NULL};
static const char *const profile_encodings[] = {"", "otlp_proto", "otlp_json", "native", NULL};
static const char *const acks_words[] = {"all", "-1", "1", "0", NULL};
static const char *const compressions[] = {"none", "gzip", "snappy", "lz4", "zstd", NULL};
enum { ACKS_NONE = 3 };

#define ROUTE_KEYS(name, words, topic_text, encoding_text)                                         \
    static const struct key name[] = {                                                             \
        KEY_STRING(struct kafka_route, topic, "topic", NULL, 0, topic_text),                       \
        KEY_CHOICE(struct kafka_route, encoding, "encoding", "", words, encoding_text),            \
        KEY_END,                                                                                   \
    }
ROUTE_KEYS(traces_keys, otlp_encodings, "topic; empty: otlp_spans", "empty: otlp_proto");
ROUTE_KEYS(metrics_keys, otlp_encodings, "topic; empty: otlp_metrics", "empty: otlp_proto");
ROUTE_KEYS(logs_keys, otlp_encodings, "topic; empty: otlp_logs", "empty: otlp_proto");
ROUTE_KEYS(profiles_keys, profile_encodings,
           "topic; empty: otlp_profiles, with encoding native spanlink_profiles",
           "native: as received, for spanlink only; empty: otlp_proto");

static const struct key compression_keys[] = {
    KEY_INT(struct kafka_compression_params, level, "level", "-1", -1, 22,
            "level of gzip, lz4 or zstd; -1: the library's default"),
    KEY_END,
};

static const struct key produce_keys[] = {
    KEY_INT(struct kafka_produce, max_message_bytes, "max_message_bytes", "1000000", LEAST_RECORD,
            1000000000, "largest record before compression; larger ones are split"),
    KEY_CHOICE(struct kafka_produce, required_acks, "required_acks", "all", acks_words,
               "which replicas must have a record; all: an idempotent producer"),
    KEY_CHOICE(struct kafka_produce, compression, "compression", "none", compressions,
               "compression of record batches"),
    KEY_GROUP(struct kafka_produce, params, struct kafka_compression_params, "compression_params",
              compression_keys, "how hard to compress"),
    KEY_INT(struct kafka_produce, flush_max_messages, "flush_max_messages", "10000", 0, 1000000,
            "most records in one request to a broker; 0: the library's default"),
    KEY_DURATION(struct kafka_produce, linger, "linger", "10ms", 0,
                 "after records were sent, the time in which others gather for one request"),
    KEY_IGNORED("allow_auto_topic_creation", "accepted; the brokers' setting decides"),
    KEY_END,
};

static const struct key keys[] = {
    KAFKA_KEYS(struct kafka_exporter, kafka),
    KEY_GROUP(struct kafka_exporter, routes[SIGNAL_TRACES], struct kafka_route, "traces",
              traces_keys, "records of spans"),
    KEY_GROUP(struct kafka_exporter, routes[SIGNAL_METRICS], struct kafka_route, "metrics",
              metrics_keys, "records of metrics"),
    KEY_GROUP(struct kafka_exporter, routes[SIGNAL_LOGS], struct kafka_route, "logs", logs_keys,
              "records of logs"),
    KEY_GROUP(struct kafka_exporter, routes[SIGNAL_PROFILES], struct kafka_route, "profiles",
              profiles_keys, "records of profiles"),
    KEY_STRING(struct kafka_exporter, all.topic, "topic", NULL, 0,
               "old form: topic of every signal that has none of its own"),
    KEY_CHOICE(struct kafka_exporter, all.encoding, "encoding", "", otlp_encodings,
               "old form: encoding of every signal that has none of its own"),
    KEY_LIST(struct kafka_exporter, partition_by, "partition_by", NULL,
             "[service, source]: spans and profiles of one process go to one partition number; the "
             "default with profiles.encoding native; [none]: off"),
    KEY_STRING(struct kafka_exporter, source, "source", NULL, 0,
               "this sidecar in the key; empty: the pod's uid in POD_UID, else HOSTNAME"),
    KEY_BOOL(struct kafka_exporter, traces_by_id, "partition_traces_by_id", "false",
             "a record for each trace, with its id as key"),
    KEY_BOOL(struct kafka_exporter, metrics_by_resource, "partition_metrics_by_resource_attributes",
             "false", "a record for each resource, with a hash of it as key"),
    KEY_BOOL(struct kafka_exporter, logs_by_resource, "partition_logs_by_resource_attributes",
             "false", "the same for logs"),
    KEY_LIST(struct kafka_exporter, metadata_keys, "include_metadata_keys", NULL,
             "request headers to send as record headers: X-Scope-OrgID, Authorization"),
    KEY_STRING(struct kafka_exporter, topic_from_attribute, "topic_from_attribute", NULL, 0,
               "resource attribute with the topic for that resource's data"),
    KEY_GROUP(struct kafka_exporter, produce, struct kafka_produce, "producer", produce_keys,
              "how records are produced"),
    KEY_DURATION(struct kafka_exporter, timeout, "timeout", "0s", 0,
                 "time limit of one attempt, in which the client itself retries in order and "
                 "without making duplicates; 0: none, or 30s if a client waits or "
                 "retry_on_failure ends"),
    KEY_GROUP(struct kafka_exporter, delivery.queue, struct queue_settings, "sending_queue",
              queue_keys, "queue of requests for the brokers"),
    KEY_GROUP(struct kafka_exporter, delivery.retry, struct retry_settings, "retry_on_failure",
              retry_keys, "when and how long to retry"),
    KEY_END,
};

/* ---- settings ---- */

static bool is_native(const struct kafka_exporter *self)
{
    return self->routes[SIGNAL_PROFILES].encoding == KAFKA_NATIVE;
}

enum kafka_encoding kafka_encoding(const struct kafka_exporter *self, enum signal signal)
{
    int own = self->routes[signal].encoding;
    int encoding = own ? own : self->all.encoding;
    return encoding ? (enum kafka_encoding)encoding : KAFKA_OTLP_PROTO;
}

const char *kafka_topic(const struct kafka_exporter *self, enum signal signal)
{
    static const char *const topics[SIGNAL_COUNT] = {"otlp_spans", "otlp_metrics", "otlp_logs",
                                                     "otlp_profiles"};
    const char *own = self->routes[signal].topic;
    if (own && *own)
        return own;
    if (self->all.topic && *self->all.topic)
        return self->all.topic;
    return signal == SIGNAL_PROFILES && is_native(self) ? "spanlink_profiles" : topics[signal];
}

static bool by_process(const struct kafka_exporter *self)
{
    if (self->partition_by.count == 0)
        return is_native(self);
    return strcasecmp(self->partition_by.items[0], "none") != 0;
}

enum kafka_key kafka_key_of(const struct kafka_exporter *self, enum signal signal)
{
    if (signal == SIGNAL_TRACES && self->traces_by_id)
        return KAFKA_KEY_TRACE;
    if ((signal == SIGNAL_METRICS && self->metrics_by_resource) ||
        (signal == SIGNAL_LOGS && self->logs_by_resource))
        return KAFKA_KEY_RESOURCE;
    bool paired = signal == SIGNAL_TRACES || signal == SIGNAL_PROFILES;
    return paired && by_process(self) ? KAFKA_KEY_PROCESS : KAFKA_KEY_NONE;
}

static void find_source(struct kafka_exporter *self)
{
    static const char *const variables[] = {"POD_UID", "HOSTNAME"};
    snprintf(self->own_source, sizeof self->own_source, "%s", self->source);
    for (size_t i = 0; !*self->own_source && i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        snprintf(self->own_source, sizeof self->own_source, "%s", value ? value : "");
    }
    if (!*self->own_source && gethostname(self->own_source, sizeof self->own_source) != 0)
        *self->own_source = '\0';
    self->own_source[sizeof self->own_source - 1] = '\0';
}

/* ---- checks ---- */

static void check_partition(const struct kafka_exporter *self, struct key_report *report)
{
    const struct key_list *by = &self->partition_by;
    bool none = by->count == 1 && strcasecmp(by->items[0], "none") == 0;
    bool both = by->count == 2 && strcasecmp(by->items[0], "service") == 0 &&
                strcasecmp(by->items[1], "source") == 0;
    if (by->count && !none && !both)
        key_report_add(report, "partition_by", "expected [service, source] or [none]");
    if (both && self->traces_by_id)
        key_report_add(report, "partition_by",
                       "contradicts partition_traces_by_id: a record has one key");
    else if (is_native(self) && self->traces_by_id)
        key_report_warn(report, "partition_traces_by_id",
                        "takes spans away from the partition of their process's profiles");
}

static void check_metadata(const struct key_list *keys_given, struct key_report *report)
{
    for (size_t i = 0; i < keys_given->count; i++)
        if (strcasecmp(keys_given->items[i], NATIVE_TENANT) != 0 &&
            strcasecmp(keys_given->items[i], "authorization") != 0)
            key_report_add(report, "include_metadata_keys",
                           "has \"%s\"; receivers keep only X-Scope-OrgID and Authorization",
                           keys_given->items[i]);
}

static void check_topics(const struct kafka_exporter *self, struct key_report *report)
{
    static const char *const names[SIGNAL_COUNT] = {"traces.topic", "metrics.topic", "logs.topic",
                                                    "profiles.topic"};
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (*self->routes[i].topic && !kafka_topic_legal(view_of(self->routes[i].topic)))
            key_report_add(report, names[i], KAFKA_TOPIC_EXPECTED);
    if (*self->all.topic && !kafka_topic_legal(view_of(self->all.topic)))
        key_report_add(report, "topic", KAFKA_TOPIC_EXPECTED);
    if (*self->all.topic)
        key_report_warn(report, "topic", "is the old form: use traces.topic and so on");
    if (self->all.encoding)
        key_report_warn(report, "encoding", "is the old form: use traces.encoding and so on");
}

static void kafka_check(const void *config, struct key_report *report)
{
    const struct kafka_exporter *self = config;
    kafka_settings_check(&self->kafka, report);
    check_partition(self, report);
    check_metadata(&self->metadata_keys, report);
    check_topics(self, report);
    if (self->produce.required_acks == ACKS_NONE)
        key_report_warn(report, "producer.required_acks",
                        "is 0: what a broker did not receive counts as delivered");
    delivery_check(&self->delivery, report);
}

/* ---- life ---- */

static void kafka_places(const void *config, place_visit_fn *visit, void *ctx)
{
    kafka_settings_places(&((const struct kafka_exporter *)config)->kafka, visit, ctx);
}

/* Whether librdkafka takes the settings; nothing is connected. */
static void kafka_rehearse(const void *config, struct key_report *report)
{
    const struct kafka_exporter *self = config;
    struct kafka_peer peer;
    char error[512];
    kafka_peer_init(&peer, "kafka", NULL);
    rd_kafka_conf_t *conf = kafka_conf_new(&self->kafka, &peer, error, sizeof error);
    if (conf)
        rdkafka.conf_destroy(conf);
    else
        key_report_sentence(report, error);
    kafka_peer_release(&peer);
}

static bool kafka_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct kafka_exporter *self = instance;
    self->env = env;
    kafka_peer_init(&self->peer, env->id, self);
    pthread_mutex_init(&self->concern_lock, NULL);
    self->open = true;
    atomic_store(&self->batch_bytes, (size_t)self->produce.max_message_bytes);
    find_source(self);
    self->absent = calloc(1, sizeof *self->absent);
    if (!self->absent) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    absent_topics_init(self->absent);
    self->producer = producer_new(self, error, error_size);
    return self->producer != NULL;
}

static void kafka_abort(void *instance)
{
    struct kafka_exporter *self = instance;
    atomic_store(&self->aborted, true);
    producer_abort(self->producer);
}

static void kafka_close(void *instance)
{
    struct kafka_exporter *self = instance;
    producer_free(self->producer);
    self->producer = NULL;
    if (self->open) {
        kafka_peer_release(&self->peer);
        pthread_mutex_destroy(&self->concern_lock);
    }
    topic_limits_release(self);
    if (self->absent)
        absent_topics_release(self->absent);
    free(self->absent);
    self->absent = NULL;
    self->open = false;
}

/* ---- sending ---- */

static void send_records(struct attempt *attempt)
{
    struct record *window[WINDOW];
    while (attempt_has_more(attempt)) {
        producer_send(attempt->self->producer, window, attempt_window(attempt, window),
                      attempt->progress);
        attempt_note_window(attempt);
    }
}

static struct outcome kafka_send_on(void *instance, struct batch *batch, struct progress *progress)
{
    struct kafka_exporter *self = instance;
    struct attempt attempt = {.self = self, .batch = batch, .progress = progress};
    struct outcome outcome;
    do {
        outcome = attempt_make(&attempt);
        if (outcome.verdict == VERDICT_OK)
            send_records(&attempt);
        attempt_release(&attempt);
    } while (outcome.verdict == VERDICT_OK && attempt.remake && !atomic_load(&self->aborted));
    return outcome.verdict == VERDICT_OK ? attempt_outcome(&attempt) : outcome;
}

/* Sends the first window of all batches; those that it was not enough for are not finished. */
static void send_windows(struct attempt *attempts, struct joint_send *sends, size_t count)
{
    struct kafka_exporter *self = attempts->self;
    struct record **windows = reallocarray(NULL, count * WINDOW, sizeof *windows);
    size_t total = 0;
    for (size_t i = 0; windows && i < count; i++)
        if (!sends[i].finished)
            total += attempt_window(&attempts[i], windows + total);
    if (total > 0)
        producer_send(self->producer, windows, total, sends->progress);
    for (size_t i = 0; windows && i < count; i++) {
        if (sends[i].finished)
            continue;
        attempt_note_window(&attempts[i]);
        sends[i].finished = !attempts[i].remake && !attempt_has_more(&attempts[i]);
        sends[i].outcome = attempt_outcome(&attempts[i]);
    }
    free(windows);
}

static void kafka_send_together(void *instance, struct joint_send *sends, size_t count)
{
    struct attempt *attempts = calloc(count, sizeof *attempts);
    for (size_t i = 0; attempts && i < count; i++) {
        attempts[i] = (struct attempt){
            .self = instance, .batch = sends[i].batch, .progress = sends[i].progress};
        sends[i].outcome = attempt_make(&attempts[i]);
        sends[i].finished = sends[i].outcome.verdict != VERDICT_OK;
    }
    if (attempts)
        send_windows(attempts, sends, count);
    for (size_t i = 0; attempts && i < count; i++)
        attempt_release(&attempts[i]);
    free(attempts);
}

static struct outcome kafka_send(void *instance, struct batch *batch)
{
    struct progress progress = {0};
    return kafka_send_on(instance, batch, &progress);
}

static bool kafka_probe(void *instance, enum signal signal, struct probe_result *result)
{
    struct kafka_exporter *self = instance;
    *result = (struct probe_result){.key = "brokers"};
    snprintf(result->where, sizeof result->where, "%s", self->kafka.brokers.items[0]);
    snprintf(result->found, sizeof result->found,
             "have the topic %.200s at %.100s; writing was not tested", kafka_topic(self, signal),
             result->where);
    return producer_probe(self->producer, signal, result->text, sizeof result->text);
}

static bool kafka_concern(void *instance, struct bytes *out)
{
    struct kafka_exporter *self = instance;
    char text[KAFKA_TROUBLE_SIZE];
    pthread_mutex_lock(&self->concern_lock);
    bytes_printf(out, "%s", self->unequal);
    pthread_mutex_unlock(&self->concern_lock);
    if (kafka_throttle_lasts(&self->peer, text, sizeof text))
        bytes_printf(out, "%s%s", out->size ? "; " : "", text);
    return out->size > 0;
}

static void kafka_explain(void *instance, struct bytes *out)
{
    struct kafka_exporter *self = instance;
    const char *id = self->env->id;
    bytes_printf(out,
                 "%s: records %" PRIu64 " (%" PRIu64 " bytes), parts of larger values %" PRIu64
                 ", refused for good %" PRIu64 ", redirected %" PRIu64 ", under way %" PRIu64
                 "; %" PRIu64 " errors of brokers\n",
                 id, atomic_load(&self->records), atomic_load(&self->bytes),
                 atomic_load(&self->record_parts), atomic_load(&self->records_refused),
                 atomic_load(&self->records_redirected), atomic_load(&self->under_way),
                 atomic_load(&self->peer.errors));
    struct bytes concern;
    bytes_init(&concern, 512, NULL);
    if (kafka_concern(self, &concern))
        bytes_printf(out, "%s: %.*s\n", id, VIEW_ARG(bytes_view(&concern)));
    bytes_release(&concern);
}

static const struct metric metrics[] = {
    METRIC_FIELD(struct kafka_exporter, records, "spanlink_kafka_sent_records", METRIC_COUNTER,
                 METRIC_BASIC, "{records}", "Records that the brokers acknowledged."),
    METRIC_FIELD(struct kafka_exporter, bytes, "spanlink_kafka_sent_bytes", METRIC_COUNTER,
                 METRIC_BASIC, "By", "Bytes of their values, before compression."),
    METRIC_FIELD(struct kafka_exporter, records_refused, "spanlink_kafka_refused_records",
                 METRIC_COUNTER, METRIC_BASIC, "{records}",
                 "Records that a broker refused for good; dropped."),
    METRIC_FIELD(struct kafka_exporter, records_redirected, "spanlink_kafka_redirected_records",
                 METRIC_COUNTER, METRIC_BASIC, "{records}",
                 "Records for a topic that does not exist, written to the configured one."),
    METRIC_FIELD(struct kafka_exporter, under_way, "spanlink_kafka_records_under_way", METRIC_GAUGE,
                 METRIC_BASIC, "{records}", "Records that wait for a broker's acknowledgement."),
    METRIC_FIELD(struct kafka_exporter, peer.errors, "spanlink_kafka_broker_errors", METRIC_COUNTER,
                 METRIC_BASIC, "{errors}",
                 "Complaints of brokers, and connections that failed or were closed."),
    METRIC_END,
};

static const struct delivery *kafka_delivery(const void *instance)
{
    return &((const struct kafka_exporter *)instance)->delivery;
}

const struct component exporter_kafka = {
    .type = "kafka",
    .text = "records to Apache Kafka: OTLP, and profiles as received",
    .stability = "beta",
    .kind = COMPONENT_EXPORTER,
    .signals = SIGNALS_ALL,
    .encodings = BATCH_BIT(BATCH_OTLP) | BATCH_BIT(BATCH_PPROF) | BATCH_BIT(BATCH_OPAQUE),
    .size = sizeof(struct kafka_exporter),
    .keys = keys,
    .check = kafka_check,
    .misplaced = kafka_misplaced,
    .places = kafka_places,
    .rehearse = kafka_rehearse,
    .open = kafka_open,
    .send = kafka_send,
    .send_on = kafka_send_on,
    .send_together = kafka_send_together,
    .probe = kafka_probe,
    .abort = kafka_abort,
    .delivery = kafka_delivery,
    .concern = kafka_concern,
    .explain = kafka_explain,
    .metrics = metrics,
    .close = kafka_close,
};
