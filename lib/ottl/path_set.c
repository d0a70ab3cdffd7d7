/* Setting of paths. */
#include "lib/ottl/function.h"
#include "lib/ottl/path.h"
#include "lib/ottl/trace_state.h"

#include "lib/wire/proto/text.h"

enum { SPAN_STATUS = 15, LIST_MOST = 10000, ID_MAX = 16, STATE_MOST = 1 << 20 };

static bool is(struct ottl_run *run, const struct ottl_node *path, const struct ottl_value *value,
               enum ottl_type type)
{
    if (value->type == type)
        return true;
    ottl_fail(run, "%.*s takes %s, not %s", VIEW_ARG(path->name), ottl_type_name(type),
              ottl_type_name(value->type));
    return false;
}

/* ---- nested values ---- */

static bool set_in(struct value *value, struct ottl_node *const *keys, size_t count,
                   struct ottl_run *run, const struct value *to);

static bool keep_list(struct ottl_run *run, struct bytes *out, struct value *value)
{
    struct view kept = ottl_keep(run, bytes_view(out));
    *value = (struct value){.kind = VALUE_LIST, .bytes = kept};
    return kept.data;
}

static bool set_in_list(struct value *value, int64_t index, struct ottl_node *const *keys,
                        size_t count, struct ottl_run *run, const struct value *to)
{
    struct proto_scan scan = proto_scan_begin(value->bytes);
    struct value each;
    struct bytes out;
    int64_t at = 0;
    bool ok = true;
    bytes_init(&out, (size_t)16 << 20, NULL);
    for (; ok && value_next(&scan, &each); at++) {
        if (at == index)
            ok = set_in(&each, keys, count, run, to);
        ok = ok && value_append(&out, &each);
    }
    if (index < 0 || index >= at) {
        ottl_fail(run, "index %lld is out of range", (long long)index);
        ok = false;
    }
    ok = ok && keep_list(run, &out, value);
    bytes_release(&out);
    return ok;
}

static bool set_in_map(struct value *value, struct view key, struct ottl_node *const *keys,
                       size_t count, struct ottl_run *run, const struct value *to)
{
    struct attributes list;
    struct value inner = {0};
    attributes_read(&list, value->bytes, 1, ottl_arena(run));
    attributes_get(&list, key, &inner);
    if (!set_in(&inner, keys, count, run, to))
        return false;
    attributes_set(&list, key, &inner);
    *value = attributes_map(&list);
    return value->bytes.data && !list.failed;
}

/* An empty value becomes what the key needs: a map, or a list that is long enough. */
static bool make_container(struct value *value, const struct ottl_value *key, struct ottl_run *run)
{
    static const uint8_t nothing[1];
    *value = (struct value){.kind = VALUE_MAP, .bytes = {nothing, 0}};
    if (key->type != TYPE_INT)
        return true;
    if (key->integer < 0 || key->integer >= LIST_MOST) {
        ottl_fail(run, "index %lld is out of range", (long long)key->integer);
        return false;
    }
    size_t count = (size_t)key->integer + 1;
    uint8_t *body = arena_alloc(ottl_arena(run), 2 * count);
    for (size_t i = 0; body && i < count; i++)
        body[2 * i] = 1 << 3 | WIRE_LEN;
    *value = (struct value){.kind = VALUE_LIST, .bytes = {body, 2 * count}};
    return body;
}

static bool set_in(struct value *value, struct ottl_node *const *keys, size_t count,
                   struct ottl_run *run, const struct value *to)
{
    if (count == 0) {
        *value = *to;
        return true;
    }
    struct ottl_value key = ottl_node_eval(keys[0], run);
    if (run->failed)
        return false;
    if (value->kind == VALUE_EMPTY && !make_container(value, &key, run))
        return false;
    if (value->kind == VALUE_MAP && key.type == TYPE_STRING)
        return set_in_map(value, key.bytes, keys + 1, count - 1, run, to);
    if (value->kind == VALUE_LIST && key.type == TYPE_INT)
        return set_in_list(value, key.integer, keys + 1, count - 1, run, to);
    ottl_fail(run, "only maps and lists can be indexed");
    return false;
}

/* ---- attributes, cache, body ---- */

static void set_all(struct attributes *list, struct view map, struct ottl_run *run)
{
    struct attributes from;
    attributes_read(&from, map, 1, ottl_arena(run));
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].gone)
            attributes_remove(list, &list->items[i]);
    list->changed = list->partial = true;
    for (size_t i = 0; i < from.count; i++) { /* a key that is there twice stays so */
        struct view any = from.items[i].any;
        attributes_add(list, from.items[i].key, any.data ? any : VIEW(""));
    }
    list->partial = from.failed || list->failed;
    if (list->partial)
        ottl_fail(run, "out of memory");
}

static void set_attributes(const struct ottl_node *path, struct ottl_run *run,
                           const struct ottl_value *to)
{
    struct record *record = ottl_path_record(path, run);
    struct attributes *list = path->field->access == ACCESS_CACHE ? &run->cache
                              : path->key_count                   ? record_sought(record)
                                                                  : record_attributes(record);
    struct value value, inner = {0};
    if (!path->key_count) {
        if (is(run, path, to, TYPE_MAP) && ottl_to_value(to, &value) && ottl_fits(run, &value))
            set_all(list, to->bytes, run);
        return;
    }
    struct ottl_value key = ottl_node_eval(path->keys[0], run);
    if (key.type != TYPE_STRING) {
        ottl_fail(run, "a key of %.*s must be a string", VIEW_ARG(path->name));
        return;
    }
    bool there = attributes_get(list, key.bytes, &inner);
    if (!ottl_to_value(to, &value)) {
        if (!there) /* the Collector leaves the attribute empty */
            attributes_set(list, key.bytes, &inner);
        ottl_fail(run, "an attribute cannot be %s", ottl_type_name(to->type));
        return;
    }
    if (set_in(&inner, path->keys + 1, path->key_count - 1, run, &value) && ottl_fits(run, &inner))
        attributes_set(list, key.bytes, &inner);
    if (list->failed)
        ottl_fail(run, "out of memory");
}

static void set_body(const struct ottl_node *path, struct ottl_run *run,
                     const struct ottl_value *to)
{
    struct record *record = ottl_path_record(path, run);
    struct proto_field field;
    struct value value, body = {0};
    if (path->field->access == ACCESS_BODY_TEXT && !is(run, path, to, TYPE_STRING))
        return;
    if (!ottl_to_value(to, &value)) {
        ottl_fail(run, "a body cannot be %s", ottl_type_name(to->type));
        return;
    }
    if (record_get(record, path->field->number, &field))
        body = value_read(field.bytes);
    if (path->key_count && body.kind != VALUE_MAP && body.kind != VALUE_LIST) {
        ottl_fail(run, "only a body that is a map or list can be indexed");
        return;
    }
    if (!set_in(&body, path->keys, path->key_count, run, &value) || !ottl_fits(run, &body))
        return;
    struct view any = value_any(&body, ottl_arena(run));
    if (any.data)
        record_set_bytes(record, path->field->number, any);
    else
        ottl_fail(run, "out of memory");
}

/* ---- ids ---- */

/* An id of zeros is none, and its field is left out (OTLP, trace.proto: an empty value). */
static void put_id(const struct ottl_node *path, struct ottl_run *run, struct view id)
{
    static const uint8_t zeros[ID_MAX];
    struct record *record = ottl_path_record(path, run);
    if (id.size <= ID_MAX && memcmp(id.data, zeros, id.size) == 0)
        record_clear(record, path->field->number);
    else
        record_set_bytes(record, path->field->number, id);
}

static void set_id(const struct ottl_node *path, struct ottl_run *run, const struct ottl_value *to,
                   size_t size)
{
    uint8_t id[ID_MAX];
    if (!is(run, path, to, TYPE_STRING))
        return;
    if (!text_hex_bytes(to->bytes, id, size)) {
        ottl_fail(run, "%.*s takes %zu hex digits", VIEW_ARG(path->name), 2 * size);
        return;
    }
    struct view kept = ottl_keep(run, (struct view){id, size});
    if (kept.data)
        put_id(path, run, kept);
}

/* What is malformed stays as it is, as in the Collector. */
static void set_member(const struct ottl_node *path, struct ottl_run *run,
                       const struct ottl_value *to)
{
    struct record *record = ottl_path_record(path, run);
    struct ottl_value key = ottl_node_eval(path->keys[0], run);
    struct proto_field field;
    struct trace_state state;
    struct bytes out;
    if (!run->failed && key.type != TYPE_STRING)
        ottl_fail(run, "a key of trace_state must be a string");
    if (run->failed || !is(run, path, to, TYPE_STRING))
        return;
    bool there = record_get(record, path->field->number, &field);
    if (!trace_state_read(there ? field.bytes : VIEW(""), &state))
        return;
    bytes_init(&out, STATE_MOST, NULL);
    if (trace_state_put(&state, key.bytes, to->bytes, &out))
        record_set_bytes(record, path->field->number, bytes_view(&out));
    bytes_release(&out);
}

static void set_state(const struct ottl_node *path, struct ottl_run *run,
                      const struct ottl_value *to)
{
    if (path->key_count)
        set_member(path, run, to);
    else if (is(run, path, to, TYPE_STRING))
        record_set_bytes(ottl_path_record(path, run), path->field->number, to->bytes);
}

/* ---- numbers ---- */

static void set_kind(const struct ottl_node *path, struct ottl_run *run,
                     const struct ottl_value *to)
{
    static const char *const names[] = {"Unspecified", "Internal", "Server",
                                        "Client",      "Producer", "Consumer"};
    static const char *const old[] = {"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL",
                                      "SPAN_KIND_SERVER",      "SPAN_KIND_CLIENT",
                                      "SPAN_KIND_PRODUCER",    "SPAN_KIND_CONSUMER"};
    if (!is(run, path, to, TYPE_STRING))
        return;
    for (unsigned i = 0; i < 6; i++)
        if (view_eq(to->bytes,
                    view_of(path->field->access == ACCESS_KIND_OLD ? old[i] : names[i]))) {
            record_set_varint(ottl_path_record(path, run), path->field->number, i);
            return;
        }
    ottl_fail(run, "unknown span kind %.*s", VIEW_ARG(to->bytes));
}

/* Fields of the Status, which is added if it is absent. */
static void set_status(const struct ottl_node *path, struct ottl_run *run,
                       const struct ottl_value *to)
{
    struct record *span = ottl_path_record(path, run), status;
    struct proto_field field;
    bool text = path->field->access == ACCESS_STATUS_TEXT;
    if (!is(run, path, to, text ? TYPE_STRING : TYPE_INT))
        return;
    bool there = record_get(span, SPAN_STATUS, &field);
    record_begin(&status, there ? &field : NULL, 0, NULL, ottl_arena(run));
    if (text)
        record_set_bytes(&status, path->field->number, to->bytes);
    else
        record_set_varint(&status, path->field->number, (uint64_t)(int32_t)to->integer);
    struct view made = record_field(&status, SPAN_STATUS);
    if (made.data)
        record_set_fields(span, SPAN_STATUS, made);
    else
        ottl_fail(run, "out of memory");
}

/* Fields of the metric's gauge, sum and so on. */
static void set_metric(const struct ottl_node *path, struct ottl_run *run,
                       const struct ottl_value *to)
{
    struct record *metric = ottl_path_record(path, run), inner;
    struct proto_field data;
    bool monotonic = path->field->access == ACCESS_MONOTONIC;
    if (!is(run, path, to, monotonic ? TYPE_BOOL : TYPE_INT) || !ottl_metric_data(metric, &data) ||
        (monotonic ? data.number != 7 : data.number == 5 || data.number == 11))
        return;
    record_begin(&inner, &data, 0, NULL, ottl_arena(run));
    record_set_varint(&inner, monotonic ? 3 : 2, monotonic ? to->boolean : (uint64_t)to->integer);
    struct view made = record_field(&inner, data.number);
    if (made.data)
        record_set_fields(metric, data.number, made);
    else
        ottl_fail(run, "out of memory");
}

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

bool ottl_path_keeps(const struct ottl_node *path, const struct ottl_node *node)
{
    bool list = path->field->access == ACCESS_LIST || path->field->type == AS_LIST;
    return list && node->kind == NODE_PATH && node->field == path->field;
}

/* No value but another such list, of the same record, is of this kind. */
static void refuse_list(const struct ottl_node *path, struct ottl_run *run,
                        const struct ottl_value *to)
{
    ottl_fail(run, "%.*s cannot be %s", VIEW_ARG(path->name), ottl_type_name(to->type));
}

static void set_point(const struct ottl_node *path, struct ottl_run *run,
                      const struct ottl_value *to)
{
    struct record *point = ottl_path_record(path, run);
    uint32_t number = ottl_point_number(run->at->point_kind, path->field);
    bool real = path->field->type == AS_DOUBLE;
    if (path->field->type == AS_LIST) {
        refuse_list(path, run, to);
        return;
    }
    if (!number)
        ottl_fail(run, "%.*s is not of this type of data point", VIEW_ARG(path->name));
    if (!number || !is(run, path, to, real ? TYPE_DOUBLE : TYPE_INT))
        return;
    if (path->field->number == POINT_DOUBLE || path->field->number == POINT_INT)
        record_clear(point, real ? 6 : 4);
    uint64_t sign = (uint64_t)(to->integer >> 63);
    if (path->field->type == AS_VARINT)
        record_set_varint(point, number, (uint32_t)to->integer);
    else if (path->field->type == AS_SINT)
        record_set_varint(point, number, (uint32_t)((uint64_t)to->integer << 1 ^ sign));
    else
        record_set_fixed64(point, number, real ? bits_of(to->number) : (uint64_t)to->integer);
}

/* As many bits as the protocol has of the number. */
static uint64_t varint_of(const struct ottl_node *path, int64_t number)
{
    if (path->field->type == AS_UINT32)
        return (uint32_t)number;
    return path->field->type == AS_INT32 ? (uint64_t)(int32_t)number : (uint64_t)number;
}

static void set_field(const struct ottl_node *path, struct ottl_run *run,
                      const struct ottl_value *to)
{
    struct record *record = ottl_path_record(path, run);
    enum ottl_access access = path->field->access;
    uint32_t number = path->field->number;
    if (path->context == OTTL_DATAPOINT && access == ACCESS_TIME)
        number = ottl_point_number(run->at->point_kind, path->field);
    enum ottl_type type = access == ACCESS_STRING ? TYPE_STRING
                          : access == ACCESS_TIME ? TYPE_TIME
                                                  : TYPE_INT;
    if (!is(run, path, to, type))
        return;
    int64_t nanos = access == ACCESS_TIME ? ottl_time_in(run, to, 1) : to->integer;
    if (run->failed)
        return;
    if (path->context == OTTL_PROFILE && number == PROFILE_DURATION && to->integer < 0) {
        ottl_fail(run, "%.*s must not be negative", VIEW_ARG(path->name));
        return;
    }
    if (path->context == OTTL_SPAN && access == ACCESS_FIXED32 &&
        (uint64_t)to->integer > UINT32_MAX) {
        ottl_fail(run, "%.*s must be from 0 to 4294967295", VIEW_ARG(path->name));
        return;
    }
    if (access == ACCESS_STRING)
        record_set_bytes(record, number, to->bytes);
    else if (access == ACCESS_FIXED32)
        record_set_fixed32(record, number, (uint32_t)to->integer);
    else if (access == ACCESS_VARINT)
        record_set_varint(record, number, varint_of(path, to->integer));
    else
        record_set_fixed64(record, number, (uint64_t)nanos);
}

void ottl_path_set(const struct ottl_node *path, struct ottl_run *run, const struct ottl_value *to)
{
    enum ottl_type ids = path->field->access == ACCESS_TRACE_ID ? TYPE_TRACE_ID : TYPE_SPAN_ID;
    switch (path->field->access) {
    case ACCESS_ATTRIBUTES:
    case ACCESS_CACHE:
        set_attributes(path, run, to);
        break;
    case ACCESS_BODY:
    case ACCESS_BODY_TEXT:
        set_body(path, run, to);
        break;
    case ACCESS_TRACE_ID:
    case ACCESS_SPAN_ID:
        if (is(run, path, to, ids))
            put_id(path, run, to->bytes);
        break;
    case ACCESS_TRACE_ID_TEXT:
    case ACCESS_SPAN_ID_TEXT:
        set_id(path, run, to, path->field->access == ACCESS_TRACE_ID_TEXT ? 16 : 8);
        break;
    case ACCESS_TRACE_STATE:
        set_state(path, run, to);
        break;
    case ACCESS_KIND_TEXT:
    case ACCESS_KIND_OLD:
        set_kind(path, run, to);
        break;
    case ACCESS_STATUS:
    case ACCESS_STATUS_TEXT:
        set_status(path, run, to);
        break;
    case ACCESS_TEMPORALITY:
    case ACCESS_MONOTONIC:
        set_metric(path, run, to);
        break;
    case ACCESS_NUMBER:
        set_point(path, run, to);
        break;
    case ACCESS_STRING:
    case ACCESS_VARINT:
    case ACCESS_FIXED32:
    case ACCESS_NANOS:
    case ACCESS_TIME:
        set_field(path, run, to);
        break;
    case ACCESS_SCHEMA_URL:
        if (is(run, path, to, TYPE_STRING))
            request_edit_set_schema(run->at, ottl_level(path->context), to->bytes);
        break;
    case ACCESS_LIST:
        refuse_list(path, run, to);
        break;
    case ACCESS_INDEX:
    case ACCESS_METRIC_TYPE:
    case ACCESS_BYTES_TEXT:
    case ACCESS_CLIENT_ADDRESS:
    case ACCESS_CLIENT_METADATA:
        break;
    }
}
