#include "lib/wire/otlp/otlp_span.h"

#include "lib/wire/otlp/otlp_attribute.h"
#include "lib/wire/otlp/otlp_plain.h"

#include <endian.h>

enum {
    SPAN_TRACE_ID = 1,
    SPAN_SPAN_ID = 2,
    SPAN_PARENT_SPAN_ID = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRIBUTES = 9,
    SPAN_FLAGS = 16
};

static void read_attribute(const struct proto_field *field, struct otlp_span *span)
{
    if (!view_eq(otlp_key(field->bytes), PROFILE_ATTRIBUTE))
        return;
    if (span->profile_attributes++ == 0) {
        span->profile_id = otlp_string_value(field->bytes);
        span->profile_attribute = *field;
    }
}

static void otlp_span_read_field(const struct proto_field *field, struct otlp_span *span)
{
    switch (field->number) {
    case SPAN_TRACE_ID:
        span->trace_id = field->bytes;
        break;
    case SPAN_SPAN_ID:
        span->span_id = field->bytes;
        break;
    case SPAN_PARENT_SPAN_ID:
        span->parent_span_id = field->bytes;
        break;
    case SPAN_NAME:
        span->name = field->bytes;
        break;
    case SPAN_KIND:
        span->kind = (uint32_t)field->value;
        break;
    case SPAN_START:
        span->start_ns = field->value;
        break;
    case SPAN_END:
        span->end_ns = field->value;
        break;
    case SPAN_ATTRIBUTES:
        read_attribute(field, span);
        break;
    case SPAN_FLAGS:
        span->flags = (uint32_t)field->value;
        break;
    default:
        break;
    }
}

/* Whether a KeyValue's key cannot be the profile attribute's, by its length. */
static inline bool is_another(const uint8_t *data, size_t size)
{
    if (size < PROFILE_ATTRIBUTE.size)
        return true;
    /* Key and value only, each with a one-byte length. */
    if (size > 127 || data[0] != PLAIN_TAG(1, WIRE_LEN) || data[1] > size - 4)
        return false;
    const uint8_t *value = data + 2 + data[1];
    return data[1] != PROFILE_ATTRIBUTE.size && value[0] == PLAIN_TAG(2, WIRE_LEN) &&
           value[1] == size - 4 - data[1];
}

static inline const uint8_t *otlp_span_take(const uint8_t *at, const uint8_t *end,
                                            struct view *content)
{
    const uint8_t *behind, *from = plain_content(at, end, &behind);
    if (!from)
        return NULL;
    *content = view_between(from, behind);
    return behind;
}

static inline const uint8_t *take_fixed64(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if ((size_t)(end - at) < sizeof *value)
        return NULL;
    memcpy(value, at, sizeof *value);
    *value = le64toh(*value);
    return at + sizeof *value;
}

/* Skips other attributes, which are most of a span's fields. */
static inline const uint8_t *skip_others(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *content, *behind;
    while (at < end && *at == PLAIN_TAG(SPAN_ATTRIBUTES, WIRE_LEN) &&
           (content = plain_content(at + 1, end, &behind)) &&
           is_another(content, (size_t)(behind - content)))
        at = behind;
    return at;
}

/* Reads a field in the encoding that SDKs use, with the same result as read_field, and returns its
 * end. NULL: another encoding, or another field. */
static inline const uint8_t *read_plain(const uint8_t *at, const uint8_t *end,
                                        struct otlp_span *span)
{
    uint32_t flags;
    switch (*at++) {
    case PLAIN_TAG(SPAN_TRACE_ID, WIRE_LEN):
        return otlp_span_take(at, end, &span->trace_id);
    case PLAIN_TAG(SPAN_SPAN_ID, WIRE_LEN):
        return otlp_span_take(at, end, &span->span_id);
    case PLAIN_TAG(SPAN_PARENT_SPAN_ID, WIRE_LEN):
        return otlp_span_take(at, end, &span->parent_span_id);
    case PLAIN_TAG(SPAN_NAME, WIRE_LEN):
        return otlp_span_take(at, end, &span->name);
    case PLAIN_TAG(SPAN_KIND, WIRE_VARINT):
        if (at == end || *at >= 0x80)
            return NULL;
        span->kind = *at;
        return at + 1;
    case PLAIN_TAG(SPAN_START, WIRE_I64):
        return take_fixed64(at, end, &span->start_ns);
    case PLAIN_TAG(SPAN_END, WIRE_I64):
        return take_fixed64(at, end, &span->end_ns);
    case 0x80 | (SPAN_FLAGS & 15) << 3 | WIRE_I32: /* the second byte of the tag is 1 */
        if (end - at < 5 || *at != 1)
            return NULL;
        memcpy(&flags, at + 1, sizeof flags);
        span->flags = le32toh(flags);
        return at + 5;
    default:
        return NULL;
    }
}

void otlp_span_read(struct view body, struct otlp_span *span)
{
    *span = (struct otlp_span){.body = body};
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    const uint8_t *behind;
    while (scan.at < scan.end) {
        if ((behind = read_plain(scan.at, scan.end, span)))
            scan.at = skip_others(behind, scan.end);
        else if (proto_scan_next(&scan, &field))
            otlp_span_read_field(&field, span);
        else
            return;
    }
}

static bool all_zero(struct view id)
{
    uint8_t any = 0;
    for (size_t i = 0; i < id.size; i++)
        any |= id.data[i];
    return any == 0;
}

static bool is_local_root(bool has_parent, uint32_t flags, uint32_t kind)
{
    if (!has_parent)
        return true;
    if (flags & SPAN_FLAG_HAS_IS_REMOTE)
        return flags & SPAN_FLAG_IS_REMOTE;
    return kind == SPAN_KIND_SERVER || kind == SPAN_KIND_CONSUMER;
}

bool otlp_span_is_local_root(const struct otlp_span *span)
{
    return is_local_root(!all_zero(span->parent_span_id), span->flags, span->kind);
}

void otlp_notes_begin(struct otlp_notes *notes, struct view request, struct budget *budget)
{
    /* Relative to the request's size: notes about very small spans would cost more than reading
     * them. */
    const size_t expected = request.size / 8,
                 most = request.size / 2 + sizeof(struct otlp_span_note);
    *notes = (struct otlp_notes){.request = request.data};
    bytes_init(&notes->rows, most, budget);
    notes->failed = request.size > UINT32_MAX || !budget_is_ample(budget, request.size) ||
                    bytes_reserve(&notes->rows, expected) != BYTES_OK;
}

void otlp_notes_add(struct otlp_notes *notes, struct view body, struct otlp_span_note *note)
{
    if (notes->failed)
        return;
    note->at = (uint32_t)(body.data - notes->request);
    struct bytes *rows = &notes->rows;
    notes->failed =
        rows->capacity - rows->size < sizeof *note && bytes_reserve(rows, sizeof *note) != BYTES_OK;
    if (notes->failed)
        return;
    memcpy(rows->data + rows->size, note, sizeof *note);
    rows->size += sizeof *note;
}

const struct otlp_span_note *otlp_note_find(struct view rows, size_t index, struct view request,
                                            struct view body)
{
    if (index >= rows.size / sizeof(struct otlp_span_note))
        return NULL;
    const struct otlp_span_note *note =
        (const struct otlp_span_note *)(const void *)rows.data + index;
    return note->usable && note->at == (size_t)(body.data - request.data) ? note : NULL;
}

bool otlp_note_is_local_root(const struct otlp_span_note *note)
{
    return is_local_root(note->parent != 0, note->flags, note->kind);
}

uint64_t span_id_load(const uint8_t bytes[8])
{
    uint64_t id;
    memcpy(&id, bytes, sizeof id);
    return be64toh(id);
}

/* For each byte that is a hex digit, its value and IS_DIGIT. A table, because ids are random and a
 * branch for letters would often be mispredicted. */
enum { IS_DIGIT = 16 };
#define D(c, value) [c] = IS_DIGIT | (value)
static const uint8_t hex_digits[256] = {
    D('0', 0),  D('1', 1),  D('2', 2),  D('3', 3),  D('4', 4),  D('5', 5),  D('6', 6),  D('7', 7),
    D('8', 8),  D('9', 9),  D('a', 10), D('b', 11), D('c', 12), D('d', 13), D('e', 14), D('f', 15),
    D('A', 10), D('B', 11), D('C', 12), D('D', 13), D('E', 14), D('F', 15),
};
#undef D

bool span_id_parse(struct view hex, uint64_t *id)
{
    if (hex.size != 16)
        return false;
    uint64_t sum = 0;
    uint8_t all = IS_DIGIT;
    for (size_t i = 0; i < 16; i++) {
        uint8_t digit = hex_digits[hex.data[i]];
        all &= digit;
        sum = sum << 4 | (digit & 15u);
    }
    *id = sum;
    return all && sum != 0;
}

void span_id_format(uint64_t id, char out[16])
{
    for (unsigned i = 0; i < 16; i++)
        out[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
}

uint64_t span_id_reversed(uint64_t id)
{
    return __builtin_bswap64(id);
}
