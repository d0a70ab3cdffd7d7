/*
 * Protobuf wire form read in place: a cursor over the fields of one message.
 * Source of the encoding: protobuf.dev "Encoding". Pure functions; nothing is copied.
 * No zigzag here: no message that spanlink reads one by one uses the sint types.
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

/* Messages nested deeper than this are refused, as the protobuf libraries of C++ and Java do. */
#define PROTO_MAX_DEPTH 100

struct proto_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;       /* VARINT, I64, I32; LEN: the length */
    struct view bytes;    /* LEN: the content; START_GROUP: all up to the end-group tag */
    const uint8_t *start; /* first byte of the tag */
    const uint8_t *end;   /* one past the field */
};

struct proto_scan {
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* set where the bytes are not a message; the cursor then stands still */
};

static inline struct proto_scan proto_scan_begin(struct view message)
{
    const uint8_t *end = message.size ? message.data + message.size : message.data;
    return (struct proto_scan){message.data, end, false};
}

/* The parts of the functions below that are rare enough to stay out of line. */
const uint8_t *proto_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value);
bool proto_scan_any(struct proto_scan *scan, struct proto_field *field);

/* Reads one varint; NULL: cut off, or longer than ten bytes, or past 64 bits. */
static inline const uint8_t *proto_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (at >= end || *at >= 0x80)
        return proto_varint_long(at, end, value);
    *value = *at;
    return at + 1;
}

/* The next field, or false at the end and on malformed bytes (then scan->bad). Field numbers
 * 1 to 2^29-1; groups must balance; a length must lie inside the message. */
static inline bool proto_scan_next(struct proto_scan *scan, struct proto_field *field)
{
    const uint8_t *at = scan->at;
    size_t left = (size_t)(scan->end - at);
    /* One byte of tag and one of length: nearly all fields of telemetry are so. */
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

/* The last occurrence of a field, as protobuf's last-one-wins asks. False: absent or bad. */
bool proto_find(struct view message, uint32_t number, enum wire_type type,
                struct proto_field *field);

/* How deep the groups inside a group's content nest; 0: none. The content was scanned before. */
unsigned proto_group_depth(struct view content);

/* Bytes that a varint of this value takes, and its writing; out has room for ten. */
size_t proto_varint_size(uint64_t value);
uint8_t *proto_varint_put(uint8_t *out, uint64_t value);

/* A field's tag as the varint's value. */
static inline uint64_t proto_tag(uint32_t number, enum wire_type type)
{
    return (uint64_t)number << 3 | type;
}

/* Bytes of a LEN field of so many content bytes, tag included, and the writing of all but the
 * content; for fields built by hand. */
size_t proto_len_size(uint32_t number, size_t size);
uint8_t *proto_len_put(uint8_t *out, uint32_t number, size_t size);

/* memcpy that takes an empty view without data. */
uint8_t *proto_bytes_put(uint8_t *out, struct view bytes);

#endif
