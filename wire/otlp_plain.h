/*
 * The forms in which SDKs write nearly all attributes and spans, told by looking at few bytes: tags
 * of one byte, lengths of one or two, every field once. What is plain is well-formed; what is not
 * may be well-formed too. Pure.
 */
#ifndef WIRE_OTLP_PLAIN_H
#define WIRE_OTLP_PLAIN_H

#include "wire/otlp_span.h"
#include "wire/proto_plain.h"

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

/* A Span that is well-formed and that every backend takes: with good ids (otlp_traces_drop_invalid
 * has nothing against it), plain attributes, and no field that is not of today's protocol. */
bool otlp_span_is_plain(struct view body);

/* The same, for the check of a request: notes (struct otlp_notes; NULL: none) gets what it saw. */
bool otlp_span_check(struct view body, void *notes);

#endif
