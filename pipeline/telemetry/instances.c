#include "pipeline/telemetry/instances.h"

#include <stdio.h>
#include <string.h>

/* Metric name suffixes and the words for help lines, by signal. */
#define OF_SIGNALS(name, kind, level, help)                                                        \
    {                                                                                              \
        METRIC_ROW(name "_spans", kind, level, "{spans}", "Spans " help),                          \
            METRIC_ROW(name "_metric_points", kind, level, "{datapoints}", "Metric points " help), \
            METRIC_ROW(name "_log_records", kind, level, "{records}", "Log records " help),        \
            METRIC_ROW(name "_profile_samples", kind, level, "{samples}", "Profile samples " help) \
    }

typedef const struct metric by_signal[SIGNAL_COUNT];

/* The Collector's name of a signal in the labels data_type and otel_signal. */
static struct metric_label signal_label(const char *name, int signal)
{
    return (struct metric_label){name, view_of(signal_name((enum signal)signal))};
}

/* The signal that is counted: for profiles the Collector counts samples. */
static int counted(int signal)
{
    return signal == SIGNAL_PROFILES ? COUNTED_SAMPLES : signal;
}

/* A cause as a label's value: its words joined by '_'. */
static struct metric_label cause_label(enum cause cause, char text[32])
{
    snprintf(text, 32, "%s", cause_name(cause));
    for (char *at = text; (at = strchr(at, ' '));)
        *at = '_';
    return (struct metric_label){"cause", view_of(text)};
}

/* ---- receivers ---- */

static by_signal accepted =
    OF_SIGNALS("otelcol_receiver_accepted", METRIC_COUNTER, METRIC_BASIC, "that were accepted.");
static by_signal refused =
    OF_SIGNALS("otelcol_receiver_refused", METRIC_COUNTER, METRIC_BASIC,
               "that were read and not accepted, or left out of a request that was.");
static by_signal failed = OF_SIGNALS("otelcol_receiver_failed", METRIC_COUNTER, METRIC_BASIC,
                                     "that failed inside a receiver; all count as refused.");
static const struct metric refused_requests =
    METRIC_ROW("spanlink_receiver_refused_requests", METRIC_COUNTER, METRIC_BASIC, "{requests}",
               "Requests that were refused, by cause; also those that could not be read.");

static void measure_transport(const struct admission *admission, enum admission_transport transport,
                              int signal, struct metrics *metrics)
{
    static const char *const words[ADMISSION_TRANSPORTS] = {
        [ADMISSION_HTTP] = "http", [ADMISSION_GRPC] = "grpc", [ADMISSION_PULL] = "pull"};
    struct metric_label by = {"transport", view_of(words[transport])};
    uint64_t taken = 0, not_taken = 0, requests = 0;
    for (int cause = 0; cause < CAUSE_COUNT; cause++) {
        char text[32];
        uint64_t n = admission_requests(admission, transport, signal, (enum cause)cause);
        requests += n;
        if (signal < SIGNAL_COUNT)
            not_taken += admission_items(admission, transport, counted(signal), (enum cause)cause);
        if (n)
            metrics_add(metrics, &refused_requests, (double)n,
                        METRIC_LABELS(by,
                                      signal < SIGNAL_COUNT
                                          ? signal_label("data_type", signal)
                                          : (struct metric_label){"data_type", {0}},
                                      cause_label((enum cause)cause, text)));
    }
    if (signal == ADMISSION_NO_SIGNAL)
        return;
    taken = admission_accepted(admission, transport, counted(signal));
    if (taken + not_taken + requests == 0)
        return;
    metrics_add(metrics, &accepted[signal], (double)taken, METRIC_LABELS(by));
    metrics_add(metrics, &refused[signal], (double)not_taken, METRIC_LABELS(by));
    metrics_add(metrics, &failed[signal], 0, METRIC_LABELS(by));
}

static void measure_receiver(const struct instance *receiver, struct metrics *metrics)
{
    const struct admission *admission = receiver->meter->admission;
    for (int transport = 0; admission && transport < ADMISSION_TRANSPORTS; transport++)
        for (int signal = 0; signal < ADMISSION_SIGNALS; signal++)
            measure_transport(admission, (enum admission_transport)transport, signal, metrics);
}

/* ---- processors ---- */

static const struct metric incoming =
    METRIC_ROW("otelcol_processor_incoming_items", METRIC_COUNTER, METRIC_BASIC, "{items}",
               "Items that were given to the processor.");
static const struct metric outgoing =
    METRIC_ROW("otelcol_processor_outgoing_items", METRIC_COUNTER, METRIC_BASIC, "{items}",
               "Items that the processor handed on.");
static const struct metric duration = METRIC_HISTOGRAM_ROW(
    "otelcol_processor_internal_duration", &histogram_durations, METRIC_DETAILED, "s",
    "Time in the processor, without the stages after it, seconds.");

static void measure_processor(const struct instance *processor, const struct graph *graph,
                              struct metrics *metrics)
{
    for (size_t i = 0; i < graph->pipeline_count; i++) {
        int signal = (int)graph->pipelines[i].signal;
        bool seen = !instance_list_has(&graph->pipelines[i].stages[COMPONENT_PROCESSOR], processor);
        for (size_t k = 0; k < i && !seen; k++)
            seen = (int)graph->pipelines[k].signal == signal &&
                   instance_list_has(&graph->pipelines[k].stages[COMPONENT_PROCESSOR], processor);
        if (seen)
            continue;
        const struct meter *meter = processor->meter;
        const struct metric_label *by = METRIC_LABELS(signal_label("otel.signal", signal));
        metrics_add(metrics, &incoming, (double)meter_get(meter, METER_INCOMING, signal), by);
        metrics_add(metrics, &outgoing, (double)meter_get(meter, METER_OUTGOING, signal), by);
        metrics_add_histogram(metrics, &duration, &processor->durations[signal], by);
    }
}

/* ---- exporters ---- */

static by_signal sent = OF_SIGNALS("otelcol_exporter_sent", METRIC_COUNTER, METRIC_BASIC,
                                   "that the destination accepted.");
static by_signal send_failed =
    OF_SIGNALS("otelcol_exporter_send_failed", METRIC_COUNTER, METRIC_BASIC,
               "that the destination did not accept and that are not retried.");
static by_signal enqueue_failed = OF_SIGNALS("otelcol_exporter_enqueue_failed", METRIC_COUNTER,
                                             METRIC_BASIC, "for which the queue had no place.");
static const struct metric queue_size =
    METRIC_ROW("otelcol_exporter_queue_size", METRIC_GAUGE, METRIC_BASIC, "{requests}",
               "Requests in the queue, those that are being sent included; or their items or "
               "bytes, by sending_queue.sizer.");
static const struct metric queue_capacity =
    METRIC_ROW("otelcol_exporter_queue_capacity", METRIC_GAUGE, METRIC_BASIC, "{requests}",
               "Size of the queue, which all data types share, in the same unit.");
static const struct metric in_flight =
    METRIC_ROW("otelcol_exporter_in_flight_requests", METRIC_GAUGE, METRIC_BASIC, "{requests}",
               "Requests that are being sent or wait for a retry.");
static const struct metric enqueue_size =
    METRIC_HISTOGRAM_ROW("otelcol_exporter_enqueue_size", &histogram_items, METRIC_DETAILED,
                         "{items}", "Items of the requests that were put into the queue.");
static const struct metric enqueue_bytes =
    METRIC_HISTOGRAM_ROW("otelcol_exporter_enqueue_size_bytes", &histogram_bytes, METRIC_DETAILED,
                         "By", "Bytes of the requests that were put into the queue.");
static const struct metric batch_size = METRIC_HISTOGRAM_ROW(
    "otelcol_exporter_queue_batch_send_size", &histogram_items, METRIC_DETAILED, "{items}",
    "Items of the requests that sending_queue.batch made.");
static const struct metric batch_bytes = METRIC_HISTOGRAM_ROW(
    "otelcol_exporter_queue_batch_send_size_bytes", &histogram_bytes, METRIC_DETAILED, "By",
    "Bytes of the requests that sending_queue.batch made.");
static const struct metric retries =
    METRIC_ROW("spanlink_exporter_retries", METRIC_COUNTER, METRIC_BASIC, "{requests}",
               "Requests that failed and were scheduled for a retry.");

/* The address that an exporter sends to. */
struct target {
    struct place place;
    bool found;
    const char *wanted; /* the signal's own endpoint; else any */
    char path[256];     /* of the URL */
};

static void visit_place(void *ctx, const struct place *place)
{
    struct target *target = ctx;
    bool own = strncmp(place->key, target->wanted, strlen(target->wanted)) == 0;
    bool general = strcmp(place->key, "endpoint") == 0;
    if (place->listens || (!own && (!general || target->found)))
        return;
    target->place = *place;
    target->found = true;
}

static void set_path(struct target *target, const char *url)
{
    const char *host = strstr(url, "://"), *path = host ? strchr(host + 3, '/') : NULL;
    if (path)
        snprintf(target->path, sizeof target->path, "%.*s", (int)strcspn(path, "?#"), path);
}

static void find_target(const struct instance *exporter, int signal, struct target *target)
{
    const struct component *component = exporter->component;
    *target = (struct target){.wanted = signal_name((enum signal)signal)};
    if (component->places)
        component->places(exporter->self, visit_place, target);
    const char *url = component->url && exporter->opened
                          ? component->url(exporter->self, (enum signal)signal)
                          : NULL;
    if (url)
        set_path(target, url);
}

/* The status name that the Collector puts in error_type. */
static const char *error_type(enum cause cause)
{
    static const char *const words[CAUSE_COUNT] = {
        [CAUSE_INVALID] = "InvalidArgument",    [CAUSE_TOO_LARGE] = "ResourceExhausted",
        [CAUSE_UNSUPPORTED] = "Unimplemented",  [CAUSE_AUTH] = "Unauthenticated",
        [CAUSE_FORBIDDEN] = "PermissionDenied", [CAUSE_FULL] = "ResourceExhausted",
        [CAUSE_MEMORY] = "ResourceExhausted",   [CAUSE_UNAVAILABLE] = "Unavailable",
        [CAUSE_SHUTDOWN] = "Shutdown",          [CAUSE_INTERNAL] = "Internal",
        [CAUSE_SLOW] = "DeadlineExceeded",      [CAUSE_REVOKED] = "Aborted",
        [CAUSE_INCOMPLETE] = "Canceled",
    };
    return words[cause] ? words[cause] : "_OTHER";
}

static bool is_permanent(enum cause cause)
{
    return cause != CAUSE_UNAVAILABLE && cause != CAUSE_SHUTDOWN && cause != CAUSE_REVOKED &&
           cause != CAUSE_SLOW && cause != CAUSE_FULL && cause != CAUSE_MEMORY &&
           cause != CAUSE_INCOMPLETE && cause != CAUSE_NONE;
}

/* Elements that a full queue displaced were never sent. */
static uint64_t failed_by(const struct meter *meter, int cause, int signal)
{
    uint64_t dropped = meter_dropped(meter, (enum cause)cause, counted(signal));
    uint64_t passed = meter_passed_refusals(meter, (enum cause)cause, counted(signal));
    return (cause == CAUSE_FULL ? 0 : dropped) + passed;
}

static void measure_failed_detailed(const struct meter *meter, int signal,
                                    const struct metric_label to[3], struct metrics *metrics)
{
    for (int cause = 0; cause < CAUSE_COUNT; cause++) {
        uint64_t n = failed_by(meter, cause, signal);
        bool permanent = is_permanent((enum cause)cause), seen = false;
        const char *type = error_type((enum cause)cause);
        for (int other = 0; other < CAUSE_COUNT; other++) {
            bool same = is_permanent((enum cause)other) == permanent &&
                        strcmp(error_type((enum cause)other), type) == 0;
            seen |= same && other < cause;
            n += same && other > cause ? failed_by(meter, other, signal) : 0;
        }
        if (n && !seen)
            metrics_add(metrics, &send_failed[signal], (double)n,
                        METRIC_LABELS({"error.permanent", permanent ? VIEW("true") : VIEW("false")},
                                      {"error.type", view_of(type)}, to[0], to[1], to[2]));
    }
}

static void measure_sent(const struct instance *exporter, int signal, struct metrics *metrics)
{
    const struct meter *meter = exporter->meter;
    uint64_t taken = meter_get(meter, METER_SENT, counted(signal));
    uint64_t lost = 0;
    struct target target;
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        lost += failed_by(meter, cause, signal);
    if (taken + lost == 0)
        return;
    find_target(exporter, signal, &target);
    const struct metric_label to[3] = {{"server.address", view_of(target.place.host)},
                                       {"server.port", view_of(target.place.port)},
                                       {"url.path", view_of(target.path)}};
    metrics_add(metrics, &sent[signal], (double)taken, METRIC_LABELS(to[0], to[1], to[2]));
    if (lost && metrics->level >= METRIC_DETAILED)
        measure_failed_detailed(meter, signal, to, metrics);
    else if (lost)
        metrics_add(metrics, &send_failed[signal], (double)lost,
                    METRIC_LABELS(to[0], to[1], to[2]));
}

static void measure_queue(const struct instance *exporter, int signal, struct metrics *metrics)
{
    const struct meter *meter = exporter->meter;
    struct sender_figures figures = sender_figures(exporter->sender, (enum signal)signal);
    const struct metric_label *by = METRIC_LABELS(signal_label("data_type", signal));
    uint64_t full = meter_get(meter, METER_UNQUEUED, signal) +
                    meter_dropped(meter, CAUSE_FULL, counted(signal));
    uint64_t again = meter_get(meter, METER_RETRIES, signal);
    if (sender_capacity(exporter->sender)) {
        metrics_add(metrics, &queue_size, (double)figures.held, by);
        metrics_add(metrics, &queue_capacity, (double)sender_capacity(exporter->sender), by);
    }
    metrics_add(metrics, &in_flight, (double)figures.in_flight, by);
    metrics_add(metrics, &retries, (double)again, by);
    if (full)
        metrics_add(metrics, &enqueue_failed[signal], (double)full, NO_LABELS);
}

static void measure_exporter(const struct instance *exporter, const struct graph *graph,
                             struct metrics *metrics)
{
    unsigned signals = graph_signals(graph, exporter);
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        if (!(signals & SIGNAL_BIT(signal)))
            continue;
        measure_sent(exporter, signal, metrics);
        if (exporter->sender)
            measure_queue(exporter, signal, metrics);
    }
    if (!exporter->sender || !sender_capacity(exporter->sender))
        return;
    metrics_add_histogram(metrics, &enqueue_size, sender_enqueued_items(exporter->sender),
                          NO_LABELS);
    metrics_add_histogram(metrics, &enqueue_bytes, sender_enqueued_bytes(exporter->sender),
                          NO_LABELS);
    if (!sender_taken_items(exporter->sender))
        return;
    metrics_add_histogram(metrics, &batch_size, sender_taken_items(exporter->sender), NO_LABELS);
    metrics_add_histogram(metrics, &batch_bytes, sender_taken_bytes(exporter->sender), NO_LABELS);
}

/* ---- all kinds ---- */

static const struct metric dropped =
    METRIC_ROW("spanlink_dropped_items", METRIC_COUNTER, METRIC_BASIC, "{items}",
               "Items that were acknowledged and then not delivered, by cause.");

static void measure_dropped(const struct meter *meter, struct metrics *metrics)
{
    char text[32];
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        for (int cause = 0; cause < CAUSE_COUNT; cause++) {
            uint64_t n = meter_dropped(meter, (enum cause)cause, signal);
            if (n)
                metrics_add(metrics, &dropped, (double)n,
                            METRIC_LABELS(signal_label("data_type", signal),
                                          cause_label((enum cause)cause, text)));
        }
}

void instance_measure(const struct instance *instance, const struct graph *graph,
                      struct metrics *metrics)
{
    enum component_kind kind = instance->component->kind;
    metrics_scope(metrics, component_kind_name(kind), instance->id);
    if (kind == COMPONENT_RECEIVER)
        measure_receiver(instance, metrics);
    else if (kind == COMPONENT_PROCESSOR)
        measure_processor(instance, graph, metrics);
    else if (kind == COMPONENT_EXPORTER)
        measure_exporter(instance, graph, metrics);
    measure_dropped(instance->meter, metrics);
    metrics_scope(metrics, NULL, NULL);
}

void instance_measure_gone(enum component_kind kind, const struct meter *meter,
                           struct metrics *metrics)
{
    metrics_scope(metrics, component_kind_name(kind), meter->id);
    measure_dropped(meter, metrics);
    metrics_scope(metrics, NULL, NULL);
}
