/* GET /api/pipelines: what runs, and its counters, which are those of the metrics page. */
#include "extensions/status/status.h"

#include <stdio.h>

enum { CAUSES_MAX = 16, ID_MAX = 64 };

/* What points of one component are told as. */
struct figures {
    struct metrics metrics;
    const struct metrics_point *points; /* by name */
    size_t count;
};

/* A component's counters by this name, items by signal. */
static const struct counter {
    const char *key, *metric;
} counters[] = {
    {"accepted", "otelcol_receiver_accepted"},
    {"refused", "otelcol_receiver_refused"},
    {"failed", "otelcol_receiver_failed"},
    {"incoming", "otelcol_processor_incoming_items"},
    {"outgoing", "otelcol_processor_outgoing_items"},
    {"sent", "otelcol_exporter_sent"},
    {"send_failed", "otelcol_exporter_send_failed"},
    {"enqueue_failed", "otelcol_exporter_enqueue_failed"},
    {"retries", "spanlink_exporter_retries"},
    {"dropped", "spanlink_dropped_items"},
};

static const struct item {
    const char *key, *signal;
} items[] = {
    {"spans", "traces"},
    {"metric_points", "metrics"},
    {"log_records", "logs"},
    {"profile_samples", "profiles"},
};

enum { COUNTERS = sizeof counters / sizeof *counters, ITEMS = sizeof items / sizeof *items };

static struct view label_of(const struct figures *figures, const struct metrics_point *point,
                            const char *name)
{
    size_t at = 0;
    struct view key, value;
    while (metrics_label(&figures->metrics, point, &at, &key, &value))
        if (view_eq(key, view_of(name)))
            return value;
    return (struct view){0};
}

static bool is_of(const struct figures *figures, const struct metrics_point *point,
                  const struct runtime_row *row)
{
    return !row || view_eq(label_of(figures, point, row->kind), view_of(row->name));
}

/* The index of items that a point of a counter counts; -1: it is none of that counter. */
static int item_of(const struct figures *figures, const struct metrics_point *point,
                   const struct counter *counter)
{
    const char *name = point->row->name, *rest = name + strlen(counter->metric);
    if (strncmp(name, counter->metric, strlen(counter->metric)) != 0)
        return -1;
    struct view signal = label_of(figures, point, "otel.signal");
    if (!signal.data)
        signal = label_of(figures, point, "data_type");
    for (int i = 0; i < ITEMS; i++)
        if (*rest == '_' ? strcmp(rest + 1, items[i].key) == 0
                         : !*rest && view_eq(signal, view_of(items[i].signal)))
            return i;
    return -1;
}

static void put_counter(const struct figures *figures, const struct runtime_row *row,
                        const struct counter *counter, struct json *json)
{
    double sums[ITEMS] = {0};
    bool found[ITEMS] = {0}, any = false;
    for (size_t i = 0; i < figures->count; i++) {
        const struct metrics_point *point = &figures->points[i];
        int item = is_of(figures, point, row) ? item_of(figures, point, counter) : -1;
        if (item < 0)
            continue;
        sums[item] += point->value;
        found[item] = any = true;
    }
    if (!any)
        return;
    json_open(json, counter->key, '{');
    for (int i = 0; i < ITEMS; i++)
        if (found[i])
            json_double(json, items[i].key, sums[i]);
    json_close(json, '}');
}

/* The sum of a metric's points; -1: there is none. */
static double sum_of(const struct figures *figures, const struct runtime_row *row,
                     const char *metric)
{
    double sum = -1;
    for (size_t i = 0; i < figures->count; i++) {
        const struct metrics_point *point = &figures->points[i];
        if (strcmp(point->row->name, metric) == 0 && is_of(figures, point, row))
            sum = (sum < 0 ? 0 : sum) + point->value;
    }
    return sum;
}

/* Any one of a metric's points. */
static double one_of(const struct figures *figures, const struct runtime_row *row,
                     const char *metric)
{
    for (size_t i = 0; i < figures->count; i++)
        if (strcmp(figures->points[i].row->name, metric) == 0 &&
            is_of(figures, &figures->points[i], row))
            return figures->points[i].value;
    return -1;
}

static void put_queue(const struct figures *figures, const struct runtime_row *row,
                      struct json *json)
{
    double capacity = one_of(figures, row, "otelcol_exporter_queue_capacity");
    if (capacity < 0) {
        json_null(json, "queue");
        return;
    }
    json_open(json, "queue", '{');
    json_double(json, "size", sum_of(figures, row, "otelcol_exporter_queue_size"));
    json_double(json, "capacity", capacity);
    json_close(json, '}');
}

/* [{cause, count}] of a metric. */
static void put_causes(const struct figures *figures, const struct runtime_row *row,
                       const char *key, const char *metric, struct json *json)
{
    struct {
        struct view cause;
        double count;
    } causes[CAUSES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < figures->count; i++) {
        const struct metrics_point *point = &figures->points[i];
        if (strcmp(point->row->name, metric) != 0 || !is_of(figures, point, row))
            continue;
        struct view cause = label_of(figures, point, "cause");
        size_t at = 0;
        while (at < count && !view_eq(causes[at].cause, cause))
            at++;
        if (at == CAUSES_MAX)
            continue;
        if (at == count) {
            causes[count].cause = cause;
            causes[count++].count = 0;
        }
        causes[at].count += point->value;
    }
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(json, NULL, '{');
        json_text(json, "cause", causes[i].cause);
        json_double(json, "count", causes[i].count);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void put_component(const struct figures *figures, const struct runtime_row *row,
                          struct json *json)
{
    char doc[256];
    size_t type = strcspn(row->name, "/");
    snprintf(doc, sizeof doc, "/docs/%ss/%.*s", row->kind, (int)type, row->name);
    json_open(json, NULL, '{');
    json_word(json, "id", row->name);
    json_word(json, "kind", row->kind);
    json_word(json, "doc", doc);
    json_open(json, "counters", '{');
    for (size_t i = 0; i < COUNTERS; i++)
        put_counter(figures, row, &counters[i], json);
    json_close(json, '}');
    put_queue(figures, row, json);
    put_causes(figures, row, "refusals", "spanlink_receiver_refused_requests", json);
    put_causes(figures, row, "drops", "spanlink_dropped_items", json);
    json_close(json, '}');
}

/* ---- rows ---- */

struct rows {
    const struct figures *figures;
    struct json *json;
    bool pipelines; /* those, or else components */
};

/* "a, b" as a list. */
static void put_ids(struct json *json, const char *key, const char *parts)
{
    json_open(json, key, '[');
    while (*parts) {
        size_t size = strcspn(parts, ",");
        json_text(json, NULL, (struct view){(const uint8_t *)parts, size});
        parts += size;
        parts += strspn(parts, ", ");
    }
    json_close(json, ']');
}

static void put_pipeline(const struct runtime_row *row, struct json *json)
{
    json_open(json, NULL, '{');
    json_word(json, "name", row->name);
    json_text(json, "signal", (struct view){(const uint8_t *)row->name, strcspn(row->name, "/")});
    put_ids(json, "receivers", row->parts[0]);
    put_ids(json, "processors", row->parts[1]);
    put_ids(json, "exporters", row->parts[2]);
    json_close(json, '}');
}

static void visit_row(void *ctx, const struct runtime_row *row)
{
    const struct rows *rows = ctx;
    if (rows->pipelines && !row->kind)
        put_pipeline(row, rows->json);
    else if (!rows->pipelines && row->kind)
        put_component(rows->figures, row, rows->json);
}

static double at_least_zero(double value)
{
    return value < 0 ? 0 : value;
}

static void put_process(const struct figures *figures, struct json *json)
{
    json_word(json, "version", SPANLINK_VERSION);
    json_double(json, "uptime_ns", 1e9 * one_of(figures, NULL, "otelcol_process_uptime"));
    json_double(json, "cpu_ns", 1e9 * one_of(figures, NULL, "otelcol_process_cpu_seconds"));
    json_double(json, "rss_bytes", one_of(figures, NULL, "otelcol_process_memory_rss"));
    json_open(json, "budget", '{');
    json_double(json, "used_bytes", one_of(figures, NULL, "spanlink_memory_used_bytes"));
    json_double(json, "limit_bytes", one_of(figures, NULL, "spanlink_memory_limit_bytes"));
    json_close(json, '}');
    json_open(json, "hold", '{');
    json_double(json, "spans", at_least_zero(sum_of(figures, NULL, "spanlink_hold_spans")));
    json_double(json, "bytes", at_least_zero(sum_of(figures, NULL, "spanlink_hold_bytes")));
    json_double(json, "limit_bytes",
                at_least_zero(sum_of(figures, NULL, "spanlink_hold_limit_bytes")));
    json_double(json, "oldest_ns",
                1e9 * at_least_zero(one_of(figures, NULL, "spanlink_hold_oldest_age_seconds")));
    json_close(json, '}');
    double journal = one_of(figures, NULL, "spanlink_journal_bytes");
    if (journal < 0) {
        json_null(json, "journal");
        return;
    }
    json_open(json, "journal", '{');
    json_double(json, "bytes", journal);
    json_double(json, "entries", one_of(figures, NULL, "spanlink_journal_entries"));
    json_double(json, "replay_left", one_of(figures, NULL, "spanlink_journal_replay_left"));
    json_close(json, '}');
}

void pipelines_answer(struct status *self, struct http_request *request)
{
    char error[ANSWER_ERROR];
    struct bytes out;
    struct figures figures;
    if (!answer_parameters(http_request_query(request), (const struct parameter[]){{0}}, error)) {
        answer_error(request, 400, error);
        return;
    }
    metrics_init(&figures.metrics, METRIC_NORMAL);
    runtime_figures(self->env->runtime, &figures.metrics);
    figures.points = metrics_sorted(&figures.metrics, &figures.count);
    bytes_init(&out, ANSWER_MAX, self->env->budget);
    struct json json = json_begin(&out);
    struct rows rows = {&figures, &json, true};
    json_open(&json, NULL, '{');
    put_process(&figures, &json);
    json_open(&json, "pipelines", '[');
    runtime_rows(self->env->runtime, visit_row, &rows);
    json_close(&json, ']');
    rows.pipelines = false;
    json_open(&json, "components", '[');
    runtime_rows(self->env->runtime, visit_row, &rows);
    json_close(&json, ']');
    json_close(&json, '}');
    json.failed |= figures.metrics.failed;
    metrics_release(&figures.metrics);
    answer_json(request, &json);
}
