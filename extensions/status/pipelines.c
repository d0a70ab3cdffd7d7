/* GET /api/pipelines: pipelines and components with the counters of the metrics page. */
#include "extensions/status/expired.h"
#include "extensions/status/refusing.h"
#include "extensions/status/status.h"
#include "lib/base/log.h"
#include "pipeline/life/rows.h"
#include "pipeline/meter.h"

#include <stdio.h>

enum { CAUSES_MAX = 64 };

/* The metrics of one component. */
struct figures {
    struct metrics metrics;
    const struct metrics_point *points; /* by name */
    size_t count;
};

#define DROPPED "spanlink_dropped_items"

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
    {"dropped", DROPPED},
};

static const struct counter refused_requests = {"", "spanlink_receiver_refused_requests"};

static const struct item {
    const char *key, *signal;
} items[] = {
    {"spans", "traces"},     {"metric_points", "metrics"},
    {"log_records", "logs"}, {"profile_samples", "profiles"},
    {"profiles", ""},      /* of counters that count profiles, not their samples */
    {"kafka_records", ""}, /* that a receiver did not read: of which items is not known */
};

enum { COUNTERS = sizeof counters / sizeof *counters, ITEMS = sizeof items / sizeof *items };
enum { KAFKA_RECORDS = ITEMS - 1, PROFILES = KAFKA_RECORDS - 1, SAMPLES = PROFILES - 1 };

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

/* The index of the items that a point counts; -1: it belongs to another counter. */
static int item_of(const struct figures *figures, const struct metrics_point *point,
                   const struct counter *counter)
{
    const char *name = point->row->name, *rest = name + strlen(counter->metric);
    if (strncmp(name, counter->metric, strlen(counter->metric)) != 0)
        return -1;
    struct view signal = label_of(figures, point, "otel.signal");
    if (!signal.data)
        signal = label_of(figures, point, "data_type");
    bool drops = strcmp(name, DROPPED) == 0;
    for (int i = 0; i < PROFILES; i++)
        if (*rest == '_' ? strcmp(rest + 1, items[i].key) == 0
                         : !*rest && view_eq(signal, view_of(items[i].signal)))
            return i == SAMPLES && drops ? PROFILES : i;
    return -1;
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

/* The metrics of what a Kafka receiver lost. */
static const struct loss {
    const char *metric, *cause;
} losses[] = {{"spanlink_kafka_expired_records", "expired"},
              {"spanlink_kafka_unreadable_records_lost", "unreadable"}};
enum { LOSSES = sizeof losses / sizeof *losses };

/* Whether the row reads from Kafka; then *records is what it lost. */
static bool lost_of(const struct figures *figures, const struct runtime_row *row, double *records)
{
    bool any = false;
    *records = 0;
    for (size_t i = 0; i < LOSSES; i++) {
        double sum = sum_of(figures, row, losses[i].metric);
        any |= sum >= 0;
        *records += sum > 0 ? sum : 0;
    }
    return any;
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
    if (strcmp(counter->metric, DROPPED) == 0)
        found[KAFKA_RECORDS] = lost_of(figures, row, &sums[KAFKA_RECORDS]);
    if (!any && !found[KAFKA_RECORDS])
        return;
    json_open(json, counter->key, '{');
    for (int i = 0; i < ITEMS; i++)
        if (found[i])
            json_double(json, items[i].key, sums[i]);
    json_close(json, '}');
}

static double at_least_zero(double value)
{
    return value < 0 ? 0 : value;
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

struct cause_sum {
    struct view cause;
    const char *item; /* NULL: requests */
    double count;
};

/* The cause of a metric's label, which has underscores for spaces; CAUSE_COUNT: none. */
static enum cause cause_of(struct view label)
{
    int cause = 0;
    for (; cause < CAUSE_COUNT; cause++) {
        const char *name = cause_name((enum cause)cause);
        size_t at = 0;
        while (at < label.size && name[at] &&
               label.data[at] == (name[at] == ' ' ? '_' : (uint8_t)name[at]))
            at++;
        if (at == label.size && !name[at])
            break;
    }
    return (enum cause)cause;
}

static uint64_t last_of(const struct runtime_row *row, struct view label, bool requests)
{
    enum cause cause = cause_of(label);
    if (cause == CAUSE_COUNT)
        return 0;
    return requests ? runtime_row_last_refusal(row, cause) : runtime_row_last_drop(row, cause);
}

/* The sentence of the last refusal. */
static void put_last_text(const struct runtime_row *row, struct view label, struct json *json)
{
    enum cause cause = cause_of(label);
    struct outcome last = {0};
    if (cause != CAUSE_COUNT)
        last = runtime_row_last_outcome(row, cause);
    json_word(json, "text", *last.text ? last.text : NULL);
}

/* Adds what a Kafka receiver lost; returns how many causes of that there are. */
static size_t add_losses(const struct figures *figures, const struct runtime_row *row,
                         struct cause_sum *sums, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < LOSSES; i++) {
        double records = sum_of(figures, row, losses[i].metric);
        if (records > 0 && count < room)
            sums[count++] =
                (struct cause_sum){view_of(losses[i].cause), items[KAFKA_RECORDS].key, records};
    }
    return count;
}

/* [{cause, item, count, last_unix_nano}, of requests text, too] of a metric whose points are
 * requests, or items of the counter. */
static void put_causes(const struct figures *figures, const struct runtime_row *row,
                       const char *key, const struct counter *metric, bool requests,
                       struct json *json)
{
    struct cause_sum sums[CAUSES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < figures->count; i++) {
        const struct metrics_point *point = &figures->points[i];
        if (strcmp(point->row->name, metric->metric) != 0 || !is_of(figures, point, row))
            continue;
        int item = requests ? -1 : item_of(figures, point, metric);
        struct cause_sum sum = {label_of(figures, point, "cause"),
                                item < 0 ? NULL : items[item].key, point->value};
        size_t at = 0;
        while (at < count && (!view_eq(sums[at].cause, sum.cause) || sums[at].item != sum.item))
            at++;
        if (at < count)
            sums[at].count += sum.count;
        else if (count < CAUSES_MAX)
            sums[count++] = sum;
    }
    count += requests ? 0 : add_losses(figures, row, sums + count, CAUSES_MAX - count);
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(json, NULL, '{');
        json_text(json, "cause", sums[i].cause);
        json_word(json, "item", sums[i].item ? sums[i].item : "requests");
        json_double(json, "count", sums[i].count);
        json_time_or_null(json, "last_unix_nano", last_of(row, sums[i].cause, requests));
        if (requests)
            put_last_text(row, sums[i].cause, json);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Writes each URL once; signals that share one follow each other. */
static void put_urls(const struct runtime_row *row, struct json *json)
{
    char last[1024] = "", url[1024];
    json_open(json, "urls", '[');
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        if (!(row->signals & SIGNAL_BIT(signal)) ||
            !runtime_row_url(row, signal, url, sizeof url) || strcmp(url, last) == 0)
            continue;
        json_word(json, NULL, url);
        memcpy(last, url, sizeof last);
    }
    json_close(json, ']');
}

static void put_delivery(const struct runtime_row *row, struct json *json)
{
    struct runtime_delivery state;
    if (!runtime_row_delivery(row, &state)) {
        json_null(json, "delivery");
        return;
    }
    json_open(json, "delivery", '{');
    put_urls(row, json);
    json_time_or_null(json, "failing_since_unix_nano", state.failing_since);
    json_time_or_null(json, "delivering_since_unix_nano", state.recovered);
    json_time_or_null(json, "succeeded_unix_nano", state.succeeded);
    json_time_or_null(json, "failed_unix_nano", state.failed);
    json_word(json, "error", *state.error ? state.error : NULL);
    json_bool(json, "drops", state.drops);
    json_number(json, "slow_ns", state.slow_ns);
    json_number(json, "oldest_ns", state.oldest_ns);
    json_number(json, "retry_ns", state.retry_ns);
    json_close(json, '}');
}

/* Port 0 is left out: the port that the system chose is not known here. */
static void put_place(void *ctx, const struct place *place)
{
    struct json *json = ctx;
    if (!place->listens || strcmp(place->port, "0") == 0)
        return;
    json_open(json, NULL, '{');
    json_word(json, "key", place->key);
    json_word(json, "host", place->host);
    json_word(json, "port", place->port);
    json_word(json, "unix_path", place->unix_path);
    json_bool(json, "tls", place->tls);
    json_close(json, '}');
}

/* How far a Kafka receiver is. */
static void put_lanes(const struct figures *figures, const struct runtime_row *row,
                      struct json *json)
{
    static const struct {
        const char *key, *metric;
        double unit;
    } all[] = {{"count", "spanlink_kafka_lanes", 1},
               {"paused", "spanlink_kafka_lanes_paused", 1},
               {"lag_records", "spanlink_kafka_lag", 1},
               {"unread_records", "spanlink_kafka_unread", 1},
               {"oldest_ns", "spanlink_kafka_oldest_record_age_seconds", 1e9},
               {"behind_ns", "spanlink_kafka_clock_behind_seconds", 1e9}};
    if (sum_of(figures, row, all[0].metric) < 0) {
        json_null(json, "lanes");
        return;
    }
    json_open(json, "lanes", '{');
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        json_double(json, all[i].key,
                    at_least_zero(sum_of(figures, row, all[i].metric)) * all[i].unit);
    json_close(json, '}');
}

static void put_concern(const struct runtime_row *row, struct json *json)
{
    struct bytes text;
    bytes_init(&text, 4096, NULL);
    if (runtime_row_concern(row, &text))
        json_text(json, "concern", bytes_view(&text));
    else
        json_null(json, "concern");
    bytes_release(&text);
}

static void put_component(const struct figures *figures, const struct env *env,
                          const struct refusing_reason *reason, const struct runtime_row *row,
                          struct json *json)
{
    char doc[256];
    size_t type = strcspn(row->name, "/");
    snprintf(doc, sizeof doc, "/docs/%ss/%.*s", row->kind, (int)type, row->name);
    json_open(json, NULL, '{');
    json_word(json, "id", row->name);
    json_word(json, "kind", row->kind);
    json_word(json, "doc", doc);
    json_open(json, "listens", '[');
    runtime_row_places(row, put_place, json);
    json_close(json, ']');
    json_open(json, "counters", '{');
    for (size_t i = 0; i < COUNTERS; i++)
        put_counter(figures, row, &counters[i], json);
    json_close(json, '}');
    put_queue(figures, row, json);
    put_delivery(row, json);
    put_lanes(figures, row, json);
    put_concern(row, json);
    refusing_put(row, env->budget, reason, json);
    put_causes(figures, row, "refusals", &refused_requests, true, json);
    put_causes(figures, row, "drops", &counters[COUNTERS - 1], false, json);
    json_close(json, '}');
}

/* ---- rows ---- */

struct rows {
    const struct figures *figures;
    const struct env *env;
    const struct refusing_reason *reason;
    struct json *json;
    bool pipelines; /* write pipelines, not components */
};

/* Writes "a, b" as a list. */
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
        put_component(rows->figures, rows->env, rows->reason, row, rows->json);
}

static void put_process(const struct figures *figures, struct json *json)
{
    json_word(json, "version", SPANLINK_VERSION);
    json_time(json, "started_unix_nano", runtime_began());
    json_double(json, "uptime_ns", 1e9 * one_of(figures, NULL, "otelcol_process_uptime"));
    json_double(json, "cpu_ns", 1e9 * one_of(figures, NULL, "otelcol_process_cpu_seconds"));
    json_double(json, "rss_bytes", one_of(figures, NULL, "otelcol_process_memory_rss"));
    json_open(json, "budget", '{');
    json_double(json, "used_bytes", one_of(figures, NULL, "spanlink_memory_used_bytes"));
    json_double(json, "beyond_bytes", one_of(figures, NULL, "spanlink_memory_beyond_bytes"));
    json_double(json, "threshold_bytes", one_of(figures, NULL, "spanlink_memory_threshold_bytes"));
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
}

static void put_journal(const struct figures *figures, struct json *json)
{
    double journal = one_of(figures, NULL, "spanlink_journal_bytes");
    if (journal < 0) {
        json_null(json, "journal");
        return;
    }
    json_open(json, "journal", '{');
    json_double(json, "bytes", journal);
    json_double(json, "limit_bytes", one_of(figures, NULL, "spanlink_journal_limit_bytes"));
    json_double(json, "entries", one_of(figures, NULL, "spanlink_journal_entries"));
    json_double(json, "replay_left", one_of(figures, NULL, "spanlink_journal_replay_left"));
    json_close(json, '}');
}

/* Why requests cannot be accepted, and why the last configuration was refused; null: neither. */
static void put_troubles(const struct env *env, const struct refusing_reason *reason,
                         struct json *json)
{
    struct runtime *runtime = env->runtime;
    struct bytes text;
    bytes_init(&text, 4096, NULL);
    (void)runtime_trouble(runtime, &text);
    refusing_tell(runtime, env->budget, reason, &text);
    runtime_removed(runtime, &text);
    runtime_damaged(runtime, &text);
    expired_tell(clock_wall(env->clock), &text);
    (void)log_trouble(&text);
    if (text.size)
        json_text(json, "trouble", bytes_view(&text));
    else
        json_null(json, "trouble");
    bytes_release(&text);
    struct runtime_refusal refused = runtime_refused_reload(runtime);
    if (!refused.at) {
        json_null(json, "refused_reload");
        return;
    }
    json_open(json, "refused_reload", '{');
    json_time(json, "at_unix_nano", refused.at);
    json_word(json, "error", refused.error);
    json_close(json, '}');
}

static void write_pipelines(void *ctx, struct json *json)
{
    struct status *self = ctx;
    struct figures figures;
    metrics_init(&figures.metrics, METRIC_NORMAL);
    runtime_figures(self->env->runtime, &figures.metrics);
    figures.points = metrics_sorted(&figures.metrics, &figures.count);
    struct refusing_reason reason;
    refusing_find_reason(self->env->runtime, &reason);
    struct rows rows = {&figures, self->env, &reason, json, true};
    json_open(json, NULL, '{');
    put_process(&figures, json);
    put_journal(&figures, json);
    put_troubles(self->env, &reason, json);
    json_open(json, "pipelines", '[');
    runtime_rows(self->env->runtime, visit_row, &rows);
    json_close(json, ']');
    rows.pipelines = false;
    json_open(json, "components", '[');
    runtime_rows(self->env->runtime, visit_row, &rows);
    json_close(json, ']');
    json_close(json, '}');
    json->failed |= figures.metrics.failed;
    metrics_release(&figures.metrics);
    bytes_release(&reason.text);
}

void pipelines_answer(struct status *self, struct http_request *request)
{
    if (answer_has_none(request))
        answer_surely(request, &self->small_answers, ANSWER_MAX, write_pipelines, self);
}
