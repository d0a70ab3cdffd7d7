#include "lib/wire/otlp/otlp_plain.h"

#include <endian.h>

enum { TRACE_ID_SIZE = 16, SPAN_ID_SIZE = 8 };

/* The start and end of a field's content. */
struct range {
    const uint8_t *at, *end;
};

static inline bool otlp_plain_take(const uint8_t **at, const uint8_t *end, struct range *content)
{
    content->at = plain_content(*at, end, &content->end);
    if (!content->at)
        return false;
    *at = content->end;
    return true;
}

static inline bool skip_varint(const uint8_t **at, const uint8_t *end)
{
    return (*at = plain_varint_end(*at, end)) != NULL;
}

static inline bool otlp_plain_skip(const uint8_t **at, const uint8_t *end, size_t size)
{
    if ((size_t)(end - *at) < size)
        return false;
    *at += size;
    return true;
}

static inline bool take_attribute(const uint8_t **at, const uint8_t *end)
{
    struct range attribute;
    return otlp_plain_take(at, end, &attribute) &&
           plain_key_value(view_between(attribute.at, attribute.end));
}

/* Whether a plain attribute is the one with which profiling SDKs mark spans. Its key's length may
 * have two bytes though one would do. */
static inline bool marks(const struct range *attribute)
{
    const uint8_t *value;
    return view_eq(plain_key(view_between(attribute->at, attribute->end), &value),
                   PROFILE_ATTRIBUTE);
}

/* The attributes of a span. */
struct attribute_run {
    const uint8_t *at, *end; /* end NULL: none were seen */
    bool scattered;          /* there are others, or one has a length of two bytes */
    bool marked;
};

/* The four bytes with which a field begins that is an AnyValue with a text, of so many bytes, as a
 * number: its tag and length, and the text's. */
static inline uint32_t text_head(uint32_t size)
{
    const uint32_t tags = PLAIN_TAG(2, WIRE_LEN) | (uint32_t)PLAIN_TAG(1, WIRE_LEN) << 16;
    return tags + size * (1 << 24 | 1 << 8) - (4 << 24 | 2 << 8);
}

static inline uint32_t load32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

/* Reads attributes whose lengths have one byte each, from the tag of one on. Returns the first that
 * is none of them, or is near the end. */
static __attribute__((noinline)) const uint8_t *
take_short_attributes(const uint8_t *from, const uint8_t *end, bool *marked)
{
    const uint8_t *last = end - PLAIN_ATTRIBUTE_MIN;
    struct plain_short next;
    if (end - from < PLAIN_ATTRIBUTE_MIN)
        return from;
    while ((next = plain_short(from, last, PLAIN_TAG(9, WIRE_LEN), 4)).end) {
        const uint8_t *value = next.value;
        const size_t size = (size_t)(next.end - value);
        if (load32(value) != text_head((uint32_t)size) &&
            (value[0] != PLAIN_TAG(2, WIRE_LEN) || value[1] != size - 2 ||
             !plain_value(value + 2, next.end)))
            break;
        if (next.key == PROFILE_ATTRIBUTE.size)
            *marked |= memcmp(from + 4, PROFILE_ATTRIBUTE.data, PROFILE_ATTRIBUTE.size) == 0;
        from = next.end;
    }
    return from;
}

/* Reads a span's attributes, from behind the first tag up to the end of the list. */
static inline bool take_attributes(const uint8_t **at, const uint8_t *end,
                                   struct attribute_run *run)
{
    const uint8_t *from = *at - 1;
    run->scattered = run->scattered || run->end;
    run->at = from;
    for (;;) {
        struct range attribute;
        from = take_short_attributes(from, end, &run->marked);
        if (from == end || *from != PLAIN_TAG(9, WIRE_LEN))
            break;
        run->scattered = run->scattered || end - from < 2 || from[1] >= 0x80;
        from++;
        if (!otlp_plain_take(&from, end, &attribute) ||
            !plain_key_value(view_between(attribute.at, attribute.end)))
            return false;
        run->marked = run->marked || marks(&attribute);
    }
    *at = run->end = from;
    return true;
}

static inline bool take_fixed64(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    if ((size_t)(end - *at) < sizeof *value)
        return false;
    memcpy(value, *at, sizeof *value);
    *value = le64toh(*value);
    *at += sizeof *value;
    return true;
}

static inline bool take_flags(const uint8_t **at, const uint8_t *end, uint32_t *flags)
{
    if ((size_t)(end - *at) < sizeof *flags)
        return false;
    memcpy(flags, *at, sizeof *flags);
    *flags = le32toh(*flags);
    *at += sizeof *flags;
    return true;
}

/* A kind of more than one byte clears *small. */
static inline bool take_kind(const uint8_t **at, const uint8_t *end, uint8_t *kind, bool *small)
{
    const uint8_t *from = *at;
    if (!skip_varint(at, end))
        return false;
    *kind = *from;
    *small = *at == from + 1;
    return true;
}

static inline size_t size_of(const struct range *content)
{
    return (size_t)(content->end - content->at);
}

static inline bool take_trace_id(const uint8_t **at, const uint8_t *end)
{
    struct range id;
    if (!otlp_plain_take(at, end, &id) || size_of(&id) != TRACE_ID_SIZE)
        return false;
    return span_id_load(id.at) || span_id_load(id.at + SPAN_ID_SIZE);
}

static inline bool take_span_id(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    struct range id;
    if (!otlp_plain_take(at, end, &id) || size_of(&id) != SPAN_ID_SIZE)
        return false;
    *value = span_id_load(id.at);
    return *value != 0;
}

/* Reads an optional id. */
static inline bool take_other_id(const uint8_t **at, const uint8_t *end, size_t size,
                                 uint64_t *value)
{
    struct range id;
    if (!otlp_plain_take(at, end, &id) || (size_of(&id) != 0 && size_of(&id) != size))
        return false;
    *value = size_of(&id) ? span_id_load(id.at) : 0;
    return true;
}

static bool plain_event(struct range event)
{
    const uint8_t *at = event.at, *end = event.end;
    struct range name;
    bool good = true;
    while (good && at < end)
        switch (*at++) {
        case PLAIN_TAG(1, WIRE_I64): /* time */
            good = otlp_plain_skip(&at, end, 8);
            break;
        case PLAIN_TAG(2, WIRE_LEN): /* name */
            good = otlp_plain_take(&at, end, &name);
            break;
        case PLAIN_TAG(3, WIRE_LEN):
            good = take_attribute(&at, end);
            break;
        case PLAIN_TAG(4, WIRE_VARINT): /* dropped attributes count */
            good = skip_varint(&at, end);
            break;
        default:
            good = false;
        }
    return good;
}

static bool plain_link(struct range span_link)
{
    const uint8_t *at = span_link.at, *end = span_link.end;
    struct range state;
    uint64_t id;
    bool good = true;
    while (good && at < end)
        switch (*at++) {
        case PLAIN_TAG(1, WIRE_LEN):
            good = take_other_id(&at, end, TRACE_ID_SIZE, &id);
            break;
        case PLAIN_TAG(2, WIRE_LEN):
            good = take_other_id(&at, end, SPAN_ID_SIZE, &id);
            break;
        case PLAIN_TAG(3, WIRE_LEN):
            good = otlp_plain_take(&at, end, &state);
            break;
        case PLAIN_TAG(4, WIRE_LEN):
            good = take_attribute(&at, end);
            break;
        case PLAIN_TAG(5, WIRE_VARINT): /* dropped attributes count */
            good = skip_varint(&at, end);
            break;
        case PLAIN_TAG(6, WIRE_I32): /* flags */
            good = otlp_plain_skip(&at, end, 4);
            break;
        default:
            good = false;
        }
    return good;
}

static bool plain_status(struct range status)
{
    const uint8_t *at = status.at, *end = status.end;
    struct range message;
    bool good = true;
    while (good && at < end)
        if (*at == PLAIN_TAG(2, WIRE_LEN))
            good = at++, otlp_plain_take(&at, end, &message);
        else
            good = *at++ == PLAIN_TAG(3, WIRE_VARINT) && skip_varint(&at, end);
    return good;
}

/* Two bytes as they stand, the first one lowest. */
static inline unsigned load16(const uint8_t *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

#define HEAD(number, size) ((unsigned)PLAIN_TAG(number, WIRE_LEN) | (unsigned)(size) << 8)

/* Reads the ids with which every SDK begins a span. NULL: it begins otherwise. */
static inline const uint8_t *take_ids(const uint8_t *at, const uint8_t *end,
                                      struct otlp_span_note *note)
{
    enum { IDS = 2 + TRACE_ID_SIZE + 2 + SPAN_ID_SIZE, PARENT = 2 + SPAN_ID_SIZE };
    const uint8_t *span_id = at + 2 + TRACE_ID_SIZE;
    if (end - at < IDS + PARENT || load16(at) != HEAD(1, TRACE_ID_SIZE) ||
        load16(span_id) != HEAD(2, SPAN_ID_SIZE) || !span_id_load(span_id + 2) ||
        !(span_id_load(at + 2) | span_id_load(at + 2 + SPAN_ID_SIZE)))
        return NULL;
    note->id = span_id_load(span_id + 2);
    at += IDS;
    if (load16(at) != HEAD(4, SPAN_ID_SIZE))
        return at;
    note->parent = span_id_load(at + 2);
    return at + PARENT;
}

/* Reads name, kind and times where they follow one another. NULL: they do not. */
static inline const uint8_t *take_name_to_end(const uint8_t *at, const uint8_t *end,
                                              struct otlp_span_note *note)
{
    enum { KIND = 2, TIME = 9, REST = KIND + 2 * TIME };
    if (end - at < 2 + REST || at[0] != PLAIN_TAG(5, WIRE_LEN) || at[1] >= 0x80 ||
        at[1] > end - at - 2 - REST)
        return NULL;
    const uint8_t *kind = at + 2 + at[1], *start = kind + KIND, *stop = start + TIME;
    if (kind[0] != PLAIN_TAG(6, WIRE_VARINT) || kind[1] >= 0x80 ||
        start[0] != PLAIN_TAG(7, WIRE_I64) || stop[0] != PLAIN_TAG(8, WIRE_I64))
        return NULL;
    note->kind = kind[1];
    start++, stop++;
    (void)(take_fixed64(&start, end, &note->start_ns) && take_fixed64(&stop, end, &note->end_ns));
    return stop;
}

/* Whether the span is plain. The note is then usable, unless the span has to be read for
 * correlation. */
static inline bool otlp_plain_look(struct view body, struct otlp_span_note *note)
{
    const uint8_t *at = body.data, *end = at + body.size, *name = at, *behind;
    bool good = true, trace_id = false, small = true, status = false;
    struct attribute_run run = {0};
    struct range part;
    *note = (struct otlp_span_note){0};
    if ((behind = take_ids(at, end, note))) {
        trace_id = true;
        at = behind;
    }
    if ((behind = take_name_to_end(at, end, note))) {
        name = at;
        at = behind;
    }
    while (good && at < end)
        switch (*at++) {
        case PLAIN_TAG(1, WIRE_LEN):
            good = trace_id = take_trace_id(&at, end);
            break;
        case PLAIN_TAG(2, WIRE_LEN):
            good = take_span_id(&at, end, &note->id);
            break;
        case PLAIN_TAG(5, WIRE_LEN):
            name = at - 1;
            good = otlp_plain_take(&at, end, &part);
            break;
        case PLAIN_TAG(3, WIRE_LEN): /* trace state */
            good = otlp_plain_take(&at, end, &part);
            break;
        case PLAIN_TAG(4, WIRE_LEN): /* parent */
            good = take_other_id(&at, end, SPAN_ID_SIZE, &note->parent);
            break;
        case PLAIN_TAG(6, WIRE_VARINT):
            good = take_kind(&at, end, &note->kind, &small);
            break;
        case PLAIN_TAG(10, WIRE_VARINT): /* dropped counts: attributes, events, links */
        case PLAIN_TAG(12, WIRE_VARINT):
        case PLAIN_TAG(14, WIRE_VARINT):
            good = skip_varint(&at, end);
            break;
        case PLAIN_TAG(7, WIRE_I64):
            good = take_fixed64(&at, end, &note->start_ns);
            break;
        case PLAIN_TAG(8, WIRE_I64):
            good = take_fixed64(&at, end, &note->end_ns);
            break;
        case PLAIN_TAG(9, WIRE_LEN):
            good = take_attributes(&at, end, &run);
            break;
        case PLAIN_TAG(11, WIRE_LEN):
            good = otlp_plain_take(&at, end, &part) && plain_event(part);
            break;
        case PLAIN_TAG(13, WIRE_LEN):
            good = otlp_plain_take(&at, end, &part) && plain_link(part);
            break;
        case PLAIN_TAG(15, WIRE_LEN):
            good = !status && otlp_plain_take(&at, end, &part) && plain_status(part);
            status = true;
            break;
        case 0x80 | (16 & 15) << 3 | WIRE_I32: /* flags, 16: the second byte of the tag is 1 */
            good = at < end && *at++ == 1 && take_flags(&at, end, &note->flags);
            break;
        default:
            good = false;
        }
    good = good && trace_id && note->id;
    note->usable = good && small && !run.marked;
    if (good && run.end && !run.scattered && body.size <= UINT16_MAX) {
        note->attributes = (uint16_t)(run.at - body.data);
        note->attributes_end = (uint16_t)(run.end - body.data);
        note->name = (uint16_t)(name - body.data);
    }
    return good;
}

bool otlp_span_check(struct view body, void *notes)
{
    struct otlp_span_note note;
    bool plain = otlp_plain_look(body, &note);
    if (notes)
        otlp_notes_add(notes, body, &note);
    return plain;
}
