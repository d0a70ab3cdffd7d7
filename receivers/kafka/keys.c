/* The keys of the kafka receiver (receivers/kafka/kafka.h). */
#include "receivers/kafka/kafka.h"

#include "lib/kafka/kafka_topic.h"

static const char *const otlp_encodings[] = {"otlp_proto", "otlp_json", NULL};
static const char *const profile_encodings[] = {"otlp_proto", "otlp_json", "native", NULL};
static const char *const initial_offsets[] = {"latest", "earliest", NULL};

#define SIGNAL_KEYS(variable, words, topics_text, encoding_text)                                   \
    static const struct key variable[] = {                                                         \
        KEY_LIST(struct kafka_signal, topics, "topics", NULL, topics_text),                        \
        KEY_CHOICE(struct kafka_signal, encoding, "encoding", "otlp_proto", words, encoding_text), \
        KEY_END,                                                                                   \
    }

SIGNAL_KEYS(traces_keys, otlp_encodings, "topics to read; none: otlp_spans",
            "how records are encoded");
SIGNAL_KEYS(metrics_keys, otlp_encodings, "topics to read; none: otlp_metrics",
            "how records are encoded");
SIGNAL_KEYS(logs_keys, otlp_encodings, "topics to read; none: otlp_logs",
            "how records are encoded");
SIGNAL_KEYS(profiles_keys, profile_encodings,
            "topics to read; none: otlp_profiles, with encoding native spanlink_profiles",
            "how records are encoded; native: as spanlink's exporter writes them");

static const struct key autocommit_keys[] = {
    KEY_DURATION(struct kafka_autocommit, interval, "interval", "1s", 0,
                 "how often the offsets of what was delivered are committed"),
    KEY_HINT("enable", "accepted; offsets are always committed, and only after delivery"),
    KEY_END,
};

static const struct key marking_keys[] = {
    KEY_HINT("after", "accepted; offsets are always committed after delivery"),
    KEY_BOOL(struct kafka_marking, on_error, "on_error", "false",
             "commit records that an exporter gave up retrying; off: read them again"),
    KEY_BOOL(struct kafka_marking, on_permanent_error, "on_permanent_error", "true",
             "commit records that a backend refused for good; off: read them again"),
    KEY_END,
};

static const struct key extraction_keys[] = {
    KEY_BOOL(struct kafka_extraction, extract_headers, "extract_headers", "false",
             "copy record headers to resource attributes kafka.header.NAME; not for profiles"),
    KEY_LIST(struct kafka_extraction, headers, "headers", "[]", "names of these headers"),
    KEY_END,
};

static const struct key backoff_keys[] = {
    KEY_DURATION(struct kafka_backoff, initial_interval, "initial_interval", "50ms", 0,
                 "the first pause of a partition that the pipelines have no room for"),
    KEY_DURATION(struct kafka_backoff, max_interval, "max_interval", "1s", 0, "the longest pause"),
    KEY_NUMBER(struct kafka_backoff, multiplier, "multiplier", "1.5", 1, 100,
               "each pause is so much longer than the one before"),
    KEY_HINT("enabled", "accepted; a partition always pauses, and never skips a record"),
    KEY_HINT("randomization_factor", "accepted; pauses are not randomized"),
    KEY_HINT("max_elapsed_time", "accepted; a partition pauses until there is room"),
    KEY_END,
};

static const struct key letter_keys[] = {
    KEY_STRING(struct kafka_dead_letter, topic, "topic", "", 0,
               "topic for records that cannot be read; none: they are counted and logged"),
    KEY_END,
};

#define SIGNAL_KEY(signal, name, table)                                                            \
    KEY_GROUP(struct kafka_receiver, signals[signal], struct kafka_signal, name, table,            \
              "topics and encoding of " name)

const struct key kafka_receiver_keys[] = {
    KAFKA_KEYS(struct kafka_receiver, kafka),
    SIGNAL_KEY(SIGNAL_TRACES, "traces", traces_keys),
    SIGNAL_KEY(SIGNAL_METRICS, "metrics", metrics_keys),
    SIGNAL_KEY(SIGNAL_LOGS, "logs", logs_keys),
    SIGNAL_KEY(SIGNAL_PROFILES, "profiles", profiles_keys),
    KEY_STRING(struct kafka_receiver, group_id, "group_id", "otel-collector", KEY_REQUIRED,
               "consumer group; its members share the partitions"),
    KEY_STRING(struct kafka_receiver, group_instance_id, "group_instance_id", "", 0,
               "name of this member, such as the pod's: a restart within session_timeout does not "
               "rebalance the group"),
    KEY_CHOICE(struct kafka_receiver, initial_offset, "initial_offset", "latest", initial_offsets,
               "where a partition without a committed offset starts"),
    KEY_DURATION(struct kafka_receiver, session_timeout, "session_timeout", "10s", 0,
                 "a member that is silent for so long loses its partitions"),
    KEY_DURATION(struct kafka_receiver, heartbeat_interval, "heartbeat_interval", "3s", 0,
                 "how often it reports to the group"),
    KEY_LIST(struct kafka_receiver, strategies, "group_rebalance_strategies", "[range]",
             "only range: it gives a member the same partition numbers of all topics"),
    KEY_INT(struct kafka_receiver, min_fetch_size, "min_fetch_size", "1", 1, 100000000,
            "bytes that a broker waits for before it answers"),
    KEY_INT(struct kafka_receiver, max_fetch_size, "max_fetch_size", "0", 0, 1000000000,
            "bytes of an answer; 0: 960 KiB, and at most an eighth of the memory limit"),
    KEY_DURATION(struct kafka_receiver, max_fetch_wait, "max_fetch_wait", "250ms", 0,
                 "how long a broker waits for min_fetch_size"),
    KEY_INT(struct kafka_receiver, max_partition_fetch_size, "max_partition_fetch_size", "1048576",
            1024, 1000000000,
            "bytes fetched ahead of a partition; less if there are many and little memory"),
    KEY_GROUP(struct kafka_receiver, autocommit, struct kafka_autocommit, "autocommit",
              autocommit_keys, "when offsets are committed"),
    KEY_GROUP(struct kafka_receiver, marking, struct kafka_marking, "message_marking", marking_keys,
              "which records count as done though they were not delivered"),
    KEY_GROUP(struct kafka_receiver, extraction, struct kafka_extraction, "header_extraction",
              extraction_keys, "record headers as resource attributes"),
    KEY_GROUP(struct kafka_receiver, backoff, struct kafka_backoff, "error_backoff", backoff_keys,
              "pauses while queues are full or memory is short"),
    KEY_GROUP(struct kafka_receiver, dead_letter, struct kafka_dead_letter, "dead_letter",
              letter_keys, "what becomes of records that cannot be read"),
    KEY_DURATION(struct kafka_receiver, replay, "replay", "3m", 0,
                 "how much earlier than the spans the profiles of an assigned partition are read: "
                 "at least the longest profile window and correlation's hold"),
    KEY_BOOL(struct kafka_receiver, include_metadata, "include_metadata", "true",
             "forward a record's header X-Scope-OrgID as the tenant"),
    KEY_END,
};

/* ---- topics ---- */

const struct key_list *kafka_receiver_topics(const struct kafka_receiver *self, enum signal signal)
{
    static char *names[] = {"otlp_spans", "otlp_metrics", "otlp_logs", "otlp_profiles",
                            "spanlink_profiles"};
    static const struct key_list defaults[] = {[SIGNAL_TRACES] = {&names[0], 1},
                                               [SIGNAL_METRICS] = {&names[1], 1},
                                               [SIGNAL_LOGS] = {&names[2], 1},
                                               [SIGNAL_PROFILES] = {&names[3], 1}};
    static const struct key_list native = {&names[4], 1};
    const struct kafka_signal *settings = &self->signals[signal];
    if (settings->topics.count)
        return &settings->topics;
    return settings->encoding == KAFKA_NATIVE ? &native : &defaults[signal];
}

/* ---- checks ---- */

static void check_strategies(const struct kafka_receiver *self, struct key_report *report)
{
    for (size_t i = 0; i < self->strategies.count; i++)
        if (strcmp(self->strategies.items[i], "range") != 0)
            key_report_add(report, "group_rebalance_strategies",
                           "%s does not give a member the same partition numbers of all topics, so "
                           "spans would not meet their profiles; expected range",
                           self->strategies.items[i]);
}

static bool has_topic(const struct key_list *topics, size_t before, const char *topic)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(topics->items[i], topic) == 0)
            return true;
    return false;
}

static void check_topics(const struct kafka_receiver *self, enum signal signal, const char *path,
                         struct key_report *report)
{
    const struct key_list *topics = kafka_receiver_topics(self, signal);
    for (size_t i = 0; i < topics->count; i++) {
        const char *topic = topics->items[i];
        if (*topic == '^')
            key_report_add(report, path, "%s: patterns are not supported, list the topics", topic);
        else if (!kafka_topic_legal(view_of(topic)))
            key_report_add(report, path, "has \"%s\", " KAFKA_TOPIC_EXPECTED, topic);
        if (has_topic(topics, i, topic))
            key_report_add(report, path, "%s is given twice", topic);
        if (self->dead_letter.topic && strcmp(topic, self->dead_letter.topic) == 0)
            key_report_add(report, "dead_letter.topic",
                           "%s is read, too, so each dead letter would become another", topic);
        for (int other = 0; other < (int)signal; other++) {
            const struct key_list *others = kafka_receiver_topics(self, (enum signal)other);
            if (has_topic(others, others->count, topic))
                key_report_add(report, path, "%s is a topic of %s already", topic,
                               signal_name((enum signal)other));
        }
    }
}

void kafka_receiver_check(const void *config, struct key_report *report)
{
    static const char *const paths[] = {[SIGNAL_TRACES] = "traces.topics",
                                        [SIGNAL_METRICS] = "metrics.topics",
                                        [SIGNAL_LOGS] = "logs.topics",
                                        [SIGNAL_PROFILES] = "profiles.topics"};
    const struct kafka_receiver *self = config;
    kafka_settings_check(&self->kafka, report);
    check_strategies(self, report);
    for (int s = 0; s < SIGNAL_COUNT; s++)
        check_topics(self, (enum signal)s, paths[s], report);
    if (self->dead_letter.topic && *self->dead_letter.topic &&
        !kafka_topic_legal(view_of(self->dead_letter.topic)))
        key_report_add(report, "dead_letter.topic", KAFKA_TOPIC_EXPECTED);
    if (self->session_timeout < 2 * NS_PER_MS)
        key_report_add(report, "session_timeout", "must be positive");
    if (self->heartbeat_interval >= self->session_timeout)
        key_report_add(report, "heartbeat_interval", "must be shorter than session_timeout");
    if (self->autocommit.interval == 0)
        key_report_add(report, "autocommit.interval", "must be positive");
    if (self->backoff.initial_interval == 0 ||
        self->backoff.max_interval < self->backoff.initial_interval)
        key_report_add(report, "error_backoff.max_interval",
                       "must be at least initial_interval, and that positive");
    if (self->extraction.extract_headers && self->extraction.headers.count == 0)
        key_report_warn(report, "header_extraction.headers", "no header is named, so none is read");
}

void kafka_receiver_places(const void *config, place_visit_fn *visit, void *ctx)
{
    const struct kafka_receiver *self = config;
    kafka_settings_places(&self->kafka, visit, ctx);
}
