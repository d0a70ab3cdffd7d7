/* The fields of every context. Numbers: opentelemetry-proto 1.11. */
#include "lib/ottl/path.h"

static const struct ottl_field resource_fields[] = {
    {.name = "attributes", .access = ACCESS_ATTRIBUTES},
    {.name = "dropped_attributes_count", .access = ACCESS_VARINT, .number = 2, .type = AS_UINT32},
    {.name = "schema_url", .access = ACCESS_SCHEMA_URL},
    {.name = "cache", .access = ACCESS_CACHE},
    {0},
};
static const struct ottl_field scope_fields[] = {
    {.name = "attributes", .access = ACCESS_ATTRIBUTES},
    {.name = "name", .access = ACCESS_STRING, .number = 1},
    {.name = "version", .access = ACCESS_STRING, .number = 2},
    {.name = "dropped_attributes_count", .access = ACCESS_VARINT, .number = 4, .type = AS_UINT32},
    {.name = "schema_url", .access = ACCESS_SCHEMA_URL},
    {.name = "cache", .access = ACCESS_CACHE},
    {0},
};
static const struct ottl_field span_fields[] = {
    {.name = "attributes", .access = ACCESS_ATTRIBUTES},
    {.name = "name", .access = ACCESS_STRING, .number = 5},
    {.name = "trace_id", .access = ACCESS_TRACE_ID, .number = 1},
    {.name = "trace_id.string", .access = ACCESS_TRACE_ID_TEXT, .number = 1},
    {.name = "span_id", .access = ACCESS_SPAN_ID, .number = 2},
    {.name = "span_id.string", .access = ACCESS_SPAN_ID_TEXT, .number = 2},
    {.name = "parent_span_id", .access = ACCESS_SPAN_ID, .number = 4},
    {.name = "parent_span_id.string", .access = ACCESS_SPAN_ID_TEXT, .number = 4},
    {.name = "trace_state", .access = ACCESS_TRACE_STATE, .number = 3},
    {.name = "kind", .access = ACCESS_VARINT, .number = 6, .type = AS_INT32},
    {.name = "kind.string", .access = ACCESS_KIND_TEXT, .number = 6},
    {.name = "kind.deprecated_string", .access = ACCESS_KIND_OLD, .number = 6},
    {.name = "start_time_unix_nano", .access = ACCESS_NANOS, .number = 7},
    {.name = "end_time_unix_nano", .access = ACCESS_NANOS, .number = 8},
    {.name = "start_time", .access = ACCESS_TIME, .number = 7},
    {.name = "end_time", .access = ACCESS_TIME, .number = 8},
    {.name = "dropped_attributes_count", .access = ACCESS_VARINT, .number = 10, .type = AS_UINT32},
    {.name = "events", .access = ACCESS_LIST, .number = 11},
    {.name = "dropped_events_count", .access = ACCESS_VARINT, .number = 12, .type = AS_UINT32},
    {.name = "links", .access = ACCESS_LIST, .number = 13},
    {.name = "dropped_links_count", .access = ACCESS_VARINT, .number = 14, .type = AS_UINT32},
    {.name = "status.code", .access = ACCESS_STATUS, .number = 3},
    {.name = "status.message", .access = ACCESS_STATUS_TEXT, .number = 2},
    {.name = "flags", .access = ACCESS_FIXED32, .number = 16},
    {.name = "cache", .access = ACCESS_CACHE},
    {0},
};
static const struct ottl_field event_fields[] = {
    {.name = "attributes", .access = ACCESS_ATTRIBUTES},
    {.name = "name", .access = ACCESS_STRING, .number = 2},
    {.name = "time_unix_nano", .access = ACCESS_NANOS, .number = 1},
    {.name = "time", .access = ACCESS_TIME, .number = 1},
    {.name = "dropped_attributes_count", .access = ACCESS_VARINT, .number = 4, .type = AS_UINT32},
    {.name = "event_index", .access = ACCESS_INDEX, .fixed = true},
    {.name = "cache", .access = ACCESS_CACHE},
    {0},
};
static const struct ottl_field metric_fields[] = {
    {.name = "name", .access = ACCESS_STRING, .number = 1},
    {.name = "description", .access = ACCESS_STRING, .number = 2},
    {.name = "unit", .access = ACCESS_STRING, .number = 3},
    {.name = "type", .access = ACCESS_METRIC_TYPE},
    {.name = "aggregation_temporality", .access = ACCESS_TEMPORALITY},
    {.name = "is_monotonic", .access = ACCESS_MONOTONIC},
    {.name = "data_points", .access = ACCESS_LIST, .number = 1},
    {.name = "cache", .access = ACCESS_CACHE},
    {0},
};
static const struct ottl_field point_fields[] = {
    {.name = "attributes", .access = ACCESS_ATTRIBUTES},
    {.name = "start_time_unix_nano",
     .access = ACCESS_NUMBER,
     .number = POINT_START,
     .type = AS_NANOS},
    {.name = "time_unix_nano", .access = ACCESS_NUMBER, .number = POINT_TIME, .type = AS_NANOS},
    {.name = "start_time", .access = ACCESS_TIME, .number = POINT_START},
    {.name = "time", .access = ACCESS_TIME, .number = POINT_TIME},
    {.name = "value_double", .access = ACCESS_NUMBER, .number = POINT_DOUBLE, .type = AS_DOUBLE},
    {.name = "value_int", .access = ACCESS_NUMBER, .number = POINT_INT, .type = AS_SFIXED},
    {.name = "flags", .access = ACCESS_NUMBER, .number = POINT_FLAGS, .type = AS_VARINT},
    {.name = "count", .access = ACCESS_NUMBER, .number = POINT_COUNT, .type = AS_NANOS},
    {.name = "sum", .access = ACCESS_NUMBER, .number = POINT_SUM, .type = AS_DOUBLE},
    {.name = "scale", .access = ACCESS_NUMBER, .number = POINT_SCALE, .type = AS_SINT},
    {.name = "zero_count", .access = ACCESS_NUMBER, .number = POINT_ZEROS, .type = AS_NANOS},
    {.name = "quantile_values",
     .access = ACCESS_NUMBER,
     .number = POINT_QUANTILES,
     .type = AS_LIST},
    {.name = "exemplars", .access = ACCESS_NUMBER, .number = POINT_EXEMPLARS, .type = AS_LIST},
    {.name = "cache", .access = ACCESS_CACHE},
    {0},
};
static const struct ottl_field log_fields[] = {
    {.name = "attributes", .access = ACCESS_ATTRIBUTES},
    {.name = "body", .access = ACCESS_BODY, .number = 5},
    {.name = "body.string", .access = ACCESS_BODY_TEXT, .number = 5},
    {.name = "severity_number", .access = ACCESS_VARINT, .number = 2, .type = AS_INT32},
    {.name = "severity_text", .access = ACCESS_STRING, .number = 3},
    {.name = "time_unix_nano", .access = ACCESS_NANOS, .number = 1},
    {.name = "observed_time_unix_nano", .access = ACCESS_NANOS, .number = 11},
    {.name = "time", .access = ACCESS_TIME, .number = 1},
    {.name = "observed_time", .access = ACCESS_TIME, .number = 11},
    {.name = "dropped_attributes_count", .access = ACCESS_VARINT, .number = 7, .type = AS_UINT32},
    {.name = "flags", .access = ACCESS_FIXED32, .number = 8},
    {.name = "trace_id", .access = ACCESS_TRACE_ID, .number = 9},
    {.name = "trace_id.string", .access = ACCESS_TRACE_ID_TEXT, .number = 9},
    {.name = "span_id", .access = ACCESS_SPAN_ID, .number = 10},
    {.name = "span_id.string", .access = ACCESS_SPAN_ID_TEXT, .number = 10},
    {.name = "event_name", .access = ACCESS_STRING, .number = 12},
    {.name = "cache", .access = ACCESS_CACHE},
    {0},
};
static const struct ottl_field profile_fields[] = {
    {.name = "profile_id", .access = ACCESS_TRACE_ID, .number = 7, .fixed = true},
    {.name = "profile_id.string", .access = ACCESS_BYTES_TEXT, .number = 7, .fixed = true},
    {.name = "time_unix_nano", .access = ACCESS_NANOS, .number = 3},
    {.name = "time", .access = ACCESS_TIME, .number = 3},
    {.name = "duration_unix_nano", .access = ACCESS_VARINT, .number = PROFILE_DURATION},
    {.name = "duration", .access = ACCESS_VARINT, .number = PROFILE_DURATION},
    {.name = "period", .access = ACCESS_VARINT, .number = 6},
    {.name = "dropped_attributes_count", .access = ACCESS_VARINT, .number = 8, .type = AS_UINT32},
    {.name = "original_payload_format", .access = ACCESS_STRING, .number = 9},
    {.name = "cache", .access = ACCESS_CACHE},
    {0},
};

const struct ottl_field ottl_client_fields[] = {
    {.name = "client.addr", .access = ACCESS_CLIENT_ADDRESS, .fixed = true},
    {.name = "client.metadata", .access = ACCESS_CLIENT_METADATA, .fixed = true},
    {0},
};

const struct ottl_field *const ottl_fields[OTTL_CONTEXTS] = {
    [OTTL_RESOURCE] = resource_fields, [OTTL_SCOPE] = scope_fields,
    [OTTL_SPAN] = span_fields,         [OTTL_SPANEVENT] = event_fields,
    [OTTL_METRIC] = metric_fields,     [OTTL_DATAPOINT] = point_fields,
    [OTTL_LOG] = log_fields,           [OTTL_PROFILE] = profile_fields,
};

/* By kind of point, in the order of ottl_point_field; 0: it has none. */
static const uint8_t numbers[][POINT_EXEMPLARS + 1] = {
    [EDIT_NUMBER] = {2, 3, 8, 0, 0, 0, 0, 4, 6, 0, 0, 0, 0, 0, 0, 5},
    [EDIT_HISTOGRAM] = {2, 3, 10, 4, 5, 11, 12, 0, 0, 6, 7, 0, 0, 0, 0, 8},
    [EDIT_EXPONENTIAL] = {2, 3, 10, 4, 5, 12, 13, 0, 0, 0, 0, 6, 7, 14, 0, 11},
    [EDIT_SUMMARY] = {2, 3, 8, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0},
};

uint32_t ottl_point_number(enum edit_point kind, const struct ottl_field *field)
{
    return kind >= EDIT_NUMBER ? numbers[kind][field->number] : 0;
}

bool ottl_metric_data(const struct record *metric, struct proto_field *data)
{
    static const uint32_t kinds[] = {5, 7, 9, 10, 11};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (record_get(metric, kinds[i], data))
            return true;
    return false;
}

static const char *const names[OTTL_CONTEXTS] = {
    [OTTL_NONE] = "no context",     [OTTL_RESOURCE] = "resource",
    [OTTL_SCOPE] = "scope",         [OTTL_SPAN] = "span",
    [OTTL_SPANEVENT] = "spanevent", [OTTL_METRIC] = "metric",
    [OTTL_DATAPOINT] = "datapoint", [OTTL_LOG] = "log",
    [OTTL_PROFILE] = "profile",
};

const char *ottl_context_name(enum ottl_context context)
{
    return names[context];
}

enum ottl_context ottl_context_of(struct view name)
{
    for (int i = OTTL_RESOURCE; i < OTTL_CONTEXTS; i++)
        if (view_eq(name, view_of(names[i])))
            return (enum ottl_context)i;
    return view_eq(name, VIEW("instrumentation_scope")) ? OTTL_SCOPE : OTTL_NONE;
}

enum edit_level ottl_level(enum ottl_context context)
{
    static const uint8_t levels[OTTL_CONTEXTS] = {
        [OTTL_RESOURCE] = EDIT_RESOURCE, [OTTL_SCOPE] = EDIT_SCOPE,  [OTTL_SPAN] = EDIT_ITEM,
        [OTTL_SPANEVENT] = EDIT_POINT,   [OTTL_METRIC] = EDIT_ITEM,  [OTTL_DATAPOINT] = EDIT_POINT,
        [OTTL_LOG] = EDIT_ITEM,          [OTTL_PROFILE] = EDIT_ITEM,
    };
    return (enum edit_level)levels[context];
}

bool ottl_context_fits(enum ottl_context context, enum signal signal)
{
    switch (context) {
    case OTTL_RESOURCE:
    case OTTL_SCOPE:
        return true;
    case OTTL_SPAN:
    case OTTL_SPANEVENT:
        return signal == SIGNAL_TRACES;
    case OTTL_METRIC:
    case OTTL_DATAPOINT:
        return signal == SIGNAL_METRICS;
    case OTTL_LOG:
        return signal == SIGNAL_LOGS;
    case OTTL_PROFILE:
        return signal == SIGNAL_PROFILES;
    case OTTL_NONE:
    case OTTL_CONTEXTS:
        break;
    }
    return false;
}

enum ottl_context ottl_path_context(struct view name)
{
    const uint8_t *dot = memchr(name.data, '.', name.size);
    return dot ? ottl_context_of(view_between(name.data, dot)) : OTTL_NONE;
}
