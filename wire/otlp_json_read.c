#include "wire/base64.h"
#include "wire/otlp.h"
#include "wire/otlp_json.h"
#include "wire/otlp_json_value.h"
#include "wire/text.h"

#include <endian.h>
#include <stdio.h>

enum { NAME_SIZE = 64 };

/* Where a value stands, for the sentence; each frame on the stack of its reader. */
struct place {
    const struct place *up;
    const char *name; /* NULL: an element of the list above */
    size_t index;
    unsigned depth;
};

struct reader {
    struct bytes *out;
    char *reason;
    size_t reason_size;
};

/* Appends the path to text from its outer end; returns the new length. */
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

static bool expected(const struct reader *reader, const struct place *place, const char *what)
{
    char path[256] = "";
    put_path(place, path, sizeof path);
    snprintf(reader->reason, reader->reason_size, "%s: expected %s", place ? path : "the request",
             what);
    return false;
}

/* Answers for what became of room in out; full is for good, no memory may pass. */
static bool room(const struct reader *reader, enum bytes_result result)
{
    if (result == BYTES_FULL)
        snprintf(reader->reason, reader->reason_size, "the request is too large");
    return result == BYTES_OK;
}

static bool put_varint(const struct reader *reader, uint64_t value)
{
    uint8_t text[10];
    struct view bytes = view_between(text, proto_varint_put(text, value));
    return room(reader, bytes_append_view(reader->out, bytes));
}

/* Begins a LEN field: tag and one byte for the length; *mark is where its content starts. */
static bool open_field(const struct reader *reader, uint32_t number, size_t *mark)
{
    if (!put_varint(reader, proto_tag(number, WIRE_LEN)) || !put_varint(reader, 0))
        return false;
    *mark = reader->out->size;
    return true;
}

/* Sets the length; content of 128 bytes and more moves on to make room for it. */
static bool close_field(const struct reader *reader, size_t mark)
{
    struct bytes *out = reader->out;
    size_t size = out->size - mark, more = proto_varint_size(size) - 1;
    if (!room(reader, bytes_reserve(out, more)))
        return false;
    if (more)
        memmove(out->data + mark + more, out->data + mark, size);
    proto_varint_put(out->data + mark - 1, size);
    out->size += more;
    return true;
}

static bool read_message(const struct reader *reader, const struct proto_shape *shape,
                         const json_t *json, const struct place *place);

static bool put_hex(const struct reader *reader, struct view hex, const struct place *place)
{
    if (hex.size % 2)
        return expected(reader, place, "an even number of hex digits");
    if (!room(reader, bytes_reserve(reader->out, hex.size / 2)))
        return false;
    for (size_t i = 0; i < hex.size; i += 2) {
        int high = text_hex_digit(hex.data[i]), low = text_hex_digit(hex.data[i + 1]);
        if (high < 0 || low < 0)
            return expected(reader, place, "hex digits");
        reader->out->data[reader->out->size++] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool put_base64(const struct reader *reader, struct view text, const struct place *place)
{
    switch (base64_decode(text, reader->out)) {
    case BASE64_OK:
        return true;
    case BASE64_BAD:
        return expected(reader, place, "base64 text");
    case BASE64_FULL:
        break;
    }
    return room(reader, bytes_reserve(reader->out, text.size));
}

static bool put_text(const struct reader *reader, const struct proto_row *row, struct view text,
                     const struct place *place)
{
    if (row->type == PROTO_TYPE_HEX)
        return put_hex(reader, text, place);
    if (row->type == PROTO_TYPE_BASE64)
        return put_base64(reader, text, place);
    return room(reader, bytes_append_view(reader->out, text));
}

/* A string, bytes or id. */
static bool read_text(const struct reader *reader, const struct proto_row *row, uint32_t number,
                      const json_t *json, const struct place *place)
{
    if (!json_is_string(json))
        return expected(reader, place, "a string");
    struct view text = {(const uint8_t *)json_string_value(json), json_string_length(json)};
    size_t mark;
    if (text.size == 0 && !row->presence && !row->repeated)
        return true;
    return open_field(reader, number, &mark) && put_text(reader, row, text, place) &&
           close_field(reader, mark);
}

static bool put_bits(const struct reader *reader, enum proto_kind kind, uint64_t bits)
{
    if (kind == PROTO_VARINT || kind == PROTO_VARINTS)
        return put_varint(reader, bits);
    uint64_t fixed = htole64(bits);
    return room(reader, bytes_append(reader->out, &fixed, kind == PROTO_FIXED32 ? 4 : 8));
}

static bool read_number(const struct reader *reader, const struct proto_row *row, uint32_t number,
                        const json_t *json, const struct place *place)
{
    uint64_t bits;
    const char *want = otlp_json_number(row, json, &bits);
    if (want)
        return expected(reader, place, want);
    if (bits == 0 && !row->presence)
        return true;
    enum wire_type type = row->kind == PROTO_VARINT    ? WIRE_VARINT
                          : row->kind == PROTO_FIXED32 ? WIRE_I32
                                                       : WIRE_I64;
    return put_varint(reader, proto_tag(number, type)) && put_bits(reader, row->kind, bits);
}

/* A list of numbers, packed. */
static bool read_packed(const struct reader *reader, const struct proto_row *row, uint32_t number,
                        const json_t *list, const struct place *place)
{
    size_t mark;
    if (json_array_size(list) == 0)
        return true;
    if (!open_field(reader, number, &mark))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct place here = {place, NULL, i, place->depth};
        uint64_t bits;
        const char *want = otlp_json_number(row, json_array_get(list, i), &bits);
        if (want)
            return expected(reader, &here, want);
        if (!put_bits(reader, row->kind, bits))
            return false;
    }
    return close_field(reader, mark);
}

/* One value of a field, or one element of its list. */
static bool read_value(const struct reader *reader, const struct proto_row *row, uint32_t number,
                       const json_t *json, const struct place *place)
{
    size_t mark;
    switch (row->type) {
    case PROTO_TYPE_MESSAGE:
        return open_field(reader, number, &mark) && read_message(reader, row->shape, json, place) &&
               close_field(reader, mark);
    case PROTO_TYPE_STRING:
    case PROTO_TYPE_BASE64:
    case PROTO_TYPE_HEX:
        return read_text(reader, row, number, json, place);
    case PROTO_TYPE_NONE:
    case PROTO_TYPE_BOOL:
    case PROTO_TYPE_INT32:
    case PROTO_TYPE_UINT32:
    case PROTO_TYPE_INT64:
    case PROTO_TYPE_UINT64:
    case PROTO_TYPE_SINT32:
    case PROTO_TYPE_DOUBLE:
    case PROTO_TYPE_ENUM:
        break;
    }
    return read_number(reader, row, number, json, place);
}

static bool read_field(const struct reader *reader, const struct proto_row *row, uint32_t number,
                       const json_t *json, const struct place *place)
{
    if (!row->repeated)
        return read_value(reader, row, number, json, place);
    if (!json_is_array(json))
        return expected(reader, place, "a list");
    if (row->kind == PROTO_VARINTS || row->kind == PROTO_FIXED64S)
        return read_packed(reader, row, number, json, place);
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct place here = {place, NULL, i, place->depth};
        if (!read_value(reader, row, number, json_array_get(json, i), &here))
            return false;
    }
    return true;
}

/* The value of a field under either spelling of its name; NULL: absent or null. */
static const json_t *field_of(const json_t *json, const char *name)
{
    char camel[NAME_SIZE];
    text_camel(name, camel, sizeof camel);
    const json_t *value = json_object_get(json, camel);
    if (!value)
        value = json_object_get(json, name);
    return json_is_null(value) ? NULL : value;
}

static bool read_message(const struct reader *reader, const struct proto_shape *shape,
                         const json_t *json, const struct place *place)
{
    unsigned depth = place ? place->depth + 1 : 1;
    if (!json_is_object(json))
        return expected(reader, place, "an object");
    if (depth > PROTO_MAX_DEPTH)
        return expected(reader, place, "less nesting");
    for (uint32_t number = 1; number < shape->count; number++) {
        const struct proto_row *row = &shape->rows[number];
        const json_t *value = row->name ? field_of(json, row->name) : NULL;
        struct place here = {place, row->name, 0, depth};
        if (value && !read_field(reader, row, number, value, &here))
            return false;
    }
    return true;
}

/* Bytes that the parsed text may take at most: jansson's structures by the signs that make them. */
static size_t parsed_size(struct view json)
{
    size_t size = 4096 + 2 * json.size;
    for (size_t i = 0; i < json.size; i++) {
        uint8_t c = json.data[i];
        size += c == '{' ? 288 : c == '[' ? 160 : c == ',' ? 128 : c == ':' ? 112 : 0;
    }
    return size;
}

static bool parse(const struct reader *reader, enum signal signal, struct view text)
{
    json_error_t error;
    json_t *json = json_loadb((const char *)text.data, text.size, JSON_ALLOW_NUL, &error);
    if (!json && json_error_code(&error) == json_error_out_of_memory)
        return false;
    if (!json) {
        snprintf(reader->reason, reader->reason_size, "line %d, column %d: %s", error.line,
                 error.column, error.text);
        return false;
    }
    bool ok = read_message(reader, otlp_shape(signal), json, NULL);
    json_decref(json);
    return ok;
}

bool otlp_json_read(enum signal signal, struct view json, struct bytes *out, char *reason,
                    size_t reason_size)
{
    const struct reader reader = {out, reason, reason_size};
    size_t cost = parsed_size(json), before = out->size;
    text_cut((struct view){0}, reason, reason_size);
    if (out->budget && budget_never_fits(out->budget, cost)) {
        snprintf(reason, reason_size, "the request is too large");
        return false;
    }
    if (!budget_take(out->budget, cost))
        return false;
    bool ok = parse(&reader, signal, json);
    budget_give(out->budget, cost);
    if (!ok)
        out->size = before;
    return ok;
}
