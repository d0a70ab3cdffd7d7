/*
 * Pieces of messages in the forms in which they mostly come: tags of one byte, lengths of one or
 * two. For code that looks for these first and goes the long way, proto_scan.h, where it does not
 * find them. Pure.
 */
#ifndef LIB_WIRE_PROTO_PROTO_PLAIN_H
#define LIB_WIRE_PROTO_PROTO_PLAIN_H

#include "lib/wire/proto/proto_scan.h"

/* The tag of a field below 16. */
#define PLAIN_TAG(number, type) (uint8_t)((number) << 3 | (type))

/* A length of one or two bytes at `at`, not past end: where its content begins, and in *behind
 * where that ends. NULL: a longer length, or one that does not fit. */
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

/* Behind a varint of up to nine bytes; NULL: longer, or cut off. */
static inline const uint8_t *plain_varint_end(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *most = end - at > 9 ? at + 9 : end;
    while (at < most)
        if (*at++ < 0x80)
            return at;
    return NULL;
}

/*
 * A KeyValue and its AnyValue (opentelemetry-proto, common.proto), which most messages of OTLP are
 * made of: what is plain is well-formed, what is not may be well-formed too.
 */

/* An AnyValue of one string, bool, number or run of bytes; not empty. */
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

/* The key of a KeyValue that is a key, then a value, then nothing, whatever the value holds; data
 * NULL: it is another. *value: where the AnyValue begins. */
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

/* The same for less than 128 bytes, where every length has one byte and the outer ones bound the
 * inner ones. Key and value, not empty. */
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

/* A KeyValue of a key and a plain value. */
static inline bool plain_key_value(struct view body)
{
    if (body.size < 128)
        return plain_short_key_value(body);
    const uint8_t *value, *end = body.data + body.size;
    return plain_key(body, &value).data && value < end && plain_value(value, end);
}

#endif
