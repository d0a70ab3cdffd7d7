#include "lib/settings/collector_keys.h"

#include <stddef.h>
#include <string.h>

static const char *const known[] = {
    /* servers and clients */
    "auth",
    "authenticator",
    "authority",
    "aws_secrets_manager",
    "balancer_name",
    "compression",
    "compression_algorithms",
    "compression_params",
    "cookies",
    "cors",
    "dialer",
    "disable_keep_alives",
    "endpoint",
    "force_attempt_http2",
    "headers",
    "http2_ping_timeout",
    "http2_read_idle_timeout",
    "idle_conn_timeout",
    "idle_timeout",
    "include_metadata",
    "keep_alives_enabled",
    "keepalive",
    "max_concurrent_streams",
    "max_conns_per_host",
    "max_idle_conns",
    "max_idle_conns_per_host",
    "max_recv_msg_size_mib",
    "max_request_body_size",
    "middlewares",
    "proxy_url",
    "read_buffer_size",
    "read_header_timeout",
    "read_timeout",
    "response_headers",
    "timeout",
    "tls",
    "transport",
    "wait_for_ready",
    "write_buffer_size",
    "write_timeout",
    /* the pprof receiver */
    "block_profile_fraction",
    "collection_interval",
    "file",
    "initial_delay",
    "mutex_profile_fraction",
    "self",
    /* cors, keepalive, auth */
    "allowed_headers",
    "allowed_origins",
    "enforcement_policy",
    "exposed_headers",
    "max_age",
    "max_connection_age",
    "max_connection_age_grace",
    "max_connection_idle",
    "min_time",
    "permit_without_stream",
    "request_params",
    "server_parameters",
    "time",
    /* tls */
    "ca_file",
    "ca_pem",
    "cert_file",
    "cert_pem",
    "cipher_suites",
    "client_ca_file",
    "client_ca_file_reload",
    "curve_preferences",
    "include_system_ca_certs_pool",
    "insecure",
    "insecure_skip_verify",
    "key_file",
    "key_pem",
    "max_version",
    "min_version",
    "reload_interval",
    "server_name_override",
    "tpm",
    /* receivers and exporters */
    "encoding",
    "logs_endpoint",
    "logs_url_path",
    "metrics_endpoint",
    "metrics_url_path",
    "profiles_endpoint",
    "profiles_url_path",
    "protocols",
    "sampling_initial",
    "sampling_thereafter",
    "traces_endpoint",
    "traces_url_path",
    "use_internal_logger",
    "output_paths",
    "verbosity",
    "append",
    "create_directory",
    "directory_permissions",
    "flush_interval",
    "format",
    "group_by",
    "path",
    "rotation",
    "localtime",
    "max_backups",
    "max_days",
    "max_megabytes",
    "resource_attribute",
    "max_open_files",
    /* sending_queue, retry_on_failure */
    "batch",
    "block_on_overflow",
    "enabled",
    "flush_timeout",
    "initial_interval",
    "max_elapsed_time",
    "max_interval",
    "max_size",
    "metadata_keys",
    "min_size",
    "multiplier",
    "num_consumers",
    "partition",
    "queue_size",
    "randomization_factor",
    "retry_on_failure",
    "sending_queue",
    "sizer",
    "storage",
    "wait_for_result",
    /* processors */
    "check_interval",
    "limit_mib",
    "limit_percentage",
    "metadata_cardinality_limit",
    "min_gc_interval_when_hard_limited",
    "min_gc_interval_when_soft_limited",
    "send_batch_max_size",
    "send_batch_size",
    "spike_limit_mib",
    "spike_limit_percentage",
    /* extensions */
    "block_profile_fraction",
    "check_collector_pipeline",
    "compaction",
    "component_health",
    "config",
    "directory",
    "expvar",
    "fsync",
    "http",
    "mutex_profile_fraction",
    "recreate",
    "response_body",
    "save_to_file",
    "use_v2",
    /* service */
    "connectors",
    "development",
    "disable_caller",
    "disable_stacktrace",
    "disable_zap_resource",
    "error_output_paths",
    "exporters",
    "extensions",
    "initial_fields",
    "level",
    "logs",
    "metrics",
    "pipelines",
    "processors",
    "propagators",
    "readers",
    "receivers",
    "resource",
    "sampling",
    "service",
    "telemetry",
    "traces",
    "views",
};

/* Advice where spanlink does the same thing differently; by the end of a key's path. */
static const struct {
    const char *path, *way;
} ways[] = {
    {"sending_queue.storage", "the extension journal keeps acknowledged data on disk"},
    {"auth.sasl.mechanism", "OAUTHBEARER and IAM of AWS MSK are not supported"},
};

/* Keys of the Collector's kafka components, old and new, with what to write instead; for both, or
 * for the exporter or the receiver alone. */
enum { EXPORTER = 1, RECEIVER = 2, BOTH = 3 };

#define SASL "auth.sasl with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or a client certificate"

static const struct {
    const char *key;
    int sides;
    bool each; /* a key of traces, metrics, logs and profiles */
    const char *fate;
} kafka[] = {
    {"auth.plain_text", BOTH, false, "is the old form: use auth.sasl with mechanism: PLAIN"},
    {"auth.tls", BOTH, false, "is the old form: move its keys to the section tls beside auth"},
    {"auth.kerberos", BOTH, false, "is not supported: use " SASL " (tls)"},
    {"auth.sasl.aws_msk", BOTH, false,
     "is not supported: instead of IAM, use SCRAM-SHA-512 or a client certificate (tls)"},
    {"auth.sasl.oauthbearer_token_source", BOTH, false,
     "is not supported: instead of OAUTHBEARER, use " SASL " (tls)"},
    {"topic", RECEIVER, false,
     "is the old form: use traces.topics, metrics.topics or logs.topics, which are lists"},
    {"encoding", RECEIVER, false,
     "is the old form: use traces.encoding, metrics.encoding or logs.encoding"},
    {"topic", RECEIVER, true, "is the old form: use topics, a list"},
    {"exclude_topic", RECEIVER, true,
     "is not supported: topics are listed, not matched, so leave out those to exclude"},
    {"exclude_topics", RECEIVER, true,
     "is not supported: topics are listed, not matched, so leave out those to exclude"},
    {"group_rebalance_strategy", RECEIVER, false,
     "is the old form: use group_rebalance_strategies: [range]"},
    {"default_fetch_size", RECEIVER, false, "is the old form: use max_partition_fetch_size"},
    {"rack_id", RECEIVER, false, "is not supported: records are read from partitions' leaders"},
    {"partition_processing", RECEIVER, false,
     "is not supported: each partition number is always processed independently of the others"},
    {"record_headers", EXPORTER, false,
     "is not supported: only headers of requests become record headers (include_metadata_keys)"},
    {"record_partitioner", EXPORTER, false,
     "is not supported: it is always murmur2 of the key, as in Java's clients; for equal partitions"
     " give the Collector record_partitioner: {sticky_key: {hasher: murmur2}}"},
    {"partition_logs_by_trace_id", EXPORTER, false,
     "is not supported: use partition_logs_by_resource_attributes, or no key"},
    {"topic_from_metadata_key", EXPORTER, true,
     "is not supported: use topic_from_attribute, a resource attribute, for all signals"},
    {"message_key_from_metadata_key", EXPORTER, true,
     "is not supported: keys come from partition_by, partition_traces_by_id and so on"},
    {"producer.max_broker_write_bytes", EXPORTER, false,
     "is not supported: producer.max_message_bytes limits a record"},
};

/* Whether the rest of a path, behind the component's type, is the key of a row. */
static bool is_kafka_key(const char *rest, size_t row)
{
    static const char *const signals[] = {"traces.", "metrics.", "logs.", "profiles."};
    if (!kafka[row].each)
        return strcmp(rest, kafka[row].key) == 0;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strncmp(rest, signals[i], strlen(signals[i])) == 0 &&
            strcmp(rest + strlen(signals[i]), kafka[row].key) == 0)
            return true;
    return false;
}

const char *collector_key_fate(const char *path)
{
    static const char *const sides[] = {"exporters.kafka", "receivers.kafka"};
    int side = 0;
    size_t size = 0;
    for (int i = 0; i < 2 && !side; i++)
        if (strncmp(path, sides[i], strlen(sides[i])) == 0) {
            side = 1 << i;
            size = strlen(sides[i]);
        }
    if (!side || (path[size] != '.' && path[size] != '/'))
        return NULL;
    /* The name behind a slash may have dots. */
    for (const char *dot = strchr(path + size, '.'); dot; dot = strchr(dot + 1, '.')) {
        for (size_t row = 0; row < sizeof kafka / sizeof *kafka; row++)
            if ((kafka[row].sides & side) && is_kafka_key(dot + 1, row))
                return kafka[row].fate;
        if (path[size] == '.')
            return NULL;
    }
    return NULL;
}

const char *collector_key_advice(const char *path)
{
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        size_t n = strlen(ways[i].path);
        if (size > n && path[size - n - 1] == '.' && strcmp(path + size - n, ways[i].path) == 0)
            return ways[i].way;
    }
    return NULL;
}

/* Whether the path is of a processor that has every key that the Collector's has, or knows which it
 * does not have: then no other key is the Collector's. */
static bool is_complete(const char *path)
{
    static const char *const others[] = {"batch", "memory_limiter"};
    static const char processors[] = "processors.";
    if (strncmp(path, processors, sizeof processors - 1) != 0)
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(path + sizeof processors - 1, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

bool collector_key_known(const char *path, const char *name)
{
    if (is_complete(path))
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}
