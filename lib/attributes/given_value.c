#include "lib/attributes/given_value.h"

static struct value given_list(const struct key_value *given, struct arena *arena)
{
    struct value list = {.kind = VALUE_LIST};
    struct bytes out;
    bool ok = true;
    bytes_init(&out, SIZE_MAX, NULL);
    for (size_t i = 0; ok && i < given->count; i++) {
        struct value item = given_value(&given->items[i], arena);
        ok = value_append(&out, &item);
    }
    uint8_t *body = ok ? arena_array_raw(arena, out.size + 1, 1) : NULL;
    if (body)
        list.bytes = view_between(body, proto_bytes_put(body, bytes_view(&out)));
    bytes_release(&out);
    return list;
}

static struct value given_map(const struct key_value *given, struct arena *arena)
{
    struct attributes map;
    attributes_read(&map, VIEW(""), 1, arena);
    for (size_t i = 0; i < given->count; i++) {
        struct value item = given_value(&given->items[i], arena);
        attributes_set(&map, view_of(given->items[i].name), &item);
    }
    return attributes_map(&map);
}

struct value given_value(const struct key_value *given, struct arena *arena)
{
    switch (given->kind) {
    case KEY_VALUE_STRING:
        return value_string(view_of(given->text));
    case KEY_VALUE_BOOL:
        return (struct value){.kind = VALUE_BOOL, .boolean = given->boolean};
    case KEY_VALUE_INT:
        return value_int(given->integer);
    case KEY_VALUE_NUMBER:
        return (struct value){.kind = VALUE_DOUBLE, .number = given->number};
    case KEY_VALUE_LIST:
        return given_list(given, arena);
    case KEY_VALUE_MAP:
        return given_map(given, arena);
    case KEY_VALUE_NONE:
        break;
    }
    return (struct value){0};
}
