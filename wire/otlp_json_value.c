#include "wire/otlp_json_value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A whole number within limits, from an integer, a real without fraction or decimal text. */
static bool read_signed(const json_t *json, int64_t low, int64_t high, int64_t *value)
{
    if (json_is_integer(json)) {
        *value = json_integer_value(json);
    } else if (json_is_real(json)) {
        double real = json_real_value(json);
        if (real != trunc(real) || real < -0x1p63 || real >= 0x1p63)
            return false;
        *value = (int64_t)real;
    } else {
        const char *text = json_string_value(json);
        char *end;
        if (!text || !(*text == '-' || (*text >= '0' && *text <= '9')))
            return false;
        errno = 0;
        *value = strtoll(text, &end, 10);
        if (errno || end == text || end != text + json_string_length(json))
            return false;
    }
    return *value >= low && *value <= high;
}

static bool read_unsigned(const json_t *json, uint64_t *value)
{
    int64_t small;
    if (read_signed(json, 0, INT64_MAX, &small)) {
        *value = (uint64_t)small;
        return true;
    }
    const char *text = json_string_value(json);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return !errno && end == text + json_string_length(json);
}

static bool read_double(const json_t *json, double *value)
{
    if (json_is_number(json)) {
        *value = json_number_value(json);
        return true;
    }
    const char *text = json_string_value(json);
    if (!text)
        return false;
    if (strcmp(text, "NaN") == 0)
        *value = NAN;
    else if (strcmp(text, "Infinity") == 0)
        *value = INFINITY;
    else if (strcmp(text, "-Infinity") == 0)
        *value = -INFINITY;
    else if (*text && strspn(text, "0123456789+-.eE") == json_string_length(json)) {
        char *end;
        *value = strtod(text, &end);
        return *end == 0 && isfinite(*value);
    } else
        return false;
    return true;
}

static bool read_enum(const struct proto_row *row, const json_t *json, int64_t *value)
{
    const char *name = json_string_value(json);
    if (!name)
        return read_signed(json, INT32_MIN, INT32_MAX, value);
    for (size_t i = 0; row->names[i]; i++)
        if (strcmp(row->names[i], name) == 0) {
            *value = (int64_t)i;
            return true;
        }
    return false;
}

static uint64_t zigzag(int64_t value)
{
    return (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);
}

static const char *read_small(const struct proto_row *row, const json_t *json, uint64_t *bits)
{
    bool is_unsigned = row->type == PROTO_TYPE_UINT32;
    int64_t value;
    if (!read_signed(json, is_unsigned ? 0 : INT32_MIN, is_unsigned ? UINT32_MAX : INT32_MAX,
                     &value))
        return "a 32-bit whole number";
    *bits = row->type == PROTO_TYPE_SINT32 ? zigzag(value) : (uint64_t)value;
    return NULL;
}

const char *otlp_json_number(const struct proto_row *row, const json_t *json, uint64_t *bits)
{
    int64_t value;
    double real;
    switch (row->type) {
    case PROTO_TYPE_BOOL:
        *bits = json_is_true(json);
        return json_is_boolean(json) ? NULL : "true or false";
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
