#include "extensions/status/value.h"

#include "lib/wire/proto/proto_scan.h"

#include <math.h>
#include <stdio.h>

/* Field numbers of common.proto: AnyValue, ArrayValue, KeyValueList, KeyValue. */
enum {
    VALUE_STRING = 1,
    VALUE_BOOL = 2,
    VALUE_INT = 3,
    VALUE_DOUBLE = 4,
    VALUE_ARRAY = 5,
    VALUE_MAP = 6,
    VALUE_BYTES = 7
};
enum { LIST_VALUES = 1, PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { DEEPEST = 32, KEY_SIZE = 256 };

/* What a reader's double holds exactly (IEEE 754). */
#define EXACT (INT64_C(1) << 53)

static void put_value(struct json *json, const char *key, struct view value, int depth);

static void put_list(struct json *json, const char *key, struct view list, int depth)
{
    struct proto_scan scan = proto_scan_begin(list);
    struct proto_field field;
    json_open(json, key, '[');
    while (proto_scan_next(&scan, &field))
        if (field.number == LIST_VALUES && field.type == WIRE_LEN)
            put_value(json, NULL, field.bytes, depth + 1);
    json_close(json, ']');
}

static void put_pair(struct json *json, struct view pair, int depth)
{
    struct proto_field name, value;
    char key[KEY_SIZE] = "";
    if (proto_find(pair, PAIR_KEY, WIRE_LEN, &name))
        snprintf(key, sizeof key, "%.*s", VIEW_ARG(name.bytes));
    if (proto_find(pair, PAIR_VALUE, WIRE_LEN, &value))
        put_value(json, key, value.bytes, depth + 1);
    else
        json_null(json, key);
}

static void put_pairs(struct json *json, const char *key, struct view message, uint32_t list,
                      int depth)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    json_open(json, key, '{');
    while (proto_scan_next(&scan, &field))
        if (field.number == list && field.type == WIRE_LEN)
            put_pair(json, field.bytes, depth);
    json_close(json, '}');
}

static void put_int(struct json *json, const char *key, int64_t number)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%lld", (long long)number);
    if (number > EXACT || number < -EXACT)
        json_text(json, key, (struct view){(const uint8_t *)text, (size_t)n});
    else
        json_literal(json, key, text);
}

static void put_number(struct json *json, const char *key, uint64_t bits)
{
    double number;
    char text[40];
    memcpy(&number, &bits, sizeof number);
    snprintf(text, sizeof text, "%.17g", number);
    if (isfinite(number))
        json_literal(json, key, text);
    else
        json_word(json, key, text);
}

static void put_value(struct json *json, const char *key, struct view value, int depth)
{
    struct proto_scan scan = proto_scan_begin(value);
    struct proto_field field, last = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number >= VALUE_STRING && field.number <= VALUE_BYTES)
            last = field;
    if (depth > DEEPEST)
        last.number = 0;
    switch (last.number) {
    case VALUE_STRING:
        json_text(json, key, last.bytes);
        break;
    case VALUE_BOOL:
        json_bool(json, key, last.value != 0);
        break;
    case VALUE_INT:
        put_int(json, key, (int64_t)last.value);
        break;
    case VALUE_DOUBLE:
        put_number(json, key, last.value);
        break;
    case VALUE_ARRAY:
        put_list(json, key, last.bytes, depth);
        break;
    case VALUE_MAP:
        put_pairs(json, key, last.bytes, LIST_VALUES, depth);
        break;
    case VALUE_BYTES:
        json_hex(json, key, last.bytes);
        break;
    default:
        json_null(json, key);
    }
}

void value_attributes(struct json *json, const char *key, struct view message, uint32_t list)
{
    put_pairs(json, key, message, list, 0);
}
