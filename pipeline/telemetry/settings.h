/* The section service.telemetry: the process's own logs and metrics, and where they go. */
#ifndef PIPELINE_TELEMETRY_SETTINGS_H
#define PIPELINE_TELEMETRY_SETTINGS_H

#include "lib/metrics/metric.h"
#include "lib/settings/fill.h"

struct telemetry_sampling {
    bool enabled;
    uint64_t tick; /* ns */
    int64_t initial, thereafter;
};

struct telemetry_logs {
    char *level;
    int encoding; /* 1: JSON */
    struct key_list output_paths, error_output_paths;
    struct key_map initial_fields;
    struct telemetry_sampling sampling;
};

/* Names of resource attributes. */
struct telemetry_constant {
    bool given;
    struct key_list included, excluded;
};

/* A page for Prometheus. */
struct telemetry_pull {
    bool given;
    char *host;
    int64_t port;
    bool without_type_suffix, without_units, without_scope_info;
    struct telemetry_constant constant;
};

/* Requests to an OTLP endpoint. */
struct telemetry_otlp {
    bool given;
    int protocol; /* 1: gRPC */
    char *endpoint;
    struct key_map headers;
    char *headers_list; /* "name=value,..."; those of headers come first */
    char *compression;
    int64_t timeout; /* ms */
    bool insecure;   /* gRPC without TLS if the endpoint has no scheme */
    int temporality; /* an index of its words */
    char *certificate, *client_certificate, *client_key; /* files */
};

/* Lines of OTLP JSON on standard output. */
struct telemetry_console {
    bool given;
    int temporality; /* an index of its words */
};

struct telemetry_periodic {
    bool given;
    int64_t interval; /* ms */
    struct telemetry_otlp otlp;
    struct telemetry_console console;
};

struct telemetry_reader {
    struct telemetry_pull pull;
    struct telemetry_periodic periodic;
};

struct telemetry_metrics {
    int level;                 /* enum metric_level */
    char *address;             /* host:port of a page, as in old configurations; "": none */
    struct key_groups readers; /* struct telemetry_reader */
    bool readers_given;
};

struct telemetry_settings {
    struct telemetry_logs logs;
    struct telemetry_metrics metrics;
    struct key_map resource;
};

/* Rows of the group `telemetry` over struct telemetry_settings. */
extern const struct key telemetry_keys[];

/* Checks across keys; keys are named from `service` on. */
void telemetry_check(const struct telemetry_settings *settings, struct key_report *report);

#endif
