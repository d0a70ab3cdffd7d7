/*
 * proto_scan_next optimised for pprof: nearly all of a profile's hundreds of thousands of fields
 * have a one-byte tag and hold a varint or a message of less than 16 KiB. Behaves exactly like
 * proto_scan_next. For lib/wire/pprof/pprof*.c only.
 */
#ifndef LIB_WIRE_PPROF_PPROF_CURSOR_H
#define LIB_WIRE_PPROF_PPROF_CURSOR_H

#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/proto/proto_plain.h"

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
    field->bytes = (struct view){behind, type == WIRE_LEN ? (size_t)value : 0};
    behind += field->bytes.size;
    scan->at = field->end = behind;
    return true;
}

/* The next field of a profile; skips the samples if they are in one run. */
static inline bool pprof_next_but_samples(const struct pprof *pprof, struct proto_scan *scan,
                                          struct proto_field *field)
{
    const struct pprof_fields *samples = &pprof->fields[PROFILE_SAMPLE];
    if (samples->runs == 1 && scan->at == samples->from)
        scan->at = samples->to;
    return pprof_next(scan, field);
}

/* Reads a varint of up to three bytes; NULL: longer, or truncated. */
static inline const uint8_t *pprof_short(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    ptrdiff_t left = end - at;
    if (left >= 1 && at[0] < 0x80) {
        *value = at[0];
        return at + 1;
    }
    if (left >= 2 && at[1] < 0x80) {
        *value = (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
        return at + 2;
    }
    if (left < 3 || at[2] >= 0x80)
        return NULL;
    *value = (at[0] & 0x7fu) | (at[1] & 0x7fu) << 7 | (uint64_t)at[2] << 14;
    return at + 3;
}

/* Reads a label that consists of a key and a string in this order, like nearly all. False: any
 * other form. */
static inline bool pprof_plain_label(const uint8_t *at, const uint8_t *end, uint64_t *key,
                                     uint64_t *str)
{
    if (end - at < 4 || *at != PLAIN_TAG(1, WIRE_VARINT))
        return false;
    at = pprof_short(at + 1, end, key);
    return at && at < end && *at == PLAIN_TAG(2, WIRE_VARINT) &&
           pprof_short(at + 1, end, str) == end;
}

/* Number of varints in a packed field; SIZE_MAX: malformed. */
size_t pprof_count_packed(struct view numbers);

#endif
