/* OTLP requests from JSON (lib/wire/json/otlp_json.h). */
#include "lib/wire/json/otlp_json.h"

#include "lib/wire/http/base64.h"
#include "lib/wire/json/otlp_json_plain.h"
#include "lib/wire/json/otlp_json_value.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/proto/text.h"

#include <endian.h>
#include <stdio.h>

enum { NAME_SIZE = 64 };

/* The path of a value, for error messages; frames are on the stack. */
struct place {
    const struct place *up;
    const char *name; /* NULL: an element of the parent list */
    size_t index;
    unsigned depth;
};

struct reader {
    struct json_scan scan;
    struct bytes *out;
    struct bytes plain; /* an unescaped string */
    char *reason;
    size_t reason_size;
};

/* Appends the path to text, outermost name first; returns the new length. */
static size_t put_path(const struct place *place, char *text, size_t size)
{
    if (!place)
        return 0;
    size_t at = put_path(place->up, text, size);
    char name[NAME_SIZE];
    int more;
    if (place->name) {
        text_camel(place->name, name, sizeof name);
        more = snprintf(text + at, size - at, "%s%s", at ? "." : "", name);
    } else {
        more = snprintf(text + at, size - at, "[%zu]", place->index);
    }
    at += more > 0 ? (size_t)more : 0;
    return at < size ? at : size - 1;
}

static bool expected(struct reader *reader, const struct place *place, const char *what)
{
    char path[256] = "";
    put_path(place, path, sizeof path);
    snprintf(reader->reason, reader->reason_size, "%s: expected %s", place ? path : "the request",
             what);
    return false;
}

/* The path is cut off, and the fault named in any case. */
static bool too_deep(struct reader *reader, const struct place *place)
{
    char path[64] = "";
    put_path(place, path, sizeof path);
    snprintf(reader->reason, reader->reason_size, "%s...: %s", path, PROTO_TOO_DEEP);
    return false;
}

/* Handles the result of reserving room in out: too large is permanent, no memory is retryable. */
static bool otlp_json_read_room(struct reader *reader, enum bytes_result result)
{
    if (result == BYTES_FULL)
        snprintf(reader->reason, reader->reason_size, "the request is too large");
    return result == BYTES_OK;
}

/* Returns room for size bytes at the end of out, whose size is not changed yet; NULL: no room. */
static uint8_t *space(struct reader *reader, size_t size)
{
    struct bytes *out = reader->out;
    if (out->capacity - out->size < size && !otlp_json_read_room(reader, bytes_reserve(out, size)))
        return NULL;
    return out->data + out->size;
}

static void grown_to(struct reader *reader, const uint8_t *end)
{
    reader->out->size = (size_t)(end - reader->out->data);
}

/* Begins a LEN field: the tag and one byte for the length; *mark is the start of its content. */
static bool open_field(struct reader *reader, uint32_t number, size_t *mark)
{
    uint8_t *at = space(reader, 6);
    if (!at)
        return false;
    at = proto_varint_put(at, proto_tag(number, WIRE_LEN));
    *at++ = 0;
    grown_to(reader, at);
    *mark = reader->out->size;
    return true;
}

/* Sets the length; content of 128 bytes or more is moved to make room for it. */
static bool close_field(struct reader *reader, size_t mark)
{
    struct bytes *out = reader->out;
    size_t size = out->size - mark, more = proto_varint_size(size) - 1;
    if (!otlp_json_read_room(reader, bytes_reserve(out, more)))
        return false;
    if (more)
        memmove(out->data + mark + more, out->data + mark, size);
    proto_varint_put(out->data + mark - 1, size);
    out->size += more;
    return true;
}

/* Reads a value that is neither object nor array. False: a fault, or no room. */
static bool read_scalar(struct reader *reader, enum json_kind kind, struct json_scalar *scalar)
{
    struct json_scan *scan = &reader->scan;
    struct json_text text = {0};
    bool good = kind == JSON_KIND_STRING   ? json_scan_string(scan, &text)
                : kind == JSON_KIND_NUMBER ? json_scan_number(scan, &text)
                                           : json_scan_skip(scan);
    *scalar = (struct json_scalar){kind, text.raw};
    if (!good || !text.escaped)
        return good;
    bytes_clear(&reader->plain);
    if (!otlp_json_read_room(reader, bytes_reserve(&reader->plain, text.raw.size)))
        return false;
    reader->plain.size = json_scan_unescape(text, reader->plain.data);
    scalar->text = bytes_view(&reader->plain);
    return true;
}

static bool read_message(struct reader *reader, const struct proto_shape *shape,
                         const struct place *place);

static bool put_hex(struct reader *reader, struct view hex, const struct place *place)
{
    if (hex.size % 2)
        return expected(reader, place, "an even number of hex digits");
    uint8_t *at = space(reader, hex.size / 2);
    if (!at)
        return false;
    if (!text_hex_bytes(hex, at, hex.size / 2))
        return expected(reader, place, "hex digits");
    grown_to(reader, at + hex.size / 2);
    return true;
}

static bool put_base64(struct reader *reader, struct view text, const struct place *place)
{
    switch (base64_decode(text, reader->out)) {
    case BASE64_OK:
        return true;
    case BASE64_BAD:
        return expected(reader, place, "base64 text");
    case BASE64_FULL:
        break;
    }
    return otlp_json_read_room(reader, bytes_reserve(reader->out, text.size));
}

static bool put_string(struct reader *reader, uint32_t number, struct view text)
{
    uint8_t *at = space(reader, proto_len_size(number, text.size));
    if (at)
        grown_to(reader, proto_bytes_put(proto_len_put(at, number, text.size), text));
    return at;
}

/* Reads a string, bytes or id. */
static bool read_text(struct reader *reader, const struct proto_row *row, uint32_t number,
                      enum json_kind kind, const struct place *place)
{
    struct json_scalar scalar;
    size_t mark;
    if (kind != JSON_KIND_STRING)
        return expected(reader, place, "a string");
    if (!read_scalar(reader, kind, &scalar))
        return false;
    if (scalar.text.size == 0 && !row->presence && !row->repeated)
        return true;
    if (row->type == PROTO_TYPE_STRING)
        return put_string(reader, number, scalar.text);
    return open_field(reader, number, &mark) &&
           (row->type == PROTO_TYPE_HEX ? put_hex(reader, scalar.text, place)
                                        : put_base64(reader, scalar.text, place)) &&
           close_field(reader, mark);
}

/* Reads the next number, bool or enum as bits. */
static bool read_bits(struct reader *reader, const struct proto_row *row, enum json_kind kind,
                      const struct place *place, uint64_t *bits)
{
    struct json_scalar scalar = {.kind = kind};
    if (kind != JSON_KIND_OBJECT && kind != JSON_KIND_ARRAY && !read_scalar(reader, kind, &scalar))
        return false;
    const char *want = otlp_json_number(row, &scalar, bits);
    return !want || expected(reader, place, want);
}

static uint8_t *put_bits(uint8_t *at, enum proto_kind kind, uint64_t bits)
{
    if (kind == PROTO_VARINT || kind == PROTO_VARINTS)
        return proto_varint_put(at, bits);
    uint64_t fixed = htole64(bits);
    size_t size = kind == PROTO_FIXED32 ? 4 : 8;
    memcpy(at, &fixed, size);
    return at + size;
}

enum { LONGEST_VARINT = 10 };

static bool otlp_json_read_read_number(struct reader *reader, const struct proto_row *row,
                                       uint32_t number, enum json_kind kind,
                                       const struct place *place)
{
    enum wire_type type = row->kind == PROTO_VARINT    ? WIRE_VARINT
                          : row->kind == PROTO_FIXED32 ? WIRE_I32
                                                       : WIRE_I64;
    uint64_t bits;
    if (!read_bits(reader, row, kind, place, &bits))
        return false;
    if (bits == 0 && !row->presence)
        return true;
    uint8_t *at = space(reader, LONGEST_VARINT + LONGEST_VARINT);
    if (at)
        grown_to(reader, put_bits(proto_varint_put(at, proto_tag(number, type)), row->kind, bits));
    return at;
}

/* Reads the rest of a list of numbers as a packed field. */
static bool read_packed(struct reader *reader, const struct proto_row *row, uint32_t number,
                        const struct place *place)
{
    struct json_scan *scan = &reader->scan;
    struct place here = {place, NULL, 0, place->depth};
    bool first = true;
    size_t mark = 0;
    for (; json_scan_element(scan, &first); here.index++) {
        uint64_t bits;
        if (here.index == 0 && !open_field(reader, number, &mark))
            return false;
        if (!read_bits(reader, row, json_scan_kind(scan), &here, &bits))
            return false;
        uint8_t *at = space(reader, LONGEST_VARINT);
        if (!at)
            return false;
        grown_to(reader, put_bits(at, row->kind, bits));
    }
    return !scan->fault && (here.index == 0 || close_field(reader, mark));
}

/* Reads one value of a field, or one element of its list. */
static bool read_value(struct reader *reader, const struct proto_row *row, uint32_t number,
                       enum json_kind kind, const struct place *place)
{
    size_t mark;
    if (proto_type_is_scalar(row->type))
        return otlp_json_read_read_number(reader, row, number, kind, place);
    if (row->type != PROTO_TYPE_MESSAGE)
        return read_text(reader, row, number, kind, place);
    if (kind != JSON_KIND_OBJECT)
        return expected(reader, place, "an object");
    return open_field(reader, number, &mark) && read_message(reader, row->shape, place) &&
           close_field(reader, mark);
}

static bool otlp_json_read_read_list(struct reader *reader, const struct proto_row *row,
                                     uint32_t number, const struct place *place)
{
    struct json_scan *scan = &reader->scan;
    struct place here = {place, NULL, 0, place->depth};
    bool first = true,
         attributes = row->shape == &shape_key_value && place->depth + 1 < PROTO_MAX_DEPTH;
    for (; json_scan_element(scan, &first); here.index++) {
        if (attributes && otlp_json_plain_attribute(scan, number, reader->out))
            continue;
        if (!read_value(reader, row, number, json_scan_kind(scan), &here))
            return false;
    }
    return !scan->fault;
}

static bool otlp_json_read_read_field(struct reader *reader, const struct proto_row *row,
                                      uint32_t number, const struct place *place)
{
    enum json_kind kind = json_scan_kind(&reader->scan);
    if (kind == JSON_KIND_NULL)
        return json_scan_skip(&reader->scan);
    if (!row->repeated)
        return read_value(reader, row, number, kind, place);
    if (kind != JSON_KIND_ARRAY)
        return expected(reader, place, "a list");
    json_scan_enter(&reader->scan);
    if (row->kind == PROTO_VARINTS || row->kind == PROTO_FIXED64S)
        return read_packed(reader, row, number, place);
    return otlp_json_read_read_list(reader, row, number, place);
}

static uint8_t upper(char c)
{
    return (uint8_t)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* Whether key is the field's name, in snake_case or lowerCamelCase. */
static inline bool is_named(const struct proto_row *row, struct view key)
{
    if (key.size > row->name_size || key.size == 0 || key.data[0] != (uint8_t)row->name[0])
        return false;
    if (key.size == row->name_size)
        return memcmp(key.data, row->name, key.size) == 0;
    const uint8_t *at = key.data, *end = at + key.size;
    for (const char *name = row->name; *name; name++, at++) {
        if (at == end)
            return false;
        if (*at == (uint8_t)*name)
            continue;
        if (*name != '_' || *at != upper(name[1]))
            return false;
        name++;
    }
    return at == end;
}

/* The number of the field with this name; 0: none. Searches from `likely`, since keys are mostly in
 * the fields' order. */
static uint32_t field_of(const struct proto_shape *shape, struct view key, uint32_t likely)
{
    uint32_t number = likely;
    for (uint32_t tried = 1; tried < shape->count; tried++, number++) {
        if (number >= shape->count)
            number = 1;
        if (is_named(&shape->rows[number], key))
            return number;
    }
    return 0;
}

static bool read_member(struct reader *reader, const struct proto_shape *shape,
                        struct json_text key, const struct place *place, uint32_t *number)
{
    uint8_t name[NAME_SIZE];
    unsigned depth = place ? place->depth + 1 : 1;
    if (key.escaped && key.raw.size <= sizeof name)
        key.raw = (struct view){name, json_scan_unescape(key, name)};
    uint32_t found = field_of(shape, key.raw, *number + 1);
    if (!found) {
        json_scan_kind(&reader->scan);
        return json_scan_skip(&reader->scan);
    }
    *number = found;
    struct place here = {place, shape->rows[found].name, 0, depth};
    return otlp_json_read_read_field(reader, &shape->rows[found], found, &here);
}

/* Reads the current object. */
static bool read_message(struct reader *reader, const struct proto_shape *shape,
                         const struct place *place)
{
    struct json_text key;
    uint32_t number = 0;
    bool first = true;
    if (place && place->depth >= PROTO_MAX_DEPTH)
        return too_deep(reader, place);
    json_scan_enter(&reader->scan);
    while (json_scan_member(&reader->scan, &first, &key))
        if (!read_member(reader, shape, key, place, &number))
            return false;
    return !reader->scan.fault;
}

static bool otlp_json_read_read_request(struct reader *reader, const struct proto_shape *shape)
{
    enum json_kind kind = json_scan_kind(&reader->scan);
    if (kind == JSON_KIND_OBJECT)
        return read_message(reader, shape, NULL) && json_scan_end(&reader->scan);
    return kind != JSON_KIND_NONE && expected(reader, NULL, "an object");
}

static void add_place(struct reader *reader)
{
    size_t line, column;
    json_scan_position(&reader->scan, &line, &column);
    snprintf(reader->reason, reader->reason_size, "line %zu, column %zu: %s", line, column,
             reader->scan.fault);
}

bool otlp_json_read(enum signal signal, struct view json, struct bytes *out, char *reason,
                    size_t reason_size)
{
    struct reader reader = {
        .scan = json_scan_begin(json),
        .out = out,
        .reason = reason,
        .reason_size = reason_size,
    };
    size_t before = out->size;
    bytes_init(&reader.plain, json.size, out->budget);
    text_cut((struct view){0}, reason, reason_size);
    bool good = otlp_json_read_read_request(&reader, otlp_shape(signal));
    if (!good && reader.scan.fault)
        add_place(&reader);
    if (!good)
        out->size = before;
    bytes_release(&reader.plain);
    return good;
}
