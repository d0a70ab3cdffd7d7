#include "lib/wire/edit/record.h"

#include "lib/wire/profiles/otlp_label.h"
#include "lib/wire/proto/plain_key_value.h"

#include <endian.h>

enum { ANY_STRINDEX = 8, FIRST_PIECES = 8 };

void record_begin(struct record *record, const struct proto_field *field, uint32_t list,
                  const struct otlp_dictionary *dictionary, struct arena *arena)
{
    static const uint8_t nothing[1];
    record->field = field ? *field : (struct proto_field){0};
    record->body = field ? field->bytes : (struct view){nothing, 0};
    record->list = list;
    record->dictionary = dictionary;
    record->arena = arena;
    record->field_count = record->piece_count = record->piece_room = 0;
    record->pieces = NULL;
    record->cells = NULL;
    record->read = record->changed = record->failed = record->indexed = false;
}

/* The end of a field's content that begins at `at`, in the form that SDKs write. NULL: another. */
static inline const uint8_t *content_end(const uint8_t *at, const uint8_t *end, unsigned type)
{
    const uint8_t *behind;
    switch (type) {
    case WIRE_VARINT:
        return plain_varint_end(at, end);
    case WIRE_I64:
        return end - at >= 8 ? at + 8 : NULL;
    case WIRE_LEN:
        return plain_content(at, end, &behind) ? behind : NULL;
    case WIRE_I32:
        return end - at >= 4 ? at + 4 : NULL;
    default:
        return NULL;
    }
}

/* The end of an attribute whose lengths have one byte each, and its key's size. NULL: it has
 * another form, or is none; noted: all up to the end have it. */
static inline const uint8_t *short_end(const uint8_t *from, const uint8_t *end, bool noted,
                                       uint8_t tag, size_t *key_size)
{
    if (!noted)
        return plain_short_attribute(from, end - PLAIN_ATTRIBUTE_MIN, tag, key_size);
    if (from == end)
        return NULL;
    *key_size = from[3];
    return from + 2 + from[1];
}

/* Reads attributes from a tag of the list on, up to the first that is none, has another form than
 * lengths of one byte each, has no room, or, unless noted, is the last; those that do not pass are
 * passed over. What is written may alias all else, hence the copies; inlined, as it tests nothing
 * of cells and noted in its loop then. */
static inline __attribute__((always_inline)) const uint8_t *
index_short(struct attributes *list, const struct key_cells *cells, const uint8_t *start,
            const uint8_t *end, bool noted, uint8_t tag)
{
    struct attribute *item = list->items, *full = item;
    uint8_t *marks = list->marks;
    const uint8_t *from = start, *behind;
    size_t key, count = list->count;
    if (end - start < PLAIN_ATTRIBUTE_MIN)
        return start;
    if (item) {
        item += count;
        full += list->capacity;
    }
    for (; (behind = short_end(from, end, noted, tag, &key)); from = behind) {
        const uint8_t mark = key_mark(key, from[3 + key]), cell = cells ? cells->of[mark] : 0;
        if (cells && !cell)
            continue;
        if (item == full)
            break;
        marks[count++] = mark;
        if (cells && list->first[cell])
            list->shared = true;
        else if (cells)
            list->first[cell] = (uint8_t)count;
        item->key = (struct view){from + 4, key};
        item->any = view_between(from + 6 + key, behind);
        item->source = view_between(from, behind);
        item->changed = item->gone = false;
        item++;
    }
    list->count = count;
    return from;
}

/* Reads attributes from a tag of the list on. NULL: the first has another form, or there is no
 * room. */
static inline __attribute__((always_inline)) const uint8_t *
index_attributes(struct attributes *list, const struct key_cells *cells, const uint8_t *start,
                 const uint8_t *end, bool noted)
{
    const uint8_t *at = cells ? index_short(list, cells, start, end, noted, *start)
                              : index_short(list, NULL, start, end, noted, *start);
    if (at != start)
        return at;
    const uint8_t *behind, *content = plain_content(start + 1, end, &behind);
    if (!content ||
        !attributes_append(list, view_between(content, behind), view_between(start, behind)))
        return NULL;
    return behind;
}

/* Reads all attributes of a stretch that is known to have the form of short_end. NULL: no room. */
static inline const uint8_t *index_noted(struct attributes *list, const struct key_cells *cells,
                                         struct view noted)
{
    const uint8_t *at = noted.data, *end = at + noted.size;
    if (cells && !cells->count)
        return end;
    while (at && at < end)
        at = index_attributes(list, cells, at, end, true);
    return at;
}

/* One field that is no attribute. */
static inline const uint8_t *index_field(const struct record *record, const uint8_t *start,
                                         const uint8_t *end)
{
    const uint8_t *at = start;
    uint32_t tag = *at++, number = tag >> 3;
    if (tag >= 0x80) {
        if (at == end || *at >= 0x80)
            return NULL;
        number = (number & 15) | (uint32_t)*at++ << 4;
    }
    if (number < RECORD_PLACES)
        record->places->of[number] = (uint32_t)(start - record->body.data) + 1;
    return content_end(at, end, tag & 7);
}

/* An empty list, whose memory stays. */
static inline void begin_list(struct record *record, const struct key_cells *cells)
{
    struct attributes *list = &record->attributes;
    list->arena = record->arena;
    list->list = record->list;
    list->count = list->searches = 0;
    list->index = NULL;
    list->cells = cells;
    list->changed = list->failed = list->partial = list->shared = false;
    if (cells)
        memset(list->first, 0, sizeof list->first);
}

/* Finds what is in a body of which nothing is known. False: it is in another form. */
static __attribute__((noinline)) bool find_fields(struct record *record,
                                                  const struct key_cells *cells)
{
    const uint8_t *at = record->body.data, *end = at + record->body.size;
    const int attribute = record->list ? PLAIN_TAG(record->list, WIRE_LEN) : -1;
    memset(record->places->of, 0, sizeof record->places->of);
    if (record->body.size >= UINT32_MAX)
        return false;
    while (at && at < end)
        at = *at == attribute ? index_attributes(&record->attributes, cells, at, end, false)
                              : index_field(record, at, end);
    return at;
}

/* Finds what is in the body; cells as those of record_index. False: it is in another form. */
static inline bool index_body(struct record *record, const struct key_cells *cells)
{
    const bool noted = record->note.attributes.data;
    begin_list(record, cells);
    record->places->found = !noted;
    bool found = noted ? index_noted(&record->attributes, cells, record->note.attributes) != NULL
                       : find_fields(record, cells);
    if (!found || record->attributes.count >= UINT8_MAX)
        record->attributes.cells = NULL;
    return found;
}

void record_index(struct record *record, const struct key_cells *cells, bool noted)
{
    if (record->dictionary)
        cells = NULL;
    if (!noted)
        record->note.attributes.data = NULL;
    if (!record->places)
        record->places = arena_array_raw(record->arena, 1, sizeof *record->places);
    record->indexed = record->places && index_body(record, cells);
    record->cells = record->indexed ? cells : NULL;
}

/* Reads the attributes that were left out into their places among the others. */
static void complete(struct record *record)
{
    struct attributes some = record->attributes, *list = &record->attributes;
    size_t old = 0;
    *list = record->spare;
    record->spare = some;
    record->cells = NULL;
    if (!index_body(record, NULL)) {
        list->failed = list->partial = true;
        record->failed = record->read = true;
        return;
    }
    for (size_t i = 0; i < list->count && old < some.count; i++)
        if (list->items[i].source.data == some.items[old].source.data)
            list->items[i] = some.items[old++];
    for (; old < some.count && attributes_take(list, &some.items[old]); old++)
        ;
    list->changed = some.changed;
    list->failed = some.failed || old < some.count;
    list->partial = some.partial || old < some.count;
}

/* A key or a text that is a reference into the dictionary is read as what it stands for. */
static void resolve(struct record *record)
{
    for (size_t i = 0; i < record->attributes.count; i++) {
        struct attribute *item = &record->attributes.items[i];
        struct proto_scan scan = proto_scan_begin(item->source);
        struct proto_field field, index;
        if (!proto_scan_next(&scan, &field))
            continue;
        attributes_name(&record->attributes, item, otlp_label_key(record->dictionary, field.bytes));
        if (!proto_find(item->any, ANY_STRINDEX, WIRE_VARINT, &index))
            continue;
        struct value text = value_string(otlp_dictionary_value(record->dictionary, field.bytes));
        item->any = value_any(&text, record->arena);
        record->failed = record->failed || !item->any.data;
    }
}

/* Into the memory that record_index has used, if there is any. */
static void read_attributes(struct record *record)
{
    if (!record->places) {
        attributes_read(&record->attributes, record->body, record->list, record->arena);
        return;
    }
    record->attributes.arena = record->arena;
    record->attributes.list = record->list;
    attributes_read_again(&record->attributes, record->body);
}

struct attributes *record_attributes(struct record *record)
{
    if (!record->read) {
        record->read = true;
        if (!record->indexed)
            read_attributes(record);
        if (record->dictionary)
            resolve(record);
    }
    if (record->cells)
        complete(record);
    return &record->attributes;
}

__attribute__((noinline)) const struct attribute *record_search(struct record *record,
                                                                struct view key)
{
    bool passes = record->cells && record->cells->of[key_mark_of(key)];
    bool there = passes || (record->indexed && !record->cells && !record->dictionary);
    return attributes_find(there ? &record->attributes : record_attributes(record), key);
}

bool record_attribute(struct record *record, struct view key, struct value *value)
{
    const struct attribute *found = record_find(record, key);
    if (found)
        *value = value_read(found->any);
    return found;
}

/* Finds the fields beside the attributes that the note knows, in the form that a note vouches for.
 */
static __attribute__((noinline)) void index_beside(const struct record *record)
{
    const struct view *known = &record->note.attributes;
    const uint8_t *at = record->body.data, *end = at + record->body.size;
    memset(record->places->of, 0, sizeof record->places->of);
    while (at && at < end)
        at = at == known->data ? at + known->size : index_field(record, at, end);
    record->places->found = true;
}

/* The last of its number in what was set, or in the body. */
static __attribute__((noinline)) bool find_field(const struct record *record, uint32_t number,
                                                 struct proto_field *field)
{
    struct view from = record->body;
    bool found = false;
    for (size_t i = 0; i < record->field_count; i++)
        if (record->fields[i].number == number)
            from = record->fields[i].text;
    struct proto_scan scan = proto_scan_begin(from);
    struct proto_field each;
    while (proto_scan_next(&scan, &each))
        if (each.number == number) {
            *field = each;
            found = true;
        }
    return found;
}

static bool is_set(const struct record *record, uint32_t number)
{
    for (size_t i = 0; i < record->field_count; i++)
        if (record->fields[i].number == number)
            return true;
    return false;
}

/* Where the last field of a number begins in an indexed body. NULL: absent. */
static inline const uint8_t *place_of(const struct record *record, uint32_t number)
{
    const struct record_note *note = &record->note;
    if (!record->places->found) {
        if (note->field && number == note->number)
            return note->field;
        index_beside(record);
    }
    uint32_t place = record->places->of[number];
    return place ? record->body.data + place - 1 : NULL;
}

bool record_get(const struct record *record, uint32_t number, struct proto_field *field)
{
    if (!record->indexed || number >= RECORD_PLACES || number == record->list ||
        is_set(record, number))
        return find_field(record, number, field);
    const uint8_t *at = place_of(record, number);
    if (!at)
        return false;
    struct proto_scan scan = {at, record->body.data + record->body.size, false};
    return plain_fixed64(at, scan.end, field) || proto_scan_next(&scan, field);
}

__attribute__((noinline)) struct view record_read_string(const struct record *record,
                                                         uint32_t number)
{
    struct proto_field field;
    return record_get(record, number, &field) ? field.bytes : VIEW("");
}

uint64_t record_fixed64(const struct record *record, uint32_t number)
{
    const struct record_note *note = &record->note;
    struct proto_field field;
    if (record->indexed && note->attributes.data && number - note->times_from < 2 &&
        !is_set(record, number))
        return note->times[number - note->times_from];
    return record_get(record, number, &field) ? field.value : 0;
}

void record_set_fields(struct record *record, uint32_t number, struct view text)
{
    size_t i = 0;
    while (i < record->field_count && record->fields[i].number != number)
        i++;
    if (i == RECORD_FIELDS_MAX) {
        record->failed = true;
        return;
    }
    record->fields[i].number = number;
    record->fields[i].text = text;
    record->field_count += i == record->field_count;
    record->changed = true;
}

static void set_made(struct record *record, uint32_t number, const uint8_t *text, size_t size)
{
    uint8_t *kept = arena_array_raw(record->arena, size, 1);
    if (kept)
        memcpy(kept, text, size);
    record->failed = record->failed || !kept;
    if (kept)
        record_set_fields(record, number, (struct view){kept, size});
}

void record_set_varint(struct record *record, uint32_t number, uint64_t value)
{
    uint8_t text[20], *end = proto_varint_put(text, proto_tag(number, WIRE_VARINT));
    end = proto_varint_put(end, value);
    set_made(record, number, text, (size_t)(end - text));
}

static void set_fixed(struct record *record, uint32_t number, enum wire_type type, uint64_t value,
                      unsigned size)
{
    uint8_t text[20], *end = proto_varint_put(text, proto_tag(number, type));
    for (unsigned i = 0; i < size; i++)
        *end++ = (uint8_t)(value >> (8 * i));
    set_made(record, number, text, (size_t)(end - text));
}

void record_set_fixed64(struct record *record, uint32_t number, uint64_t value)
{
    set_fixed(record, number, WIRE_I64, value, 8);
}

void record_set_fixed32(struct record *record, uint32_t number, uint32_t value)
{
    set_fixed(record, number, WIRE_I32, value, 4);
}

void record_set_bytes(struct record *record, uint32_t number, struct view bytes)
{
    size_t size = proto_len_size(number, bytes.size);
    uint8_t *text = arena_array_raw(record->arena, size, 1);
    record->failed = record->failed || !text;
    if (!text)
        return;
    proto_bytes_put(proto_len_put(text, number, bytes.size), bytes);
    record_set_fields(record, number, (struct view){text, size});
}

void record_clear(struct record *record, uint32_t number)
{
    struct proto_field field;
    if (record_get(record, number, &field))
        record_set_fields(record, number, (struct view){0});
}

void record_replace(struct record *record, const uint8_t *from, const uint8_t *to, struct view text)
{
    if (record->piece_count == record->piece_room) {
        size_t room = record->piece_room ? 2 * record->piece_room : FIRST_PIECES;
        struct record_piece *pieces = arena_array_raw(record->arena, room, sizeof *pieces);
        record->failed = record->failed || !pieces;
        if (!pieces)
            return;
        if (record->piece_count)
            memcpy(pieces, record->pieces, record->piece_count * sizeof *pieces);
        record->pieces = pieces;
        record->piece_room = room;
    }
    record->pieces[record->piece_count++] = (struct record_piece){from, to, text};
    record->changed = true;
}

bool record_changed(const struct record *record)
{
    return record->changed || (record->read && record->attributes.changed);
}

static bool overlaid(const struct record *record, uint32_t number)
{
    return is_set(record, number) ||
           (number == record->list && record->read && record->attributes.changed);
}

/* Bytes that what was set takes. */
static size_t set_size(const struct record *record)
{
    size_t size = 0;
    for (size_t i = 0; i < record->field_count; i++)
        size += record->fields[i].text.size;
    for (size_t i = 0; i < record->piece_count; i++)
        size += record->pieces[i].text.size;
    if (record->list && record->read && record->attributes.changed)
        size += attributes_size(&record->attributes, record->list);
    return size;
}

/* Copies what nobody set, with the children in their places. */
static uint8_t *put_kept(uint8_t *out, const struct record *record)
{
    struct proto_scan scan = proto_scan_begin(record->body);
    struct proto_field field;
    const uint8_t *from = record->body.data; /* what is copied next */
    const struct record_piece *next = record->pieces;
    size_t left = record->piece_count;
    while (proto_scan_next(&scan, &field)) {
        bool child = left && next->from == field.start;
        if (!child && !overlaid(record, field.number))
            continue;
        out = proto_bytes_put(out, view_between(from, field.start));
        from = field.end;
        if (child) {
            out = proto_bytes_put(out, next->text);
            next++;
            left--;
        }
    }
    return proto_bytes_put(out, view_between(from, record->body.data + record->body.size));
}

/* Writes what record_body says, which set_size + body has room for. */
static uint8_t *put_body(uint8_t *out, const struct record *record)
{
    out = put_kept(out, record);
    for (size_t i = 0; i < record->field_count; i++)
        out = proto_bytes_put(out, record->fields[i].text);
    if (record->list && record->read && record->attributes.changed)
        out = attributes_put(out, &record->attributes, record->list);
    return out;
}

/* Room for the body behind `head` bytes. NULL: the edit has failed. */
static uint8_t *body_room(struct record *record, size_t head, size_t size)
{
    uint8_t *start = arena_array_raw(record->arena, head + size + 1, 1);
    record->failed = record->failed || !start || (record->read && record->attributes.failed);
    return record->failed ? NULL : start;
}

/* All attributes anew need those that were held back. */
static void complete_changed(struct record *record)
{
    if (record->cells && record->read && record->attributes.changed)
        complete(record);
}

struct view record_body(struct record *record)
{
    complete_changed(record);
    if (!record_changed(record) && !record->failed)
        return record->body;
    uint8_t *start = body_room(record, 0, record->body.size + set_size(record));
    return start ? view_between(start, put_body(start, record)) : (struct view){0};
}

struct view record_field(struct record *record, uint32_t number)
{
    complete_changed(record);
    size_t size = record->body.size + set_size(record);
    size_t head = proto_len_size(number, size) - size; /* at most */
    uint8_t *start = body_room(record, head, size);
    if (!start)
        return (struct view){0};
    uint8_t *body = start + head, *out = put_body(body, record);
    size_t made = (size_t)(out - body), room = proto_len_size(number, made) - made;
    proto_len_put(body - room, number, made);
    return view_between(body - room, out);
}
