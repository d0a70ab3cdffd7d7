/*
 * A message with attributes under edit: a resource, scope, span, span event, log record, metric or
 * data point. Fields are read from the bytes as they came; what is set lies over them; what nobody
 * sets is copied as it is, unknown fields too. Pure; bytes come from the arena. One thread.
 */
#ifndef LIB_WIRE_EDIT_RECORD_H
#define LIB_WIRE_EDIT_RECORD_H

#include "lib/wire/profiles/otlp_profiles.h"
#include "lib/wire/value/value.h"

enum { RECORD_FIELDS_MAX = 16, RECORD_PLACES = 17 };

struct record_piece {
    const uint8_t *from, *to; /* in the body */
    struct view text;
};

struct record {
    struct proto_field field; /* of the enclosing message; start NULL: it is not there */
    struct view body;
    uint32_t list;                            /* number of its attributes; 0: it has none */
    const struct otlp_dictionary *dictionary; /* of profiles with references; NULL: none */
    struct arena *arena;
    struct attributes attributes; /* once read */
    struct {
        uint32_t number;
        struct view text; /* whole fields in its place; empty: none */
    } fields[RECORD_FIELDS_MAX];
    size_t field_count;
    struct record_piece *pieces; /* children that change, in order */
    size_t piece_count, piece_room;
    uint32_t places[RECORD_PLACES]; /* if indexed: offset + 1 of the last field of a number */
    bool indexed;                   /* places and attributes are those of the body */
    bool read;                      /* the attributes, for an edit */
    bool changed;                   /* a field or a child */
    bool failed;                    /* no room: the edit has failed */
};

/* field NULL: the message is not there; setting makes it. */
void record_begin(struct record *record, const struct proto_field *field, uint32_t list,
                  const struct otlp_dictionary *dictionary, struct arena *arena);

/* Finds all fields and attributes in one scan, for what reads several of them; otherwise each
 * reading is a scan of its own. Of a zeroed record, or one that was begun before with the same
 * arena. */
void record_index(struct record *record);

/* Its attributes, read at the first call. */
struct attributes *record_attributes(struct record *record);

/* The value of one of them, for which a list that was not read yet is not. False: absent. */
bool record_attribute(struct record *record, struct view key, struct value *value);

/* The same as the body of its AnyValue. */
bool record_attribute_any(struct record *record, struct view key, struct view *any);

/* A field as it is now, the last one of its number. False: absent. */
bool record_get(const struct record *record, uint32_t number, struct proto_field *field);

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
