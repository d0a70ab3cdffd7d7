/*
 * What a note may say about where the parts of a span are, found by a scan of all of its fields.
 * For fuzz targets too, so without the library.
 */
#ifndef TESTS_SUPPORT_NOTE_REFERENCE_H
#define TESTS_SUPPORT_NOTE_REFERENCE_H

#include "lib/wire/otlp/otlp_span.h"

/* Whether tag and length have one byte each. */
static inline bool has_short_head(const struct proto_field *field)
{
    return field->type == WIRE_LEN && field->bytes.data == field->start + 2;
}

/* Whether an attribute is a key and a value, in this order, and every length has one byte. */
static inline bool is_short_attribute(const struct proto_field *field)
{
    struct proto_scan scan = proto_scan_begin(field->bytes);
    struct proto_field key, value, more;
    return has_short_head(field) && proto_scan_next(&scan, &key) && key.number == 1 &&
           has_short_head(&key) && proto_scan_next(&scan, &value) && value.number == 2 &&
           has_short_head(&value) && !proto_scan_next(&scan, &more) && !scan.bad;
}

/* The places of a span's parts, and its times; attributes NULL: a note may not say where they are.
 */
struct note_places {
    const uint8_t *attributes, *attributes_end, *name;
    uint64_t times[2];
    bool others; /* a field that a plain span does not have */
};

static inline struct note_places note_places(struct view body)
{
    struct note_places places = {0};
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    bool together = true;
    while (proto_scan_next(&scan, &field)) {
        places.others = places.others || field.number > 16;
        if (field.number == 5)
            places.name = field.start;
        if (field.number == 7 || field.number == 8)
            places.times[field.number - 7] = field.value;
        if (field.number != 9)
            continue;
        together = together && is_short_attribute(&field) &&
                   (!places.attributes || places.attributes_end == field.start);
        if (!places.attributes)
            places.attributes = field.start;
        places.attributes_end = field.end;
    }
    if (scan.bad || !together || body.size > UINT16_MAX)
        places.attributes = NULL;
    return places;
}

/* Whether what the note says of the places is so. */
static inline bool note_places_agree(const struct otlp_span_note *note, struct view body)
{
    if (!note->attributes_end)
        return true;
    struct note_places places = note_places(body);
    size_t name = places.name ? (size_t)(places.name - body.data) : 0;
    return places.attributes && !places.others && note->name == name &&
           note->start_ns == places.times[0] && note->end_ns == places.times[1] &&
           body.data + note->attributes == places.attributes &&
           body.data + note->attributes_end == places.attributes_end;
}

/* Whether what the note says of the span is what reading it gives. */
static inline bool note_agrees(const struct otlp_span_note *note, struct view body)
{
    struct otlp_span span;
    otlp_span_read(body, &span);
    uint64_t id = span.span_id.size == 8 ? span_id_load(span.span_id.data) : 0;
    uint64_t parent = span.parent_span_id.size == 8 ? span_id_load(span.parent_span_id.data) : 0;
    return note->id == id && note->parent == parent && note->start_ns == span.start_ns &&
           note->end_ns == span.end_ns && note->flags == span.flags && note->kind == span.kind &&
           span.profile_attributes == 0 &&
           otlp_note_is_local_root(note) == otlp_span_is_local_root(&span);
}

#endif
