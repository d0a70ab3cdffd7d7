#include "pipeline/telemetry/settings.h"

#include "lib/base/log.h"
#include "lib/net/endpoint.h"
#include "lib/net/http/client_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_words[] = {"none", "basic", "normal", "detailed", NULL};

static const char *const log_encodings[] = {"console", "json", NULL};

static const struct key sampling_keys[] = {
    KEY_BOOL(struct telemetry_sampling, enabled, "enabled", "true", "off: every line is written"),
    KEY_DURATION(struct telemetry_sampling, tick, "tick", "10s", 0,
                 "interval in which equal lines are counted"),
    KEY_INT(struct telemetry_sampling, initial, "initial", "10", 0, 1e9,
            "equal lines written before any is left out"),
    KEY_INT(struct telemetry_sampling, thereafter, "thereafter", "100", 0, 1e9,
            "after them, every n-th is written; 0: none"),
    KEY_END,
};

static const struct key logs_keys[] = {
    KEY_STRING(struct telemetry_logs, level, "level", "info", 0, "debug, info, warn or error"),
    KEY_CHOICE(struct telemetry_logs, encoding, "encoding", "console", log_encodings,
               "console: lines of text; json: an object a line"),
    KEY_LIST(struct telemetry_logs, output_paths, "output_paths", "[stderr]",
             "where the log goes: stderr, stdout, files; SIGHUP reopens them"),
    KEY_LIST(struct telemetry_logs, error_output_paths, "error_output_paths", "[stderr]",
             "where a line goes if the log cannot be written"),
    KEY_MAP(struct telemetry_logs, initial_fields, "initial_fields", NULL, KEY_JSON,
            "fields added to every line"),
    KEY_GROUP(struct telemetry_logs, sampling, struct telemetry_sampling, "sampling", sampling_keys,
              "sampling of equal lines"),
    KEY_IGNORED("development", "accepted, without effect"),
    KEY_IGNORED("disable_caller", "accepted; there is none"),
    KEY_IGNORED("disable_stacktrace", "accepted; there is none"),
    KEY_IGNORED("disable_zap_resource", "accepted, without effect"),
    KEY_IGNORED("processors", "accepted, without effect"),
    KEY_END,
};

static const struct key constant_keys[] = {
    KEY_LIST(struct telemetry_constant, included, "included", NULL, "their names"),
    KEY_LIST(struct telemetry_constant, excluded, "excluded", NULL, "names to leave out"),
    KEY_END,
};

static const struct key prometheus_keys[] = {
    KEY_STRING(struct telemetry_pull, host, "host", "localhost", 0,
               "address of the page; 0.0.0.0: all interfaces"),
    KEY_INT(struct telemetry_pull, port, "port", "8888", 0, 65535, "its port, with /metrics"),
    KEY_BOOL(struct telemetry_pull, without_scope_info, "without_scope_info", "true",
             "false has no effect: there are no scopes"),
    KEY_BOOL(struct telemetry_pull, without_type_suffix, "without_type_suffix", "true",
             "false: counters end in _total"),
    KEY_BOOL(struct telemetry_pull, without_units, "without_units", "true",
             "false: names end in their unit, such as _seconds"),
    KEY_SWITCHED(struct telemetry_pull, constant, struct telemetry_constant, constant.given,
                 "with_resource_constant_labels", constant_keys,
                 "resource attributes that every series has"),
    KEY_END,
};

/* Its members are the pull's own. */
struct whole_pull {
    struct telemetry_pull pull;
};

static const struct key exporter_keys[] = {
    KEY_GROUP(struct whole_pull, pull, struct telemetry_pull, "prometheus", prometheus_keys,
              "a page in Prometheus' text format, or OpenMetrics on request"),
    KEY_END,
};

static const struct key pull_keys[] = {
    KEY_GROUP(struct whole_pull, pull, struct telemetry_pull, "exporter", exporter_keys,
              "what is served"),
    KEY_END,
};

static const char *const temporality_words[] = {"cumulative", "delta", "lowmemory", NULL};

static const char *const protocol_words[] = {"http/protobuf", "grpc", NULL};

static const struct key otlp_keys[] = {
    KEY_CHOICE(struct telemetry_otlp, protocol, "protocol", "http/protobuf", protocol_words,
               "how requests are sent"),
    KEY_STRING(struct telemetry_otlp, endpoint, "endpoint", NULL, KEY_REQUIRED,
               "http(s)://host:port, with a path of its own or /v1/metrics; gRPC: also host:port"),
    KEY_SECRETS(struct telemetry_otlp, headers, "headers", "headers of every request"),
    KEY_SECRET(struct telemetry_otlp, headers_list, "headers_list",
               "more of them, as \"name=value,name=value\""),
    KEY_STRING(struct telemetry_otlp, compression, "compression", "gzip", 0, "gzip or none"),
    KEY_INT(struct telemetry_otlp, timeout, "timeout", "10000", 1, 3600000,
            "milliseconds for a request"),
    KEY_BOOL(struct telemetry_otlp, insecure, "insecure", "false", "gRPC without TLS"),
    KEY_STRING(struct telemetry_otlp, certificate, "certificate", NULL, 0,
               "PEM file of the CAs that sign the server's certificate"),
    KEY_STRING(struct telemetry_otlp, client_certificate, "client_certificate", NULL, 0,
               "PEM file of our certificate"),
    KEY_STRING(struct telemetry_otlp, client_key, "client_key", NULL, 0,
               "PEM file of its private key"),
    KEY_CHOICE(struct telemetry_otlp, temporality, "temporality_preference", "cumulative",
               temporality_words, "cumulative; the others have no effect"),
    KEY_IGNORED("default_histogram_aggregation", "accepted; buckets are explicit"),
    KEY_END,
};

static const struct key console_keys[] = {
    KEY_CHOICE(struct telemetry_console, temporality, "temporality_preference", "cumulative",
               temporality_words, "cumulative; the others have no effect"),
    KEY_IGNORED("default_histogram_aggregation", "accepted; buckets are explicit"),
    KEY_END,
};

static const struct key sent_keys[] = {
    KEY_SWITCHED(struct telemetry_periodic, otlp, struct telemetry_otlp, otlp.given, "otlp",
                 otlp_keys, "to an OTLP endpoint"),
    KEY_SWITCHED(struct telemetry_periodic, console, struct telemetry_console, console.given,
                 "console", console_keys, "to standard output: OTLP JSON, a line each time"),
    KEY_END,
};

static const struct key periodic_keys[] = {
    KEY_INT(struct telemetry_periodic, interval, "interval", "60000", 1, 86400000,
            "milliseconds between requests"),
    KEY_IGNORED("timeout", "accepted; the exporter's own counts"),
    {.name = "exporter", .type = KEY_TYPE_GROUP, .rows = sent_keys, .text = "where they go"},
    KEY_END,
};

static const struct key reader_keys[] = {
    KEY_SWITCHED(struct telemetry_reader, periodic, struct telemetry_periodic, periodic.given,
                 "periodic", periodic_keys, "metrics are sent"),
    KEY_SWITCHED(struct telemetry_reader, pull, struct telemetry_pull, pull.given, "pull",
                 pull_keys, "metrics are scraped"),
    KEY_END,
};

static const struct key metrics_keys[] = {
    KEY_CHOICE(struct telemetry_metrics, level, "level", "normal", level_words,
               "how much is measured; none: nothing, and no page"),
    KEY_GROUPS(struct telemetry_metrics, readers, struct telemetry_reader, "readers", reader_keys,
               "where the metrics go; not given: a page on localhost:8888"),
    KEY_STRING(struct telemetry_metrics, address, "address", NULL, 0,
               "host:port of a page; older than readers"),
    KEY_IGNORED("views", "accepted; only the level decides what is measured"),
    KEY_END,
};

const struct key telemetry_keys[] = {
    KEY_GROUP(struct telemetry_settings, logs, struct telemetry_logs, "logs", logs_keys, "the log"),
    KEY_GROUP(struct telemetry_settings, metrics, struct telemetry_metrics, "metrics", metrics_keys,
              "metrics of the process"),
    KEY_IGNORED("traces", "accepted, without effect"),
    KEY_MAP(struct telemetry_settings, resource, "resource", NULL, KEY_ATTRIBUTES,
            "attributes of the process beside service.name, .version and .instance.id"),
    KEY_END,
};

static void check_address(const struct telemetry_metrics *metrics, struct key_report *report)
{
    char why[512];
    struct endpoint endpoint;
    if (!*metrics->address)
        return;
    if (metrics->readers_given)
        key_report_add(report, "telemetry.metrics.address",
                       "has the same meaning as readers: leave one out");
    if (!endpoint_parse(metrics->address, false, &endpoint, why, sizeof why))
        key_report_add(report, "telemetry.metrics.address", "%s", why);
}

/* The endpoint is a URL or host:port. */
static void check_otlp(const struct telemetry_otlp *otlp, const char *reader,
                       struct key_report *report)
{
    char path[128], words[512];
    const char *why = words;
    struct endpoint endpoint;
    bool url = strstr(otlp->endpoint, "://");
    if (!*otlp->endpoint) /* reported as missing */
        return;
    snprintf(path, sizeof path, "%s.periodic.exporter.otlp.endpoint", reader);
    if (url ? !url_check(otlp->endpoint, &why)
            : !strchr(otlp->endpoint, '/') &&
                  !endpoint_parse(otlp->endpoint, false, &endpoint, words, sizeof words))
        key_report_add(report, path, "%s", why);
}

static void check_temporality(int temporality, const char *reader, const char *exporter,
                              struct key_report *report)
{
    char path[128];
    snprintf(path, sizeof path, "%s.periodic.exporter.%s.temporality_preference", reader, exporter);
    if (temporality)
        key_report_warn(report, path, "%s has no effect: all metrics are cumulative",
                        temporality_words[temporality]);
}

static void check_periodic(const struct telemetry_periodic *periodic, const char *reader,
                           struct key_report *report)
{
    if (periodic->otlp.given == periodic->console.given)
        key_report_add(report, reader, "periodic.exporter has %s, expected otlp or console",
                       periodic->otlp.given ? "two exporters" : "no exporter");
    if (periodic->otlp.given) {
        check_otlp(&periodic->otlp, reader, report);
        check_temporality(periodic->otlp.temporality, reader, "otlp", report);
    }
    if (periodic->console.given)
        check_temporality(periodic->console.temporality, reader, "console", report);
}

static void check_pull(const struct telemetry_pull *pull, const char *reader,
                       struct key_report *report)
{
    char path[128];
    snprintf(path, sizeof path, "%s.pull.exporter.prometheus.without_scope_info", reader);
    if (!pull->without_scope_info)
        key_report_warn(report, path, "false has no effect: no series has labels of a scope");
}

static void check_readers(const struct telemetry_metrics *metrics, struct key_report *report)
{
    const struct telemetry_reader *readers = metrics->readers.items;
    char path[64];
    for (size_t i = 0; i < metrics->readers.count; i++) {
        snprintf(path, sizeof path, "telemetry.metrics.readers[%zu]", i);
        if (readers[i].pull.given == readers[i].periodic.given)
            key_report_add(report, path, "expected either pull or periodic");
        if (readers[i].periodic.given)
            check_periodic(&readers[i].periodic, path, report);
        if (readers[i].pull.given)
            check_pull(&readers[i].pull, path, report);
    }
}

/* A file is to be there, or its folder. */
static void check_output(const char *key, const char *path, struct key_report *report)
{
    char folder[4096];
    if (strncmp(path, "file://", 7) == 0)
        path += 7;
    const char *slash = strrchr(path, '/');
    bool named = strcmp(path, "stderr") == 0 || strcmp(path, "stdout") == 0;
    snprintf(folder, sizeof folder, "%.*s/", slash ? (int)(slash - path) : 1, slash ? path : ".");
    bool there = access(path, F_OK) == 0;
    if (!named && access(there ? path : folder, W_OK) != 0)
        key_report_add(report, key, "%s cannot be written to: %s", path, strerror(errno));
}

static void check_outputs(const char *key, const struct key_list *paths, struct key_report *report)
{
    if (paths->count > LOG_OUTPUTS)
        key_report_add(report, key, "expected at most %d paths", LOG_OUTPUTS);
    for (size_t i = 0; i < paths->count; i++)
        check_output(key, paths->items[i], report);
}

void telemetry_check(const struct telemetry_settings *settings, struct key_report *report)
{
    enum log_level level;
    if (!log_level_parse(settings->logs.level, &level))
        key_report_add(report, "telemetry.logs.level",
                       "\"%s\" is not a level, expected debug, info, warn or error",
                       settings->logs.level);
    check_outputs("telemetry.logs.output_paths", &settings->logs.output_paths, report);
    check_outputs("telemetry.logs.error_output_paths", &settings->logs.error_output_paths, report);
    check_address(&settings->metrics, report);
    check_readers(&settings->metrics, report);
}
