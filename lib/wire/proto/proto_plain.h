/*
 * Fast paths for the most common encodings: one-byte tags, lengths of one or two bytes. Callers try
 * these first and fall back to proto_scan.h. Pure.
 */
#ifndef LIB_WIRE_PROTO_PROTO_PLAIN_H
#define LIB_WIRE_PROTO_PROTO_PLAIN_H

#include "lib/wire/proto/proto_scan.h"

#include <endian.h>

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

/* Reads a fixed64 field below 16 at `at`. False: another form, or truncated. */
static inline bool plain_fixed64(const uint8_t *at, const uint8_t *end, struct proto_field *field)
{
    uint64_t value;
    if (end - at < 9 || (at[0] & 0x87) != WIRE_I64)
        return false;
    memcpy(&value, at + 1, sizeof value);
    *field = (struct proto_field){.number = at[0] >> 3,
                                  .type = WIRE_I64,
                                  .value = le64toh(value),
                                  .start = at,
                                  .end = at + 9};
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

#endif
