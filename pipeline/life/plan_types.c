/* Component types that do not exist here, and what replaces those of the Collector. */
#include "pipeline/life/plan.h"

#include "lib/base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TYPES = 64 };

#define BEHIND       "do this in a Collector downstream, reached with otlp_grpc or otlp_http"
#define BY_OTLP      "send it as OTLP to the receiver otlp"
#define TO_COLLECTOR "send to a Collector that has it, with otlp_grpc or otlp_http"
#define BY_DETECTION                                                                               \
    "the detector k8s of the processor resourcedetection reads what the downward API sets "        \
    "(valueFrom.fieldRef); labels of profiles: external_labels of the exporter pyroscope"
#define METRICS_OF_TRACES "Tempo's metrics-generator makes them from the traces"

/* Types of the Collector's distributions; the sentence is for users who bring a Collector's
 * configuration. */
static const struct known_type {
    enum component_kind kind;
    const char *type;
    const char *instead;
} known_types[] = {
    {COMPONENT_EXTENSION, "file_storage",
     "the extension journal keeps accepted requests on disk until they are delivered; list it in "
     "service.extensions, sending_queue.storage is not needed"},
    {COMPONENT_EXTENSION, "db_storage", "the extension journal keeps accepted requests on disk"},
    {COMPONENT_EXTENSION, "redis_storage", "the extension journal keeps accepted requests on disk"},
    {COMPONENT_EXTENSION, "healthcheckv2", "the extension health_check"},
    {COMPONENT_EXTENSION, "memory_ballast", "leave it out; the limit is memory_limiter's"},
    {COMPONENT_EXTENSION, "headers_setter",
     "the receiver's X-Scope-OrgID and Authorization are sent on with include_metadata; others "
     "are headers of the exporter"},
    {COMPONENT_EXTENSION, "oauth2client", "the extension bearertokenauth, with a token in a file"},
    {COMPONENT_EXTENSION, "oidc", "the extension bearertokenauth or basicauth"},
    {COMPONENT_EXTENSION, "sigv4auth", TO_COLLECTOR},
    {COMPONENT_EXTENSION, "googleclientauth", TO_COLLECTOR},
    {COMPONENT_EXTENSION, "azure_auth", TO_COLLECTOR},
    {COMPONENT_EXTENSION, "opamp", "kill -HUP, or --watch, reads a changed configuration"},
    {COMPONENT_EXTENSION, "jaegerremotesampling", "sample in the SDK"},
    {COMPONENT_EXTENSION, "k8s_observer", "targets of pprof_scrape are listed, not found"},
    {COMPONENT_EXTENSION, "host_observer", "targets of pprof_scrape are listed, not found"},
    {COMPONENT_EXTENSION, "docker_observer", "targets of pprof_scrape are listed, not found"},

    {COMPONENT_PROCESSOR, "k8sattributes", BY_DETECTION},
    {COMPONENT_PROCESSOR, "k8s_attributes", BY_DETECTION},
    {COMPONENT_PROCESSOR, "groupbyattrs", BEHIND},
    {COMPONENT_PROCESSOR, "metricstransform", BEHIND},
    {COMPONENT_PROCESSOR, "metricsgeneration", BEHIND},
    {COMPONENT_PROCESSOR, "cumulativetodelta", BEHIND},
    {COMPONENT_PROCESSOR, "deltatocumulative", BEHIND},
    {COMPONENT_PROCESSOR, "interval", BEHIND},
    {COMPONENT_PROCESSOR, "logdedup", BEHIND},
    {COMPONENT_PROCESSOR, "tail_sampling", "a sidecar never sees a whole trace; " BEHIND},
    {COMPONENT_PROCESSOR, "groupbytrace",
     "leave it out; correlation holds spans that have to wait"},
    {COMPONENT_PROCESSOR, "spanmetrics", METRICS_OF_TRACES},
    {COMPONENT_PROCESSOR, "servicegraph", METRICS_OF_TRACES},

    {COMPONENT_RECEIVER, "jaeger", BY_OTLP ": Jaeger's clients have OTLP exporters"},
    {COMPONENT_RECEIVER, "zipkin", BY_OTLP},
    {COMPONENT_RECEIVER, "opencensus", BY_OTLP},
    {COMPONENT_RECEIVER, "skywalking", BY_OTLP},
    {COMPONENT_RECEIVER, "datadog", BY_OTLP},
    {COMPONENT_RECEIVER, "statsd", BY_OTLP},
    {COMPONENT_RECEIVER, "kafka", BY_OTLP},
    {COMPONENT_RECEIVER, "loki", BY_OTLP},
    {COMPONENT_RECEIVER, "filelog", BY_OTLP},
    {COMPONENT_RECEIVER, "prometheus",
     "metrics come as OTLP by the receiver otlp; profiles are pulled by pprof_scrape"},
    {COMPONENT_RECEIVER, "hostmetrics",
     "metrics of the host belong to a Collector on the node, not to a sidecar"},
    {COMPONENT_RECEIVER, "host_metrics",
     "metrics of the host belong to a Collector on the node, not to a sidecar"},
    {COMPONENT_RECEIVER, "kubeletstats",
     "metrics of the node belong to a Collector on the node, not to a sidecar"},
    {COMPONENT_RECEIVER, "k8s_cluster", "this belongs to a Collector of the cluster"},
    {COMPONENT_RECEIVER, "k8s_events", "this belongs to a Collector of the cluster"},
    {COMPONENT_RECEIVER, "k8sobjects", "this belongs to a Collector of the cluster"},
    {COMPONENT_RECEIVER, "nop", "leave it out"},
    {COMPONENT_RECEIVER, "profiling",
     "the eBPF profiler runs on the node and sends OTLP profiles to the receiver otlp"},

    {COMPONENT_EXPORTER, "loki",
     "otlp_http: Loki takes OTLP logs, with endpoint http://loki:3100/otlp"},
    {COMPONENT_EXPORTER, "jaeger", "otlp_grpc: Jaeger takes OTLP, on 4317"},
    {COMPONENT_EXPORTER, "jaeger_thrift", "otlp_http: Jaeger takes OTLP, on 4318"},
    {COMPONENT_EXPORTER, "zipkin", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "prometheus",
     "otlp_http: Prometheus takes OTLP metrics, with endpoint http://prometheus:9090/api/v1/otlp"},
    {COMPONENT_EXPORTER, "prometheusremotewrite",
     "otlp_http: Prometheus and Mimir take OTLP metrics, with endpoint "
     "http://prometheus:9090/api/v1/otlp"},
    {COMPONENT_EXPORTER, "tempo", "otlp_grpc"},
    {COMPONENT_EXPORTER, "logging", "debug"},
    {COMPONENT_EXPORTER, "nop", "debug, with verbosity: basic"},
    {COMPONENT_EXPORTER, "opencensus", "otlp_grpc"},
    {COMPONENT_EXPORTER, "otelarrow", "otlp_grpc"},
    {COMPONENT_EXPORTER, "loadbalancing", "otlp_grpc, to an address that spreads the load"},
    {COMPONENT_EXPORTER, "load_balancing", "otlp_grpc, to an address that spreads the load"},
    {COMPONENT_EXPORTER, "kafka", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "datadog", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "elasticsearch", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "clickhouse", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "splunk_hec", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "awsxray", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "awss3", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "googlecloud", TO_COLLECTOR},
    {COMPONENT_EXPORTER, "azuremonitor", TO_COLLECTOR},
};

/* Connectors, and what does the same elsewhere; NULL ends. */
static const struct {
    const char *type, *instead;
} known_connectors[] = {
    {"spanmetrics", METRICS_OF_TRACES},
    {"span_metrics", METRICS_OF_TRACES},
    {"servicegraph", METRICS_OF_TRACES},
    {"service_graph", METRICS_OF_TRACES},
    {"forward", "name the exporters in both pipelines"},
};

static const char *instead_of(enum component_kind kind, const char *type)
{
    for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
        if (known_types[i].kind == kind && strcmp(known_types[i].type, type) == 0)
            return known_types[i].instead;
    return NULL;
}

/* Returns another kind that has a component of this name; COMPONENT_KINDS: none. */
static enum component_kind other_kind(const char *type)
{
    int kind = 0;
    while (kind < COMPONENT_KINDS && !component_find((enum component_kind)kind, type))
        kind++;
    return (enum component_kind)kind;
}

static void add_nearest(enum component_kind kind, const char *type, const struct node *node,
                        const char *path, struct problems *problems)
{
    const char *types[MAX_TYPES + 1] = {NULL};
    char list[1024] = "";
    size_t count = 0, size = 0;
    for (const struct component *const *at = component_table; *at && count < MAX_TYPES; at++) {
        if ((*at)->kind != kind)
            continue;
        types[count++] = (*at)->type;
        if (size < sizeof list)
            size += (size_t)snprintf(list + size, sizeof list - size, "%s%s", size ? ", " : "",
                                     (*at)->type);
    }
    const char *near = nearest_word(type, types);
    problems_add(problems, node, path, "unknown type \"%s\" for id \"%s\"%s%s%s (valid values: %s)",
                 type, node->key, near ? ", did you mean \"" : "", near ? near : "",
                 near ? "\"?" : "", list);
}

void plan_unknown_type(enum component_kind kind, const char *type, const struct node *node,
                       const char *path, struct problems *problems)
{
    const char *instead = instead_of(kind, type);
    enum component_kind other = other_kind(type);
    if (instead)
        problems_add(problems, node, path, "spanlink has no %s \"%s\"; instead: %s",
                     component_kind_name(kind), type, instead);
    else if (other != COMPONENT_KINDS)
        problems_add(problems, node, path, "\"%s\" belongs under %s", type, plan_section(other));
    else
        add_nearest(kind, type, node, path, problems);
}

void plan_connectors(const struct node *connectors, struct problems *problems)
{
    if (!connectors || connectors->kind == NODE_NULL || connectors->count == 0)
        return;
    for (size_t i = 0; connectors->kind == NODE_MAP && i < connectors->count; i++) {
        const struct node *node = connectors->items[i];
        char path[512];
        const char *instead = NULL;
        size_t n = strcspn(node->key, "/");
        for (size_t k = 0; k < sizeof known_connectors / sizeof *known_connectors; k++)
            if (strlen(known_connectors[k].type) == n &&
                strncmp(known_connectors[k].type, node->key, n) == 0)
                instead = known_connectors[k].instead;
        snprintf(path, sizeof path, "connectors.%s", node->key);
        problems_add(problems, node, path, "spanlink has no connectors%s%s",
                     instead ? "; instead: " : "", instead ? instead : "");
    }
    if (connectors->kind != NODE_MAP)
        problems_add(problems, connectors, "connectors", "spanlink has no connectors");
}
