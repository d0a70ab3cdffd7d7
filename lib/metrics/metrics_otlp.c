#include "lib/metrics/metrics_otlp.h"

#include "lib/wire/proto/proto_write.h"

#include <string.h>

/* Field numbers of metrics.proto, common.proto and resource.proto. */
enum {
    REQUEST_RESOURCE_METRICS = 1,
    RESOURCE_METRICS_RESOURCE = 1,
    RESOURCE_METRICS_SCOPE_METRICS = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_METRICS_SCOPE = 1,
    SCOPE_METRICS_METRICS = 2,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    METRIC_FIELD_NAME = 1,
    METRIC_FIELD_DESCRIPTION = 2,
    METRIC_FIELD_UNIT = 3,
    METRIC_FIELD_GAUGE = 5,
    METRIC_FIELD_SUM = 7,
    METRIC_FIELD_HISTOGRAM = 9,
    DATA_POINTS = 1,
    TEMPORALITY = 2,
    IS_MONOTONIC = 3,
    POINT_START = 2,
    POINT_TIME = 3,
    NUMBER_AS_DOUBLE = 4,
    NUMBER_ATTRIBUTES = 7,
    HISTOGRAM_COUNT = 4,
    HISTOGRAM_SUM = 5,
    HISTOGRAM_COUNTS = 6,
    HISTOGRAM_LIMITS = 7,
    HISTOGRAM_ATTRIBUTES = 9,
    KEY = 1,
    VALUE = 2,
    VALUE_STRING = 1,
    CUMULATIVE = 2
};

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void put_attribute(struct proto_write *write, uint32_t number, struct view name,
                          struct view value)
{
    size_t attribute = proto_write_open(write, number);
    proto_write_bytes(write, KEY, name);
    size_t any = proto_write_open(write, VALUE);
    proto_write_bytes(write, VALUE_STRING, value);
    proto_write_close(write, any);
    proto_write_close(write, attribute);
}

static void put_labels(struct proto_write *write, uint32_t number, const struct metrics *metrics,
                       const struct metrics_point *point)
{
    struct view name, value;
    size_t at = 0;
    while (metrics_label(metrics, point, &at, &name, &value))
        put_attribute(write, number, name, value);
}

static void put_fixed(struct proto_write *write, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    proto_write_raw(write, (struct view){bytes, sizeof bytes});
}

static void put_buckets(struct proto_write *write, const struct metrics *metrics,
                        const struct metrics_point *point)
{
    const struct histogram_bounds *bounds = point->row->bounds;
    const uint64_t *counts = metrics_counts(metrics, point);
    uint64_t sum = 0;
    for (unsigned i = 0; i <= bounds->count; i++)
        sum += counts[i];
    proto_write_fixed64(write, HISTOGRAM_COUNT, sum);
    proto_write_fixed64(write, HISTOGRAM_SUM, bits_of(point->value));
    size_t packed = proto_write_open(write, HISTOGRAM_COUNTS);
    for (unsigned i = 0; i <= bounds->count; i++)
        put_fixed(write, counts[i]);
    proto_write_close(write, packed);
    packed = proto_write_open(write, HISTOGRAM_LIMITS);
    for (unsigned i = 0; i < bounds->count; i++)
        put_fixed(write, bits_of((double)bounds->limits[i] * bounds->scale));
    proto_write_close(write, packed);
}

static void put_point(struct proto_write *write, const struct metrics *metrics,
                      const struct metrics_point *point, const struct metrics_origin *origin)
{
    bool histogram = point->row->kind == METRIC_HISTOGRAM;
    size_t opened = proto_write_open(write, DATA_POINTS);
    proto_write_fixed64(write, POINT_START, origin->started);
    proto_write_fixed64(write, POINT_TIME, origin->now);
    if (histogram)
        put_buckets(write, metrics, point);
    else
        proto_write_fixed64(write, NUMBER_AS_DOUBLE, bits_of(point->value));
    put_labels(write, histogram ? HISTOGRAM_ATTRIBUTES : NUMBER_ATTRIBUTES, metrics, point);
    proto_write_close(write, opened);
}

/* Writes the points with one name; returns their number. */
static size_t put_metric(struct proto_write *write, const struct metrics *metrics,
                         const struct metrics_point *points, size_t left,
                         const struct metrics_origin *origin)
{
    static const uint32_t numbers[] = {[METRIC_COUNTER] = METRIC_FIELD_SUM,
                                       [METRIC_GAUGE] = METRIC_FIELD_GAUGE,
                                       [METRIC_HISTOGRAM] = METRIC_FIELD_HISTOGRAM};
    const struct metric *row = points->row;
    size_t count = 0, metric = proto_write_open(write, SCOPE_METRICS_METRICS);
    proto_write_bytes(write, METRIC_FIELD_NAME, view_of(row->name));
    proto_write_bytes(write, METRIC_FIELD_DESCRIPTION, view_of(row->help));
    proto_write_bytes(write, METRIC_FIELD_UNIT, view_of(row->unit));
    size_t data = proto_write_open(write, numbers[row->kind]);
    for (; count < left && strcmp(points[count].row->name, row->name) == 0; count++)
        put_point(write, metrics, &points[count], origin);
    if (row->kind != METRIC_GAUGE)
        proto_write_varint(write, TEMPORALITY, CUMULATIVE);
    if (row->kind == METRIC_COUNTER)
        proto_write_varint(write, IS_MONOTONIC, 1);
    proto_write_close(write, data);
    proto_write_close(write, metric);
    return count;
}

static void put_origin(struct proto_write *write, const struct metrics_origin *origin)
{
    size_t resource = proto_write_open(write, RESOURCE_METRICS_RESOURCE);
    for (const struct metric_label *each = origin->resource; each->name; each++)
        if (each->value.size)
            put_attribute(write, RESOURCE_ATTRIBUTES, view_of(each->name), each->value);
    proto_write_close(write, resource);
}

static void put_scope(struct proto_write *write, const struct metrics_origin *origin)
{
    size_t scope = proto_write_open(write, SCOPE_METRICS_SCOPE);
    proto_write_bytes(write, SCOPE_NAME, view_of(origin->scope));
    proto_write_bytes(write, SCOPE_VERSION, view_of(origin->version));
    proto_write_close(write, scope);
}

bool metrics_write_otlp(struct metrics *metrics, const struct metrics_origin *origin,
                        struct bytes *out, uint32_t *points)
{
    struct proto_write write = proto_write_begin(out);
    size_t count;
    const struct metrics_point *sorted = metrics_sorted(metrics, &count);
    size_t all = proto_write_open(&write, REQUEST_RESOURCE_METRICS);
    put_origin(&write, origin);
    size_t scope = proto_write_open(&write, RESOURCE_METRICS_SCOPE_METRICS);
    put_scope(&write, origin);
    *points = 0;
    for (size_t i = 0; i < count;) {
        if (strcmp(sorted[i].row->name, "target_info") == 0) {
            i++;
            continue;
        }
        size_t put = put_metric(&write, metrics, &sorted[i], count - i, origin);
        *points += (uint32_t)put;
        i += put;
    }
    proto_write_close(&write, scope);
    proto_write_close(&write, all);
    return !proto_write_fault(&write) && !metrics->failed;
}
