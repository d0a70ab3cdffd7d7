/*
 * Fast paths for the most common encodings: one-byte tags, lengths of one or two bytes. Callers try
 * these first and fall back to proto_scan.h. Pure.
 */
#ifndef LIB_WIRE_PROTO_PROTO_PLAIN_H
#define LIB_WIRE_PROTO_PROTO_PLAIN_H

#include "lib/wire/proto/proto_scan.h"

/* The tag of a field below 16. */
#define PLAIN_TAG(number, type) (uint8_t)((number) << 3 | (type))

/* Reads a length of one or two bytes at `at`; returns the start of its content, and its end in
 * *behind. NULL: a longer length, or the content does not fit before end. */
static inline const uint8_t *plain_content(const uint8_t *at, const uint8_t *end,
                                           const uint8_t **behind)
{
    if (end - at < 1)
        return NULL;
    size_t size = *at++;
    if (size >= 0x80) {
        if (at == end || *at >= 0x80)
            return NULL;
        size = (size & 0x7f) | (size_t)*at++ << 7;
    }
    if (size > (size_t)(end - at))
        return NULL;
    *behind = at + size;
    return at;
}

/* As proto_scan_next, faster for fields below 16 of 128 to 16383 bytes. */
static inline bool plain_scan_next(struct proto_scan *scan, struct proto_field *field)
{
    const uint8_t *at = scan->at;
    size_t left = (size_t)(scan->end - at);
    if (left < 3 || (at[0] & 0x87) != WIRE_LEN || at[0] < 8 || at[1] < 0x80 || at[2] > 0x7f)
        return proto_scan_next(scan, field);
    size_t size = (at[1] & 0x7f) | (size_t)at[2] << 7;
    if (size > left - 3)
        return proto_scan_next(scan, field);
    field->number = at[0] >> 3;
    field->type = WIRE_LEN;
    field->value = size;
    field->bytes = (struct view){at + 3, size};
    field->start = at;
    scan->at = field->end = at + 3 + size;
    return true;
}

/* Skips a varint of up to nine bytes; NULL: longer, or truncated. */
static inline const uint8_t *plain_varint_end(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *most = end - at > 9 ? at + 9 : end;
    while (at < most)
        if (*at++ < 0x80)
            return at;
    return NULL;
}

/*
 * KeyValue and AnyValue (opentelemetry-proto, common.proto), which make up most of OTLP: a plain
 * one is well-formed; one that is not plain may be well-formed too.
 */

/* Whether an AnyValue, not empty, is a single string, bool, number or bytes value. */
static inline bool plain_value(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *behind;
    switch (*at) {
    case PLAIN_TAG(1, WIRE_LEN):
    case PLAIN_TAG(7, WIRE_LEN):
        return plain_content(at + 1, end, &behind) && behind == end;
    case PLAIN_TAG(2, WIRE_VARINT):
    case PLAIN_TAG(3, WIRE_VARINT):
        return plain_varint_end(at + 1, end) == end;
    case PLAIN_TAG(4, WIRE_I64):
        return end - at == 9;
    default:
        return false;
    }
}

/* The key of a KeyValue that consists of a key followed by a value, of any content. data NULL:
 * another form. *value: the start of the AnyValue. */
static inline struct view plain_key(struct view body, const uint8_t **value)
{
    const uint8_t *end = body.data + body.size, *behind;
    if (body.size < 4 || body.data[0] != PLAIN_TAG(1, WIRE_LEN))
        return (struct view){0};
    const uint8_t *key = plain_content(body.data + 1, end, &behind);
    if (!key || behind == end || *behind != PLAIN_TAG(2, WIRE_LEN))
        return (struct view){0};
    struct view found = view_between(key, behind);
    *value = plain_content(behind + 1, end, &behind);
    return *value && behind == end ? found : (struct view){0};
}

/* As plain_key_value, for less than 128 bytes, where every length has one byte and outer lengths
 * bound inner ones. Key and value must not be empty. */
static inline bool plain_short_key_value(struct view body)
{
    const uint8_t *data = body.data;
    if (body.size < 6 || data[0] != PLAIN_TAG(1, WIRE_LEN) || data[1] > body.size - 6)
        return false;
    const uint8_t *value = data + 2 + data[1];
    size_t left = body.size - 4 - data[1];
    if (value[0] != PLAIN_TAG(2, WIRE_LEN) || value[1] != left)
        return false;
    return (value[2] == PLAIN_TAG(1, WIRE_LEN) && value[3] == left - 2) ||
           plain_value(value + 2, data + body.size);
}

/* Whether a KeyValue consists of a key and a plain value. */
static inline bool plain_key_value(struct view body)
{
    if (body.size < 128)
        return plain_short_key_value(body);
    const uint8_t *value, *end = body.data + body.size;
    return plain_key(body, &value).data && value < end && plain_value(value, end);
}

#endif
