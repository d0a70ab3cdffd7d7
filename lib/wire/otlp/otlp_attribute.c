#include "lib/wire/otlp/otlp_attribute.h"

#include "lib/wire/proto/plain_key_value.h"

enum {
    KEY_VALUE_KEY = 1,
    KEY_VALUE_VALUE = 2,
    ANY_STRING = 1,
    ANY_INT = 3,
    ANY_LAST = 8,
    ENTRY_RESOURCE = 1,
    RESOURCE_ATTRIBUTES = 1
};

struct view otlp_key(struct view key_value)
{
    const uint8_t *value;
    struct view plain = plain_key(key_value, &value);
    if (plain.data)
        return plain;
    struct proto_scan scan = proto_scan_begin(key_value);
    struct proto_field field;
    struct view key = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number == KEY_VALUE_KEY)
            key = field.bytes;
    return key;
}

/* Merges an AnyValue over earlier ones of the same KeyValue: the last member wins. */
static struct view merge_any(struct view any, struct view text)
{
    struct proto_scan scan = proto_scan_begin(any);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == ANY_STRING)
            text = field.bytes;
        else if (field.number <= ANY_LAST)
            text = (struct view){0};
    }
    return text;
}

struct view otlp_string_value(struct view key_value)
{
    struct proto_scan scan = proto_scan_begin(key_value);
    struct proto_field field;
    struct view text = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number == KEY_VALUE_VALUE)
            text = merge_any(field.bytes, text);
    return text;
}

bool otlp_attribute_find(struct view message, uint32_t list, struct view key,
                         struct proto_field *key_value)
{
    struct proto_scan scan = proto_scan_begin(message);
    while (proto_scan_next(&scan, key_value))
        if (key_value->number == list && view_eq(otlp_key(key_value->bytes), key))
            return true;
    return false;
}

static bool find_in_resource(struct view entry, struct view key, struct proto_field *found)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field resource;
    while (proto_scan_next(&scan, &resource))
        if (resource.number == ENTRY_RESOURCE &&
            otlp_attribute_find(resource.bytes, RESOURCE_ATTRIBUTES, key, found))
            return true;
    return false;
}

struct view otlp_resource_attribute(struct view resource_entry, struct view key)
{
    struct proto_field found;
    bool has = find_in_resource(resource_entry, key, &found);
    return has ? otlp_string_value(found.bytes) : (struct view){0};
}

bool otlp_resource_has(struct view resource_entry, struct view key)
{
    struct proto_field found;
    if (!find_in_resource(resource_entry, key, &found))
        return false;
    struct view text = otlp_string_value(found.bytes);
    return !text.data || text.size > 0;
}

/* Size of the body of a KeyValue whose AnyValue takes any bytes. */
static size_t body_size(struct view key, size_t any)
{
    return proto_len_size(KEY_VALUE_KEY, key.size) + proto_len_size(KEY_VALUE_VALUE, any);
}

/* Writes a KeyValue field up to the content of its AnyValue. */
static uint8_t *put_head(uint8_t *out, uint32_t list, struct view key, size_t any)
{
    out = proto_len_put(out, list, body_size(key, any));
    out = proto_bytes_put(proto_len_put(out, KEY_VALUE_KEY, key.size), key);
    return proto_len_put(out, KEY_VALUE_VALUE, any);
}

/* The field number is not known here, so this allows for the largest tag. */
static size_t otlp_attribute_room(struct view key, size_t any)
{
    return proto_len_size((UINT32_C(1) << 29) - 1, body_size(key, any));
}

size_t otlp_string_attribute_size(struct view key, struct view value)
{
    return otlp_attribute_room(key, proto_len_size(ANY_STRING, value.size));
}

uint8_t *otlp_string_attribute_put(uint8_t *out, uint32_t list, struct view key, struct view value)
{
    out = put_head(out, list, key, proto_len_size(ANY_STRING, value.size));
    return proto_bytes_put(proto_len_put(out, ANY_STRING, value.size), value);
}

static size_t int_any_size(int64_t value)
{
    return 1 + proto_varint_size((uint64_t)value);
}

size_t otlp_int_attribute_size(struct view key, int64_t value)
{
    return otlp_attribute_room(key, int_any_size(value));
}

uint8_t *otlp_int_attribute_put(uint8_t *out, uint32_t list, struct view key, int64_t value)
{
    out = put_head(out, list, key, int_any_size(value));
    out = proto_varint_put(out, proto_tag(ANY_INT, WIRE_VARINT));
    return proto_varint_put(out, (uint64_t)value);
}
