#include "lib/wire/value/attributes.h"

enum {
    ANY_STRING = 1,
    ANY_BOOL = 2,
    ANY_INT = 3,
    ANY_DOUBLE = 4,
    ANY_ARRAY = 5,
    ANY_LIST = 6,
    ANY_BYTES = 7,
    LIST_VALUES = 1
};

struct value value_read(struct view any)
{
    struct proto_scan scan = proto_scan_begin(any);
    struct proto_field field;
    struct value value = {0};
    while (proto_scan_next(&scan, &field))
        switch (field.number) {
        case ANY_STRING:
            value = value_string(field.bytes);
            break;
        case ANY_BOOL:
            value = (struct value){.kind = VALUE_BOOL, .boolean = field.value != 0};
            break;
        case ANY_INT:
            value = value_int((int64_t)field.value);
            break;
        case ANY_DOUBLE:
            value.kind = VALUE_DOUBLE;
            memcpy(&value.number, &field.value, sizeof value.number);
            break;
        case ANY_ARRAY:
        case ANY_LIST:
        case ANY_BYTES:
            value.kind = field.number == ANY_ARRAY  ? VALUE_LIST
                         : field.number == ANY_LIST ? VALUE_MAP
                                                    : VALUE_BYTES;
            value.bytes = field.bytes;
            break;
        default:
            break;
        }
    return value;
}

static uint32_t number_of(enum value_kind kind)
{
    static const uint8_t numbers[] = {
        [VALUE_STRING] = ANY_STRING, [VALUE_BOOL] = ANY_BOOL,  [VALUE_INT] = ANY_INT,
        [VALUE_DOUBLE] = ANY_DOUBLE, [VALUE_LIST] = ANY_ARRAY, [VALUE_MAP] = ANY_LIST,
        [VALUE_BYTES] = ANY_BYTES,
    };
    return numbers[kind];
}

size_t value_size(const struct value *value)
{
    switch (value->kind) {
    case VALUE_EMPTY:
        return 0;
    case VALUE_BOOL:
        return 2;
    case VALUE_INT:
        return 1 + proto_varint_size((uint64_t)value->integer);
    case VALUE_DOUBLE:
        return 9;
    case VALUE_STRING:
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_BYTES:
        break;
    }
    return proto_len_size(number_of(value->kind), value->bytes.size);
}

uint8_t *value_put(uint8_t *out, const struct value *value)
{
    uint32_t number = number_of(value->kind);
    uint64_t bits;
    switch (value->kind) {
    case VALUE_EMPTY:
        return out;
    case VALUE_BOOL:
        out = proto_varint_put(out, proto_tag(number, WIRE_VARINT));
        return proto_varint_put(out, value->boolean);
    case VALUE_INT:
        out = proto_varint_put(out, proto_tag(number, WIRE_VARINT));
        return proto_varint_put(out, (uint64_t)value->integer);
    case VALUE_DOUBLE:
        out = proto_varint_put(out, proto_tag(number, WIRE_I64));
        memcpy(&bits, &value->number, sizeof bits);
        for (unsigned i = 0; i < 8; i++)
            *out++ = (uint8_t)(bits >> (8 * i));
        return out;
    case VALUE_STRING:
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_BYTES:
        break;
    }
    return proto_bytes_put(proto_len_put(out, number, value->bytes.size), value->bytes);
}

struct view value_any(const struct value *value, struct arena *arena)
{
    size_t size = value_size(value);
    uint8_t *out = arena_array_raw(arena, size ? size : 1, 1);
    return out ? view_between(out, value_put(out, value)) : (struct view){0};
}

bool value_next(struct proto_scan *scan, struct value *value)
{
    struct proto_field field;
    while (proto_scan_next(scan, &field))
        if (field.number == LIST_VALUES && field.type == WIRE_LEN) {
            *value = value_read(field.bytes);
            return true;
        }
    return false;
}

bool value_append(struct bytes *out, const struct value *value)
{
    size_t size = value_size(value);
    if (bytes_reserve(out, proto_len_size(LIST_VALUES, size)) != BYTES_OK)
        return false;
    uint8_t *at = out->data + out->size;
    at = value_put(proto_len_put(at, LIST_VALUES, size), value);
    out->size = (size_t)(at - out->data);
    return true;
}

static bool within_depth(const struct value *value, unsigned levels)
{
    struct proto_scan scan = proto_scan_begin(value->bytes);
    struct proto_field field, any;
    struct value inner;
    if (value->kind != VALUE_LIST && value->kind != VALUE_MAP)
        return true;
    if (levels == 0)
        return false;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != LIST_VALUES || field.type != WIRE_LEN)
            continue;
        if (value->kind == VALUE_MAP && !proto_find(field.bytes, 2, WIRE_LEN, &any))
            continue;
        inner = value_read(value->kind == VALUE_MAP ? any.bytes : field.bytes);
        if (!within_depth(&inner, levels - 1))
            return false;
    }
    return true;
}

bool value_is_shallow(const struct value *value)
{
    return within_depth(value, VALUE_MAX_DEPTH);
}

static bool lists_equal(struct view a, struct view b)
{
    struct proto_scan scan = proto_scan_begin(a), other = proto_scan_begin(b);
    struct value x, y;
    while (value_next(&scan, &x))
        if (!value_next(&other, &y) || !value_equal(&x, &y))
            return false;
    return !value_next(&other, &y);
}

static bool maps_equal(struct view a, struct view b)
{
    struct arena arena;
    struct attributes x, y;
    struct value value, other;
    arena_init(&arena, ((size_t)1 << 20) + 64 * (a.size + b.size));
    attributes_read(&x, a, LIST_VALUES, &arena);
    attributes_read(&y, b, LIST_VALUES, &arena);
    bool equal = x.count == y.count && !x.failed && !y.failed;
    for (size_t i = 0; equal && i < x.count; i++) {
        value = value_read(x.items[i].any);
        equal = attributes_get(&y, x.items[i].key, &other) && value_equal(&value, &other);
    }
    arena_release(&arena);
    return equal;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case VALUE_EMPTY:
        return true;
    case VALUE_BOOL:
        return a->boolean == b->boolean;
    case VALUE_INT:
        return a->integer == b->integer;
    case VALUE_DOUBLE:
        return a->number == b->number;
    case VALUE_LIST:
        return lists_equal(a->bytes, b->bytes);
    case VALUE_MAP:
        return maps_equal(a->bytes, b->bytes);
    case VALUE_STRING:
    case VALUE_BYTES:
        break;
    }
    return view_eq(a->bytes, b->bytes);
}
