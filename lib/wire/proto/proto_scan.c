#include "lib/wire/proto/proto_scan.h"

#include <endian.h>

#define FIELD_NUMBER_MAX ((UINT32_C(1) << 29) - 1)

const uint8_t *proto_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
        uint64_t byte = *at++;
        /* The tenth byte holds only bit 63. */
        if (shift == 63 && byte > 1)
            return NULL;
        sum |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = sum;
            return at;
        }
    }
    return NULL;
}

/* Reads a tag; NULL: malformed, or a number or wire type that does not exist. */
static inline const uint8_t *read_tag(const uint8_t *at, const uint8_t *end,
                                      struct proto_field *field)
{
    uint64_t tag;
    at = proto_varint(at, end, &tag);
    if (!at || tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX || (tag & 7) > WIRE_I32)
        return NULL;
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum wire_type)(tag & 7);
    return at;
}

/* Reads what follows the tag of any field except a group; NULL: malformed. */
static inline const uint8_t *read_value(const uint8_t *at, const uint8_t *end,
                                        struct proto_field *field)
{
    size_t left = (size_t)(end - at);
    uint64_t fixed64;
    uint32_t fixed32;
    switch (field->type) {
    case WIRE_VARINT:
        return proto_varint(at, end, &field->value);
    case WIRE_I64:
        if (left < sizeof fixed64)
            return NULL;
        memcpy(&fixed64, at, sizeof fixed64);
        field->value = le64toh(fixed64);
        return at + sizeof fixed64;
    case WIRE_I32:
        if (left < sizeof fixed32)
            return NULL;
        memcpy(&fixed32, at, sizeof fixed32);
        field->value = le32toh(fixed32);
        return at + sizeof fixed32;
    case WIRE_LEN:
        at = proto_varint(at, end, &field->value);
        if (!at || field->value > (size_t)(end - at))
            return NULL;
        field->bytes = (struct view){at, (size_t)field->value};
        return at + field->value;
    case WIRE_START_GROUP:
    case WIRE_END_GROUP:
        break;
    }
    return NULL;
}

/* Reads a group's content and its end; NULL: malformed, unbalanced or too deep. */
static const uint8_t *read_group(const uint8_t *at, const uint8_t *end, struct proto_field *group)
{
    uint32_t open[PROTO_MAX_DEPTH];
    unsigned depth = 1;
    open[0] = group->number;
    group->bytes.data = at;
    while (depth > 0) {
        struct proto_field field;
        const uint8_t *tag = at;
        at = read_tag(at, end, &field);
        if (!at)
            return NULL;
        if (field.type == WIRE_START_GROUP) {
            if (depth == PROTO_MAX_DEPTH)
                return NULL;
            open[depth++] = field.number;
        } else if (field.type == WIRE_END_GROUP) {
            if (open[--depth] != field.number)
                return NULL;
            group->bytes.size = (size_t)(tag - group->bytes.data);
        } else if (!(at = read_value(at, end, &field))) {
            return NULL;
        }
    }
    return at;
}

bool proto_scan_any(struct proto_scan *scan, struct proto_field *field)
{
    if (scan->bad || scan->at >= scan->end)
        return false;
    field->start = scan->at;
    const uint8_t *at = read_tag(scan->at, scan->end, field);
    if (at && field->type == WIRE_START_GROUP)
        at = read_group(at, scan->end, field);
    else if (at)
        at = read_value(at, scan->end, field);
    if (!at) {
        scan->bad = true;
        return false;
    }
    scan->at = field->end = at;
    return true;
}

bool proto_find(struct view message, uint32_t number, enum wire_type type,
                struct proto_field *field)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field each;
    bool found = false;
    while (proto_scan_next(&scan, &each))
        if (each.number == number && each.type == type) {
            *field = each;
            found = true;
        }
    return found && !scan.bad;
}

unsigned proto_group_depth(struct view content)
{
    const uint8_t *at = content.data, *end = at + content.size;
    unsigned depth = 0, deepest = 0;
    struct proto_field field;
    while (at < end && (at = read_tag(at, end, &field))) {
        if (field.type == WIRE_START_GROUP)
            deepest = ++depth > deepest ? depth : deepest;
        else if (field.type == WIRE_END_GROUP)
            depth--;
        else if (!(at = read_value(at, end, &field)))
            break;
    }
    return deepest;
}

size_t proto_varint_size(uint64_t value)
{
    size_t size = 1;
    while (value >>= 7)
        size++;
    return size;
}

uint8_t *proto_varint_put(uint8_t *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

size_t proto_len_size(uint32_t number, size_t size)
{
    return proto_varint_size(proto_tag(number, WIRE_LEN)) + proto_varint_size(size) + size;
}

uint8_t *proto_len_put(uint8_t *out, uint32_t number, size_t size)
{
    return proto_varint_put(proto_varint_put(out, proto_tag(number, WIRE_LEN)), size);
}

uint8_t *proto_bytes_put(uint8_t *out, struct view bytes)
{
    if (bytes.size)
        memcpy(out, bytes.data, bytes.size);
    return out + bytes.size;
}
