/*
 * AnyValue read from wire form and written to it, one level at a time: the elements of a list or a
 * map stay in wire form. Field numbers: opentelemetry-proto 1.11 common.proto. Pure; bytes come
 * from an arena.
 */
#ifndef LIB_WIRE_VALUE_VALUE_H
#define LIB_WIRE_VALUE_VALUE_H

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/wire/proto/proto_plain.h"

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

/* The string of an AnyValue's body if it is shorter than 128 bytes, as most are. Data NULL: another
 * value. */
static inline struct view value_short_text(struct view any)
{
    if (any.size < 2 || any.data[0] != PLAIN_TAG(1, WIRE_LEN) || any.data[1] >= 0x80 ||
        any.data[1] != any.size - 2)
        return (struct view){0};
    return (struct view){any.data + 2, any.size - 2};
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

/* Lists and maps in one another: with that many, an attribute of any record is still within
 * PROTO_MAX_DEPTH, of which a map takes three. */
enum { VALUE_MAX_DEPTH = 100 };

/* Whether the value is nested no deeper than that. */
bool value_is_shallow(const struct value *value);

/* The value as text, as the Collector's AsString: texts as they are, maps and lists as JSON with
 * sorted keys, or as nothing with a NaN or an infinity in them, bytes as base64. Data NULL: no
 * room. */
struct view value_text(const struct value *value, struct arena *arena);

/* The value as JSON, as OTTL's converters have it: < > & are escaped, and an exponent has two
 * digits. not_json: a NaN or an infinity is in it, for which they fail. */
struct view value_ottl_text(const struct value *value, struct arena *arena, bool *not_json);

/* The shortest text that reads back as the number, as JavaScript writes it. */
size_t value_number_text(double number, char out[40]);

/* The same without an exponent, whatever the number: up to 400 characters. */
size_t value_decimal_text(double number, char out[400]);

/* Appends the value as JSON. False: out is full. */
bool value_json(const struct value *value, struct bytes *out);

enum { VALUE_WHY_SIZE = 100 };

/* What JSON text says: objects as MAP, arrays as LIST, numbers as DOUBLE. False: `why` says what
 * was expected and at which byte, or that there is no room. */
bool value_from_json(struct view text, struct arena *arena, struct value *value,
                     char why[VALUE_WHY_SIZE]);

/* The next element of a LIST's body; scan begins as proto_scan_begin(body). False: no more. */
bool value_next(struct proto_scan *scan, struct value *value);

/* Appends the element to what is to be a LIST's body. False: out is full. */
bool value_append(struct bytes *out, const struct value *value);

#endif
