/* Paths: binding and reading. */
#include "lib/ottl/path.h"
#include "lib/base/nearest.h"

#include "lib/ottl/function.h"
#include "lib/ottl/trace_state.h"

#include <stdio.h>

enum { SPAN_STATUS = 15, ID_MAX = 16 };

#define OTELCOL VIEW("otelcol.")

/* ---- binding ---- */

/* Whether records of a context stand around those of another, or are the same. */
static bool around(enum ottl_context outer, enum ottl_context inner)
{
    return outer == inner || outer == OTTL_RESOURCE ||
           (outer == OTTL_SCOPE && inner != OTTL_RESOURCE) ||
           (outer == OTTL_SPAN && inner == OTTL_SPANEVENT) ||
           (outer == OTTL_METRIC && inner == OTTL_DATAPOINT);
}

static const struct ottl_field *find(const struct ottl_field *fields, struct view name)
{
    for (const struct ottl_field *field = fields; field && field->name; field++)
        if (view_eq(name, view_of(field->name)))
            return field;
    return NULL;
}

static bool indexable(enum ottl_access access)
{
    return access == ACCESS_ATTRIBUTES || access == ACCESS_CACHE || access == ACCESS_BODY ||
           access == ACCESS_TRACE_STATE || access == ACCESS_CLIENT_METADATA;
}

/* otelcol.client.metadata and its like, which are of no record. */
static bool bind_client(struct ottl *ottl, struct ottl_node *path, enum ottl_context context,
                        struct ottl_fault *fault)
{
    struct view name = path->name;
    int size = (int)(name.size < 80 ? name.size : 80);
    struct view rest = view_between(name.data + OTELCOL.size, name.data + name.size);
    path->context = context;
    path->field = find(ottl_client_fields, rest);
    ottl->reads_client = true;
    if (!path->field)
        return ottl_say(ottl, path->at, fault,
                        "%.*s is not supported, expected otelcol.client.addr or "
                        "otelcol.client.metadata",
                        size, name.data);
    if (path->key_count && !indexable(path->field->access))
        return ottl_say(ottl, path->at, fault, "%.*s cannot be indexed", size, name.data);
    return true;
}

/* rest: its name without the context. */
static bool say_unknown(struct ottl *ottl, const struct ottl_node *path, struct view rest,
                        struct ottl_fault *fault)
{
    int size = (int)(path->name.size < 80 ? path->name.size : 80);
    struct nearest nearest = nearest_begin(rest);
    char hint[120] = ", expected attributes[\"...\"]";
    const struct ottl_field *field = ottl_fields[path->context];
    for (; field && field->name; field++)
        nearest_offer(&nearest, field->name);
    if (!view_starts(rest, VIEW("attributes.")))
        nearest_hint(&nearest, hint);
    return ottl_say(ottl, path->at, fault, "path %.*s is unknown or not supported in context %s%s",
                    size, path->name.data, ottl_context_name(path->context), hint);
}

bool ottl_path_bind(struct ottl *ottl, struct ottl_node *path, enum ottl_context context,
                    bool named, struct ottl_fault *fault)
{
    struct view rest = path->name;
    int size = (int)(path->name.size < 80 ? path->name.size : 80);
    if (view_starts(path->name, OTELCOL))
        return bind_client(ottl, path, context, fault);
    path->context = ottl_path_context(path->name);
    if (path->context == OTTL_NONE && named)
        return ottl_say(ottl, path->at, fault,
                        "%.*s does not name a context, expected for example %s.%.*s", size,
                        path->name.data, ottl_context_name(context), size, path->name.data);
    if (path->context == OTTL_NONE) {
        path->context = context;
    } else {
        const uint8_t *dot = memchr(rest.data, '.', rest.size);
        rest = view_between(dot + 1, rest.data + rest.size);
    }
    if (!around(path->context, context))
        return ottl_say(ottl, path->at, fault, "%.*s is not available in context %s", size,
                        path->name.data, ottl_context_name(context));
    path->field = find(ottl_fields[path->context], rest);
    if (!path->field)
        return say_unknown(ottl, path, rest, fault);
    if (path->key_count && !indexable(path->field->access))
        return ottl_say(ottl, path->at, fault, "%.*s cannot be indexed", size, path->name.data);
    if (path->field->access == ACCESS_CACHE && path->context != context)
        return ottl_say(ottl, path->at, fault,
                        "%.*s: each context has its cache, expected %s.cache", size,
                        path->name.data, ottl_context_name(context));
    path->named = path->field->access == ACCESS_ATTRIBUTES && path->key_count == 1 &&
                  ottl_is_text(path->keys[0]);
    return true;
}

bool ottl_path_settable(const struct ottl_node *path, enum ottl_context context)
{
    bool data =
        path->field->access == ACCESS_TEMPORALITY || path->field->access == ACCESS_MONOTONIC;
    return !path->field->fixed && !(data && context != OTTL_METRIC);
}

/* ---- reading ---- */

static const char *const kinds[] = {"Unspecified", "Internal", "Server",
                                    "Client",      "Producer", "Consumer"};
static const char *const old_kinds[] = {
    "SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER",
    "SPAN_KIND_CLIENT",      "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER",
};
enum { KINDS = 6 };

static double double_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* An id of this many bytes; zeros if it is absent. */
static __attribute__((noinline)) struct ottl_value
get_id(const struct ottl_node *path, const struct ottl_run *run, size_t size, enum ottl_type type)
{
    static const uint8_t zeros[ID_MAX];
    struct proto_field field;
    struct view id = {zeros, size};
    if (record_get(ottl_path_record(path, run), path->field->number, &field) &&
        field.bytes.size == size)
        id = field.bytes;
    return ottl_bytes(type, id);
}

static __attribute__((noinline)) struct ottl_value hex_of(struct ottl_run *run, struct view id)
{
    static const char hex[] = "0123456789abcdef";
    char text[2 * ID_MAX];
    for (size_t i = 0; i < id.size && i < ID_MAX; i++) {
        text[2 * i] = hex[id.data[i] >> 4];
        text[2 * i + 1] = hex[id.data[i] & 15];
    }
    return ottl_string(ottl_keep(run, (struct view){(uint8_t *)text, 2 * id.size}));
}

static struct ottl_value get_state(const struct ottl_node *path, struct ottl_run *run)
{
    struct proto_field field;
    bool there = record_get(ottl_path_record(path, run), path->field->number, &field);
    struct view state = there ? field.bytes : VIEW("");
    if (!path->key_count)
        return ottl_string(state);
    struct ottl_value key = ottl_node_eval(path->keys[0], run);
    if (key.type != TYPE_STRING)
        return ottl_fail(run, "a key of trace_state must be a string");
    struct trace_state members;
    return trace_state_read(state, &members) ? ottl_string(trace_state_get(&members, key.bytes))
                                             : ottl_nil();
}

static struct ottl_value countable(struct view message, uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    struct ottl_value messages = {.type = TYPE_MESSAGES};
    while (proto_scan_next(&scan, &field))
        messages.integer += field.number == number;
    return messages;
}

static struct ottl_value get_list(const struct ottl_node *path, struct ottl_run *run)
{
    const struct record *record = ottl_path_record(path, run);
    struct proto_field data;
    if (path->context != OTTL_METRIC)
        return countable(record->body, path->field->number);
    return ottl_metric_data(record, &data) ? countable(data.bytes, 1) : ottl_nil();
}

static struct ottl_value get_metric(const struct ottl_node *path, struct ottl_run *run)
{
    const struct record *metric = ottl_path_record(path, run);
    struct proto_field data, field;
    bool there = ottl_metric_data(metric, &data);
    if (path->field->access == ACCESS_METRIC_TYPE)
        return ottl_int(!there ? 0 : data.number < 8 ? (data.number - 3) / 2 : data.number - 6);
    if (path->field->access == ACCESS_TEMPORALITY) {
        if (!there || data.number == 5 || data.number == 11)
            return ottl_nil();
        return ottl_int(proto_find(data.bytes, 2, WIRE_VARINT, &field) ? (int64_t)field.value : 0);
    }
    if (!there || data.number != 7)
        return ottl_nil();
    return ottl_bool(proto_find(data.bytes, 3, WIRE_VARINT, &field) && field.value);
}

static struct ottl_value get_point(const struct ottl_node *path, struct ottl_run *run)
{
    const struct record *point = ottl_path_record(path, run);
    uint32_t number = ottl_point_number(run->at->point_kind, path->field);
    struct proto_field field = {0};
    if (!number)
        return ottl_nil();
    bool there = record_get(point, number, &field);
    switch (path->field->type) {
    case AS_NANOS:
    case AS_VARINT:
    case AS_SFIXED:
        return ottl_int(there ? (int64_t)field.value : 0);
    case AS_SINT:
        return ottl_int((int32_t)(uint32_t)(field.value >> 1 ^ (0 - (field.value & 1))));
    case AS_DOUBLE:
        return ottl_double(there ? double_of(field.value) : 0);
    case AS_LIST:
        return countable(point->body, number);
    case AS_NOTHING:
    case AS_UINT32:
    case AS_INT32:
        break;
    }
    return ottl_nil();
}

static struct ottl_value get_time(const struct ottl_node *path, const struct ottl_run *run)
{
    const struct ottl_field *named = path->field;
    uint32_t number = named->number;
    if (path->context == OTTL_DATAPOINT && named->access == ACCESS_TIME)
        number = ottl_point_number(run->at->point_kind, named);
    int64_t nanos = (int64_t)record_fixed64(ottl_path_record(path, run), number);
    if (named->access == ACCESS_NANOS)
        return ottl_int(nanos);
    return ottl_time_at(nanos, NULL);
}

static struct ottl_value get_field(const struct ottl_node *path, const struct ottl_run *run)
{
    const struct ottl_field *named = path->field;
    uint32_t number = named->number;
    struct proto_field field = {0};
    bool there = record_get(ottl_path_record(path, run), number, &field);
    switch ((int)named->access) {
    case ACCESS_STRING:
        return ottl_string(there ? field.bytes : VIEW(""));
    case ACCESS_KIND_TEXT:
    case ACCESS_KIND_OLD:
        if (field.value >= KINDS)
            return ottl_string(VIEW(""));
        return ottl_string(
            view_of((named->access == ACCESS_KIND_TEXT ? kinds : old_kinds)[field.value]));
    default:
        return ottl_int(there ? (int64_t)field.value : 0);
    }
}

static struct ottl_value get_status(const struct ottl_node *path, struct ottl_run *run)
{
    struct proto_field status, field;
    bool text = path->field->access == ACCESS_STATUS_TEXT;
    bool there =
        record_get(ottl_path_record(path, run), SPAN_STATUS, &status) &&
        proto_find(status.bytes, path->field->number, text ? WIRE_LEN : WIRE_VARINT, &field);
    if (text)
        return ottl_string(there ? field.bytes : VIEW(""));
    return ottl_int(there ? (int64_t)field.value : 0);
}

struct attributes *ottl_path_attributes(const struct ottl_node *path, struct ottl_run *run,
                                        bool sought)
{
    if (path->kind != NODE_PATH || path->key_count)
        return NULL;
    if (path->field->access == ACCESS_CACHE)
        return &run->cache;
    if (path->field->access != ACCESS_ATTRIBUTES)
        return NULL;
    struct record *record = ottl_path_record(path, run);
    return sought ? record_sought(record) : record_attributes(record);
}

static struct ottl_value get_attributes(const struct ottl_node *path, struct ottl_run *run)
{
    bool cache = path->field->access == ACCESS_CACHE;
    struct record *record = ottl_path_record(path, run);
    struct value value;
    if (!path->key_count) {
        value = attributes_map(cache ? &run->cache : record_attributes(record));
        return value.bytes.data ? ottl_bytes(TYPE_MAP, value.bytes)
                                : ottl_fail(run, "out of memory");
    }
    struct ottl_value key = ottl_node_eval(path->keys[0], run);
    if (key.type != TYPE_STRING)
        return ottl_fail(run, "a key of %.*s must be a string", VIEW_ARG(path->name));
    const struct attribute *found =
        cache ? attributes_find(&run->cache, key.bytes) : record_find(record, key.bytes);
    if (!found)
        return ottl_nil();
    value = value_read(found->any);
    return ottl_index(ottl_of_value(&value), path->keys + 1, path->key_count - 1, false, run);
}

static struct ottl_value get_body(const struct ottl_node *path, struct ottl_run *run)
{
    struct proto_field field;
    struct value body = {0};
    if (record_get(ottl_path_record(path, run), path->field->number, &field))
        body = value_read(field.bytes);
    if (path->field->access == ACCESS_BODY_TEXT)
        return ottl_string(value_text(&body, ottl_arena(run)));
    return ottl_index(ottl_of_value(&body), path->keys, path->key_count, false, run);
}

static __attribute__((noinline)) struct ottl_value value_of(const struct attribute *item)
{
    const struct value value = value_read(item->any);
    return ottl_of_value(&value);
}

/* An attribute by a literal key. */
static struct ottl_value get_named(const struct ottl_node *path, struct ottl_run *run)
{
    const struct attribute *found =
        record_find(ottl_path_record(path, run), path->keys[0]->value.bytes);
    struct view text = found ? value_short_text(found->any) : (struct view){0};
    if (text.data)
        return ottl_string(text);
    return found ? value_of(found) : ottl_nil();
}

static __attribute__((noinline)) struct ottl_value get_other(const struct ottl_node *path,
                                                             struct ottl_run *run)
{
    switch (path->field->access) {
    case ACCESS_ATTRIBUTES:
    case ACCESS_CACHE:
        return get_attributes(path, run);
    case ACCESS_TRACE_ID:
        return get_id(path, run, 16, TYPE_TRACE_ID);
    case ACCESS_SPAN_ID:
        return get_id(path, run, 8, TYPE_SPAN_ID);
    case ACCESS_TRACE_ID_TEXT:
    case ACCESS_BYTES_TEXT:
        return hex_of(run, get_id(path, run, 16, TYPE_TRACE_ID).bytes);
    case ACCESS_SPAN_ID_TEXT:
        return hex_of(run, get_id(path, run, 8, TYPE_SPAN_ID).bytes);
    case ACCESS_TRACE_STATE:
        return get_state(path, run);
    case ACCESS_STATUS:
    case ACCESS_STATUS_TEXT:
        return get_status(path, run);
    case ACCESS_BODY:
    case ACCESS_BODY_TEXT:
        return get_body(path, run);
    case ACCESS_SCHEMA_URL:
        return ottl_string(request_edit_schema(run->at, ottl_level(path->context)));
    case ACCESS_LIST:
        return get_list(path, run);
    case ACCESS_CLIENT_ADDRESS:
    case ACCESS_CLIENT_METADATA:
        return ottl_client_get(path, run);
    case ACCESS_INDEX:
        return ottl_int((int64_t)run->at->point_index);
    case ACCESS_METRIC_TYPE:
    case ACCESS_TEMPORALITY:
    case ACCESS_MONOTONIC:
        return get_metric(path, run);
    case ACCESS_NUMBER:
        return get_point(path, run);
    case ACCESS_NANOS:
    case ACCESS_TIME:
        return get_time(path, run);
    case ACCESS_STRING:
    case ACCESS_VARINT:
    case ACCESS_FIXED32:
    case ACCESS_KIND_TEXT:
    case ACCESS_KIND_OLD:
        break;
    }
    return get_field(path, run);
}

struct ottl_value ottl_path_get(const struct ottl_node *path, struct ottl_run *run)
{
    return path->named ? get_named(path, run) : get_other(path, run);
}
