#include "lib/wire/json/otlp_json_value.h"

#include <math.h>
#include <stdlib.h>

/* Of numbers other than plain digits; the longest double needs 24 characters. */
enum { LONGEST_REAL = 512 };

static bool read_digits(struct view text, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = text.data[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, digit, value))
            return false;
    }
    return text.size > 0;
}

static bool read_whole(struct view text, int64_t *value)
{
    bool minus = text.size > 0 && text.data[0] == '-';
    uint64_t size;
    if (!read_digits((struct view){text.data + minus, text.size - minus}, &size) ||
        size > (uint64_t)INT64_MAX + minus)
        return false;
    *value = (int64_t)(minus ? 0 - size : size);
    return true;
}

static bool read_real(struct view text, double *value)
{
    char copy[LONGEST_REAL + 1], *end;
    if (text.size == 0 || text.size > LONGEST_REAL)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *value = strtod(copy, &end);
    return end == copy + text.size && isfinite(*value);
}

/* Reads an integer within limits, from a number without fraction or decimal text. */
static bool read_signed(const struct json_scalar *json, int64_t low, int64_t high, int64_t *value)
{
    double real;
    if (json->kind != JSON_KIND_NUMBER && json->kind != JSON_KIND_STRING)
        return false;
    if (!read_whole(json->text, value)) {
        if (json->kind == JSON_KIND_STRING || !read_real(json->text, &real) ||
            real != trunc(real) || real < -0x1p63 || real >= 0x1p63)
            return false;
        *value = (int64_t)real;
    }
    return *value >= low && *value <= high;
}

static bool read_unsigned(const struct json_scalar *json, uint64_t *value)
{
    int64_t small;
    if ((json->kind == JSON_KIND_NUMBER || json->kind == JSON_KIND_STRING) &&
        read_digits(json->text, value))
        return true;
    if (!read_signed(json, 0, INT64_MAX, &small))
        return false;
    *value = (uint64_t)small;
    return true;
}

static bool is_decimal(struct view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!memchr("0123456789+-.eE", text.data[i], 15))
            return false;
    return true;
}

static bool read_double(const struct json_scalar *json, double *value)
{
    if (json->kind == JSON_KIND_NUMBER)
        return read_real(json->text, value);
    if (json->kind != JSON_KIND_STRING)
        return false;
    if (view_eq(json->text, VIEW("NaN")))
        *value = NAN;
    else if (view_eq(json->text, VIEW("Infinity")))
        *value = INFINITY;
    else if (view_eq(json->text, VIEW("-Infinity")))
        *value = -INFINITY;
    else
        return is_decimal(json->text) && read_real(json->text, value);
    return true;
}

static bool read_enum(const struct proto_row *row, const struct json_scalar *json, int64_t *value)
{
    if (json->kind != JSON_KIND_STRING)
        return read_signed(json, INT32_MIN, INT32_MAX, value);
    for (size_t i = 0; row->names[i]; i++)
        if (view_eq(view_of(row->names[i]), json->text)) {
            *value = (int64_t)i;
            return true;
        }
    return false;
}

static uint64_t zigzag(int64_t value)
{
    return (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);
}

static const char *read_small(const struct proto_row *row, const struct json_scalar *json,
                              uint64_t *bits)
{
    bool is_unsigned = row->type == PROTO_TYPE_UINT32;
    int64_t value;
    if (!read_signed(json, is_unsigned ? 0 : INT32_MIN, is_unsigned ? UINT32_MAX : INT32_MAX,
                     &value))
        return "a 32-bit whole number";
    *bits = row->type == PROTO_TYPE_SINT32 ? zigzag(value) : (uint64_t)value;
    return NULL;
}

const char *otlp_json_number(const struct proto_row *row, const struct json_scalar *json,
                             uint64_t *bits)
{
    int64_t value;
    double real;
    switch (row->type) {
    case PROTO_TYPE_BOOL:
        *bits = json->kind == JSON_KIND_TRUE;
        return *bits || json->kind == JSON_KIND_FALSE ? NULL : "true or false";
    case PROTO_TYPE_INT32:
    case PROTO_TYPE_UINT32:
    case PROTO_TYPE_SINT32:
        return read_small(row, json, bits);
    case PROTO_TYPE_INT64:
        if (!read_signed(json, INT64_MIN, INT64_MAX, &value))
            return "a 64-bit whole number";
        *bits = (uint64_t)value;
        return NULL;
    case PROTO_TYPE_UINT64:
        return read_unsigned(json, bits) ? NULL : "a whole number not below zero";
    case PROTO_TYPE_DOUBLE:
        if (!read_double(json, &real))
            return "a number";
        memcpy(bits, &real, sizeof real);
        return NULL;
    case PROTO_TYPE_ENUM:
        if (!read_enum(row, json, &value))
            return "a known enum name or a number";
        *bits = (uint64_t)value;
        return NULL;
    case PROTO_TYPE_NONE:
    case PROTO_TYPE_STRING:
    case PROTO_TYPE_BASE64:
    case PROTO_TYPE_HEX:
    case PROTO_TYPE_MESSAGE:
        break;
    }
    return "nothing";
}
