/*
 * A message with attributes under edit: a resource, scope, span, span event, log record, metric or
 * data point. Fields are read from the bytes as they came; what is set lies over them; what nobody
 * sets is copied as it is, unknown fields too. Pure; bytes come from the arena. One thread.
 */
#ifndef LIB_WIRE_EDIT_RECORD_H
#define LIB_WIRE_EDIT_RECORD_H

#include "lib/wire/profiles/otlp_profiles.h"
#include "lib/wire/value/attributes.h"
#include "lib/wire/value/key_sieve.h"

enum { RECORD_FIELDS_MAX = 16, RECORD_PLACES = 17 };

struct record_piece {
    const uint8_t *from, *to; /* in the body */
    struct view text;
};

/* What a check saw of a body, so that less of it need be read: see struct otlp_span_note. */
struct record_note {
    struct view attributes; /* all of them, with lengths of one byte; data NULL: nothing is known */
    uint32_t number;        /* of a field whose last one is known */
    const uint8_t *field;   /* its tag; NULL: none is known */
    uint32_t times_from;    /* number of two fixed64 fields, one after the other, that are known */
    uint64_t times[2];      /* their values, of the last ones; 0 where there is none */
};

/* Where the fields are that are no attributes. */
struct record_places {
    uint32_t of[RECORD_PLACES]; /* offset + 1 of the last field of a number; 0: absent */
    bool found;                 /* false: nobody has asked for more than the note knows */
};

struct record {
    struct proto_field field; /* of the enclosing message; start NULL: it is not there */
    struct view body;
    uint32_t list;                            /* number of its attributes; 0: it has none */
    const struct otlp_dictionary *dictionary; /* of profiles with references; NULL: none */
    struct arena *arena;
    struct attributes attributes;  /* once read */
    struct attributes spare;       /* memory for reading those that the sieve held back */
    const struct key_cells *cells; /* attributes lacks some that do not pass; NULL: it has all */
    struct {
        uint32_t number;
        struct view text; /* whole fields in its place; empty: none */
    } fields[RECORD_FIELDS_MAX];
    size_t field_count;
    struct record_piece *pieces; /* children that change, in order */
    size_t piece_count, piece_room;
    struct record_note note;
    struct record_places *places;
    bool indexed; /* places and attributes are those of the body */
    bool read;    /* the attributes, for an edit */
    bool changed; /* a field or a child */
    bool failed;  /* no room: the edit has failed */
};

/* field NULL: the message is not there; setting makes it. */
void record_begin(struct record *record, const struct proto_field *field, uint32_t list,
                  const struct otlp_dictionary *dictionary, struct arena *arena);

/* Finds all fields and attributes in one scan, for what reads several of them; otherwise each
 * reading is a scan of its own. cells: short attributes that do not pass are left out until all are
 * wanted; borrowed; NULL, or a record with a dictionary: none is. noted: record->note says what is
 * known of the body. Of a zeroed record, or one that was begun before with the same arena. */
void record_index(struct record *record, const struct key_cells *cells, bool noted);

enum { RECORD_SHORT_MAX = 127 }; /* bytes of a KeyValue that a sieve may hold back */

/* Its attributes, read at the first call. */
struct attributes *record_attributes(struct record *record);

/* The same, but those that record_index left out may be missing: for what looks for keys that pass
 * its cells. */
static inline struct attributes *record_sought(struct record *record)
{
    if (!record->cells)
        return record_attributes(record);
    record->read = true;
    return &record->attributes;
}

/* The same as record_find, wherever the attribute is. */
const struct attribute *record_search(struct record *record, struct view key);

/* The first with a key; NULL: none. */
static inline const struct attribute *record_find(struct record *record, struct view key)
{
    struct attributes *list = &record->attributes;
    const uint8_t cell = record->cells ? record->cells->of[key_mark_of(key)] : 0;
    return cell && list->cells ? attributes_in_cell(list, cell, key) : record_search(record, key);
}

/* The same as its value. False: absent. */
bool record_attribute(struct record *record, struct view key, struct value *value);

/* A field as it is now, the last one of its number. False: absent. */
bool record_get(const struct record *record, uint32_t number, struct proto_field *field);

/* The same as record_string, wherever the field is. */
struct view record_read_string(const struct record *record, uint32_t number);

/* The content of a text field as it is now; empty: absent. */
static inline struct view record_string(const struct record *record, uint32_t number)
{
    const struct record_note *note = &record->note;
    if (record->indexed && !record->field_count && note->attributes.data && note->field &&
        note->number == number && note->field[1] < 0x80)
        return (struct view){note->field + 2, note->field[1]};
    return record_read_string(record, number);
}

/* The value of a fixed64 field as it is now; 0: absent. */
uint64_t record_fixed64(const struct record *record, uint32_t number);

/* Sets a field; where others stand in the way, as of a oneof, record_clear takes them away. */
void record_set_varint(struct record *record, uint32_t number, uint64_t value);
void record_set_fixed64(struct record *record, uint32_t number, uint64_t value);
void record_set_fixed32(struct record *record, uint32_t number, uint32_t value);
void record_set_bytes(struct record *record, uint32_t number, struct view bytes);
void record_clear(struct record *record, uint32_t number);

/* Whole fields, of one number, in place of all that have it. */
void record_set_fields(struct record *record, uint32_t number, struct view text);

/* Replaces a stretch of the body that holds children; in order of their places. */
void record_replace(struct record *record, const uint8_t *from, const uint8_t *to,
                    struct view text);

/* Whether anything was set. */
bool record_changed(const struct record *record);

/* The body as it is now. Data NULL: no room. */
struct view record_body(struct record *record);

/* The same as field `number`, tag and length included. */
struct view record_field(struct record *record, uint32_t number);

#endif
