/* Lists of KeyValue under edit. */
#include "lib/wire/value/value.h"

#include "lib/wire/otlp/otlp_attribute.h"
#include "lib/wire/proto/proto_plain.h"

enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, LIST_VALUES = 1, FIRST_ROOM = 16 };

static struct attribute *add(struct attributes *attributes)
{
    if (attributes->failed)
        return NULL;
    if (attributes->count == attributes->capacity) {
        size_t capacity = attributes->capacity ? 2 * attributes->capacity : FIRST_ROOM;
        struct attribute *items =
            arena_array_raw(attributes->arena, capacity, sizeof(struct attribute));
        attributes->failed = !items;
        if (!items)
            return NULL;
        if (attributes->count)
            memcpy(items, attributes->items, attributes->count * sizeof *items);
        attributes->items = items;
        attributes->capacity = capacity;
    }
    return &attributes->items[attributes->count++];
}

/* The body of a KeyValue's AnyValue; the last one of several counts. */
static struct view any_of(struct view key_value)
{
    struct proto_scan scan = proto_scan_begin(key_value);
    struct proto_field field;
    struct view any = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number == KEY_VALUE_VALUE && field.type == WIRE_LEN)
            any = field.bytes;
    return any;
}

void attributes_read(struct attributes *attributes, struct view message, uint32_t list,
                     struct arena *arena)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    *attributes = (struct attributes){.arena = arena};
    while (proto_scan_next(&scan, &field)) {
        if (field.number != list || field.type != WIRE_LEN)
            continue;
        struct attribute *item = add(attributes);
        if (!item)
            return;
        *item = (struct attribute){
            .key = otlp_key(field.bytes),
            .any = any_of(field.bytes),
            .source = view_between(field.start, field.end),
        };
    }
}

struct attribute *attributes_find(const struct attributes *attributes, struct view key)
{
    for (size_t i = 0; i < attributes->count; i++)
        if (!attributes->items[i].gone && view_eq(attributes->items[i].key, key))
            return &attributes->items[i];
    return NULL;
}

bool attributes_get(const struct attributes *attributes, struct view key, struct value *value)
{
    const struct attribute *found = attributes_find(attributes, key);
    if (found)
        *value = value_read(found->any);
    return found;
}

void attributes_change(struct attributes *attributes, struct attribute *attribute,
                       const struct value *value)
{
    struct view any = value_any(value, attributes->arena);
    attributes->failed = attributes->failed || !any.data;
    if (attributes->failed)
        return;
    attribute->any = any;
    attribute->source = (struct view){0};
    attributes->changed = true;
}

void attributes_set(struct attributes *attributes, struct view key, const struct value *value)
{
    struct attribute *item = attributes_find(attributes, key);
    if (!item) {
        item = add(attributes);
        if (item)
            *item = (struct attribute){.key = key};
    }
    if (item)
        attributes_change(attributes, item, value);
}

void attributes_remove(struct attributes *attributes, struct attribute *attribute)
{
    attribute->gone = true;
    attributes->changed = true;
}

bool attributes_delete(struct attributes *attributes, struct view key)
{
    struct attribute *item = attributes_find(attributes, key);
    if (item)
        attributes_remove(attributes, item);
    return item;
}

size_t attributes_count(const struct attributes *attributes)
{
    size_t count = 0;
    for (size_t i = 0; i < attributes->count; i++)
        count += !attributes->items[i].gone;
    return count;
}

static size_t body_size(const struct attribute *item)
{
    return proto_len_size(KEY_VALUE_KEY, item->key.size) +
           proto_len_size(KEY_VALUE_VALUE, item->any.size);
}

static uint8_t *put_body(uint8_t *out, const struct attribute *item)
{
    out = proto_bytes_put(proto_len_put(out, KEY_VALUE_KEY, item->key.size), item->key);
    return proto_bytes_put(proto_len_put(out, KEY_VALUE_VALUE, item->any.size), item->any);
}

/* Whether the field as it came can be copied: it has the number that it is to have. */
static bool as_it_came(const struct attribute *item, uint32_t list)
{
    return item->source.data && item->source.data[0] == PLAIN_TAG(list, WIRE_LEN);
}

size_t attributes_size(const struct attributes *attributes, uint32_t list)
{
    size_t size = 0;
    for (size_t i = 0; i < attributes->count; i++) {
        const struct attribute *item = &attributes->items[i];
        if (!item->gone)
            size +=
                as_it_came(item, list) ? item->source.size : proto_len_size(list, body_size(item));
    }
    return size;
}

uint8_t *attributes_put(uint8_t *out, const struct attributes *attributes, uint32_t list)
{
    for (size_t i = 0; i < attributes->count; i++) {
        const struct attribute *item = &attributes->items[i];
        if (item->gone)
            continue;
        out = as_it_came(item, list) ? proto_bytes_put(out, item->source)
                                     : put_body(proto_len_put(out, list, body_size(item)), item);
    }
    return out;
}

struct value attributes_map(const struct attributes *attributes)
{
    size_t size = attributes_size(attributes, LIST_VALUES);
    uint8_t *out = arena_array_raw(attributes->arena, size ? size : 1, 1);
    struct value map = {.kind = VALUE_MAP};
    if (out)
        map.bytes = view_between(out, attributes_put(out, attributes, LIST_VALUES));
    return map;
}
