/*
 * Reads protobuf wire format in place: a cursor over the fields of one message. Source of the
 * encoding: protobuf.dev "Encoding". Pure; nothing is copied. Zigzag is not decoded: no message
 * read this way uses the sint types.
 */
#ifndef LIB_WIRE_PROTO_PROTO_SCAN_H
#define LIB_WIRE_PROTO_PROTO_SCAN_H

#include "lib/base/view.h"

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_I64 = 1,
    WIRE_LEN = 2,
    WIRE_START_GROUP = 3,
    WIRE_END_GROUP = 4,
    WIRE_I32 = 5
};

/* Messages nested deeper than this are refused. A map in a map takes three of them: enough for
 * attributes of 100 levels. */
#define PROTO_MAX_DEPTH 320
#define PROTO_TOO_DEEP  "nested more than about 100 levels deep"

struct proto_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;       /* VARINT, I64, I32; LEN: the length */
    struct view bytes;    /* LEN: the content; START_GROUP: everything before the end-group tag */
    const uint8_t *start; /* first byte of the tag */
    const uint8_t *end;   /* one past the field */
};

struct proto_scan {
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* the bytes are not a message; the cursor no longer moves */
};

static inline struct proto_scan proto_scan_begin(struct view message)
{
    const uint8_t *end = message.size ? message.data + message.size : message.data;
    return (struct proto_scan){message.data, end, false};
}

/* The slow paths of the functions below, out of line. */
const uint8_t *proto_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value);
bool proto_scan_any(struct proto_scan *scan, struct proto_field *field);

/* Reads one varint; NULL: truncated, longer than ten bytes, or more than 64 bits. */
static inline const uint8_t *proto_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (at >= end || *at >= 0x80)
        return proto_varint_long(at, end, value);
    *value = *at;
    return at + 1;
}

/* Reads the next field. False: the end, or malformed bytes (then scan->bad). Field numbers are 1 to
 * 2^29-1; groups must balance; lengths must not exceed the message. */
static inline bool proto_scan_next(struct proto_scan *scan, struct proto_field *field)
{
    const uint8_t *at = scan->at;
    size_t left = (size_t)(scan->end - at);
    /* A one-byte tag and a one-byte length, as for nearly all fields of telemetry. */
    if (left < 2 || (at[0] & 0x87) != WIRE_LEN || at[0] < 8 || at[1] > 0x7f || at[1] > left - 2)
        return proto_scan_any(scan, field);
    field->number = at[0] >> 3;
    field->type = WIRE_LEN;
    field->value = at[1];
    field->bytes = (struct view){at + 2, at[1]};
    field->start = at;
    scan->at = field->end = at + 2 + at[1];
    return true;
}

/* Goes on to the next LEN field of this number. False: there is none. */
static inline bool proto_scan_next_of(struct proto_scan *scan, uint32_t number,
                                      struct proto_field *field)
{
    while (proto_scan_next(scan, field))
        if (field->number == number && field->type == WIRE_LEN)
            return true;
    return false;
}

/* Finds the last occurrence of a field (in protobuf the last one wins). False: absent, or bad. */
bool proto_find(struct view message, uint32_t number, enum wire_type type,
                struct proto_field *field);

/* What proto_find finds of a varint; 0: absent. */
static inline uint64_t proto_find_number(struct view message, uint32_t number)
{
    struct proto_field field;
    return proto_find(message, number, WIRE_VARINT, &field) ? field.value : 0;
}

/* What proto_find finds of a LEN field; data NULL: absent. */
static inline struct view proto_find_bytes(struct view message, uint32_t number)
{
    struct proto_field field;
    return proto_find(message, number, WIRE_LEN, &field) ? field.bytes : (struct view){0};
}

/* Nesting depth of the groups inside a group's content; 0: none. The content must be
 * well-formed. */
unsigned proto_group_depth(struct view content);

/* Size of a varint, and writing one; out needs room for ten bytes. Returns its end. */
size_t proto_varint_size(uint64_t value);
uint8_t *proto_varint_put(uint8_t *out, uint64_t value);

/* A field's tag, as a varint value. */
static inline uint64_t proto_tag(uint32_t number, enum wire_type type)
{
    return (uint64_t)number << 3 | type;
}

/* Size of a LEN field with size content bytes, including the tag; and writing its tag and length.
 * For fields built by hand. */
size_t proto_len_size(uint32_t number, size_t size);
uint8_t *proto_len_put(uint8_t *out, uint32_t number, size_t size);

/* Like mempcpy, but accepts an empty view whose data is NULL. */
uint8_t *proto_bytes_put(uint8_t *out, struct view bytes);

#endif
