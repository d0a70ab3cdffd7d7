/*
 * KeyValue and AnyValue (opentelemetry-proto, common.proto), which make up most of OTLP: a plain
 * one is well-formed; one that is not plain may be well-formed too. Pure.
 */
#ifndef LIB_WIRE_PROTO_PLAIN_KEY_VALUE_H
#define LIB_WIRE_PROTO_PLAIN_KEY_VALUE_H

#include "lib/wire/proto/proto_plain.h"

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

enum { PLAIN_ATTRIBUTE_MIN = 6 }; /* bytes of an attribute with an empty key and an empty value */

/* An attribute, a KeyValue with its tag, whose lengths have one byte each, as nearly all have. */
struct plain_short {
    const uint8_t *end;   /* NULL: it has another form, or is none */
    const uint8_t *value; /* behind the key: the AnyValue's tag and length, which are not checked */
    size_t key;           /* size of the key, which begins four bytes behind the tag */
};

/* One with at least so many bytes behind its key. PLAIN_ATTRIBUTE_MIN bytes can be read at `from`,
 * and at `last`, up to which it may reach. */
static inline struct plain_short plain_short(const uint8_t *from, const uint8_t *last, uint8_t tag,
                                             ptrdiff_t least)
{
    const uint32_t mask = 0x00ff80ff, form = tag | (uint32_t)PLAIN_TAG(1, WIRE_LEN) << 16;
    uint32_t raw; /* tag, size, tag of the key, its size */
    memcpy(&raw, from, sizeof raw);
    const size_t head = le32toh(raw), size = head >> 8 & 0xff, key = head >> 24;
    const uint8_t *end = from + 2 + size, *value = from + 4 + key;
    if ((head & mask) != form || end > last || end - value < least)
        return (struct plain_short){0};
    return (struct plain_short){end, value, key};
}

/* The end of such an attribute, with outer lengths that bound inner ones, and its key's size. */
static inline const uint8_t *plain_short_attribute(const uint8_t *from, const uint8_t *last,
                                                   uint8_t tag, size_t *key_size)
{
    struct plain_short found = plain_short(from, last, tag, 2);
    uint16_t head;
    if (!found.end)
        return NULL;
    memcpy(&head, found.value, sizeof head);
    *key_size = found.key;
    return le16toh(head) == (found.end - found.value - 2) * 256 + PLAIN_TAG(2, WIRE_LEN) ? found.end
                                                                                         : NULL;
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
