/*
 * AnyValue and lists of KeyValue read from wire form and written to it, one level at a time: what
 * stands inside a list or a map stays in wire form. Field numbers: opentelemetry-proto 1.11
 * common.proto. Pure; bytes come from an arena.
 */
#ifndef LIB_WIRE_VALUE_VALUE_H
#define LIB_WIRE_VALUE_VALUE_H

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/wire/proto/proto_scan.h"

enum value_kind {
    VALUE_EMPTY,
    VALUE_STRING,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_DOUBLE,
    VALUE_LIST,
    VALUE_MAP,
    VALUE_BYTES
};

struct value {
    enum value_kind kind;
    union {
        struct view bytes; /* STRING, BYTES; LIST, MAP: body of ArrayValue, KeyValueList */
        bool boolean;
        int64_t integer;
        double number;
    };
};

static inline struct value value_string(struct view text)
{
    return (struct value){.kind = VALUE_STRING, .bytes = text};
}

static inline struct value value_int(int64_t integer)
{
    return (struct value){.kind = VALUE_INT, .integer = integer};
}

/* The value in an AnyValue's body. */
struct value value_read(struct view any);

/* Bytes of an AnyValue's body, and their writing. */
size_t value_size(const struct value *value);
uint8_t *value_put(uint8_t *out, const struct value *value);

/* An AnyValue's body in the arena. Data NULL: no room. */
struct view value_any(const struct value *value, struct arena *arena);

/* Equal in type and content; maps whatever their order. */
bool value_equal(const struct value *a, const struct value *b);

/* The value as text, as the Collector shows it: texts as they are, maps and lists as JSON with
 * sorted keys, bytes as base64. Data NULL: no room. */
struct view value_text(const struct value *value, struct arena *arena);

/* The shortest text that reads back as the number, as JavaScript writes it. */
size_t value_number_text(double number, char out[40]);

/* The same without an exponent, whatever the number: up to 400 characters. */
size_t value_decimal_text(double number, char out[400]);

/* Appends the value as JSON. False: out is full. */
bool value_json(const struct value *value, struct bytes *out);

/* What JSON text says: objects as MAP, arrays as LIST, numbers as DOUBLE. False: no JSON, or no
 * room. */
bool value_from_json(struct view text, struct arena *arena, struct value *value);

/* The next element of a LIST's body; scan begins as proto_scan_begin(body). False: no more. */
bool value_next(struct proto_scan *scan, struct value *value);

/* Appends the element to what is to be a LIST's body. False: out is full. */
bool value_append(struct bytes *out, const struct value *value);

/* One KeyValue in a list that is being edited. */
struct attribute {
    struct view key;
    struct view any;    /* body of its AnyValue */
    struct view source; /* the field as it came, tag included; data NULL: it is new */
    bool changed;       /* `any` is not the source's */
    struct view made;   /* if changed: the field with this key and value; data NULL: not made yet */
    bool gone;
};

/* The KeyValues of one message, in order. */
struct attributes {
    struct attribute *items;
    uint8_t *key_sizes;      /* of the items, at most 255: what attributes_find looks at first */
    uint32_t list, searches; /* number of their field; searches of a long list */
    struct attribute_index *index; /* NULL: none */
    size_t count, capacity;
    struct arena *arena;
    bool changed;
    bool failed;  /* the arena had no room: nothing more is done */
    bool partial; /* some are missing until more are added: then a failure loses them */
};

/* Reads field `list` of a message. */
void attributes_read(struct attributes *attributes, struct view message, uint32_t list,
                     struct arena *arena);

/* Appends what a field of the list has, if it is in the form that SDKs write; key and value are
 * borrowed. False: it is not, or there is no room. */
bool attributes_append(struct attributes *attributes, struct view body, struct view source);

/* Room for more of them. False: there is none. */
bool attributes_grow(struct attributes *attributes);

/* The first one with the key; NULL: none. A long list that is searched often gets an index. */
struct attribute *attributes_find(struct attributes *attributes, struct view key);
bool attributes_get(struct attributes *attributes, struct view key, struct value *value);

/* Sets, adding where it is absent. The bytes of key and value are borrowed until the list is
 * written. */
void attributes_set(struct attributes *attributes, struct view key, const struct value *value);
void attributes_change(struct attributes *attributes, struct attribute *attribute,
                       const struct value *value);

/* The same with the body of an AnyValue, which is borrowed too. add: where the key is absent; NULL:
 * no room. */
struct attribute *attributes_add(struct attributes *attributes, struct view key, struct view any);
void attributes_set_any(struct attributes *attributes, struct view key, struct view any);
void attributes_change_any(struct attributes *attributes, struct attribute *attribute,
                           struct view any);
bool attributes_delete(struct attributes *attributes, struct view key);
void attributes_remove(struct attributes *attributes, struct attribute *attribute);

/* What its key, a reference, stands for; its bytes stay as they came. */
void attributes_name(struct attributes *attributes, struct attribute *attribute, struct view key);

/* How many there are. */
size_t attributes_count(const struct attributes *attributes);

/* Bytes as field `list` of a message, and their writing. */
size_t attributes_size(const struct attributes *attributes, uint32_t list);
uint8_t *attributes_put(uint8_t *out, const struct attributes *attributes, uint32_t list);

/* One as field `list`, the number that it was read with, in the arena unless it was made before.
 * Data NULL: no room. */
struct view attributes_field(const struct attribute *attribute, uint32_t list, struct arena *arena);

/* The list as a MAP; bytes NULL: no room. */
struct value attributes_map(const struct attributes *attributes);

#endif
