/*
 * proto_scan_next for pprof: nearly all of a profile is fields of one tag byte that hold a varint,
 * or a message of less than 16 KiB, and there are hundreds of thousands of them. Answers exactly
 * as proto_scan_next does. For the wire/pprof*.c files only.
 */
#ifndef WIRE_PPROF_CURSOR_H
#define WIRE_PPROF_CURSOR_H

#include "wire/proto_scan.h"

static inline const uint8_t *pprof_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (end - at >= 2) {
        if (at[0] < 0x80) {
            *value = at[0];
            return at + 1;
        }
        if (at[1] < 0x80) {
            *value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
            return at + 2;
        }
    }
    return proto_varint(at, end, value);
}

static inline bool pprof_next(struct proto_scan *scan, struct proto_field *field)
{
    const uint8_t *at = scan->at, *end = scan->end;
    uint64_t value;
    if (end - at < 2 || at[0] < 8 || (at[0] & 0x80))
        return proto_scan_any(scan, field);
    unsigned type = at[0] & 7;
    if (type != WIRE_VARINT && type != WIRE_LEN)
        return proto_scan_any(scan, field);
    const uint8_t *behind = pprof_varint(at + 1, end, &value);
    if (!behind || (type == WIRE_LEN && value > (size_t)(end - behind)))
        return proto_scan_any(scan, field);
    field->number = at[0] >> 3;
    field->type = (enum wire_type)type;
    field->value = value;
    field->start = at;
    if (type == WIRE_LEN) {
        field->bytes = (struct view){behind, (size_t)value};
        behind += value;
    }
    scan->at = field->end = behind;
    return true;
}

/* Numbers in a packed field; SIZE_MAX: the bytes are not whole varints. */
size_t pprof_count_packed(struct view numbers);

#endif
