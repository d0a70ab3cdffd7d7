/* OTLP requests as JSON (lib/wire/json/otlp_json.h). */
#include "lib/wire/json/otlp_json.h"

#include "lib/wire/http/base64.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/proto/text.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>

enum { NAME_SIZE = 64 };

static bool otlp_json_write_put(struct bytes *out, struct view text)
{
    return bytes_append_view(out, text) == BYTES_OK;
}

static bool write_message(const struct proto_shape *shape, struct view body, struct bytes *out);

/* Writes the fewest digits that parse to the same number. */
static bool write_double(uint64_t bits, struct bytes *out)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isnan(value))
        return otlp_json_write_put(out, VIEW("\"NaN\""));
    if (isinf(value))
        return otlp_json_write_put(out, value > 0 ? VIEW("\"Infinity\"") : VIEW("\"-Infinity\""));
    for (int digits = 15; digits < 17; digits++) {
        size_t before = out->size;
        if (bytes_printf(out, "%.*g", digits, value) != BYTES_OK)
            return false;
        if (strtod((const char *)out->data + before, NULL) == value)
            return true;
        out->size = before;
    }
    return bytes_printf(out, "%.17g", value) == BYTES_OK;
}

static bool write_hex(struct view id, struct bytes *out)
{
    if (id.size > SIZE_MAX / 4 || bytes_reserve(out, 2 * id.size + 2) != BYTES_OK)
        return false;
    uint8_t *at = out->data + out->size;
    *at++ = '"';
    for (size_t i = 0; i < id.size; i++) {
        *at++ = (uint8_t) "0123456789abcdef"[id.data[i] >> 4];
        *at++ = (uint8_t) "0123456789abcdef"[id.data[i] & 15];
    }
    *at++ = '"';
    out->size += 2 * id.size + 2;
    return true;
}

static bool write_number(enum proto_type type, uint64_t bits, struct bytes *out)
{
    uint32_t low = (uint32_t)bits;
    switch (type) {
    case PROTO_TYPE_BOOL:
        return otlp_json_write_put(out, bits ? VIEW("true") : VIEW("false"));
    case PROTO_TYPE_INT32:
    case PROTO_TYPE_ENUM:
        return bytes_printf(out, "%d", (int)low) == BYTES_OK;
    case PROTO_TYPE_SINT32:
        return bytes_printf(out, "%d", (int)(low >> 1 ^ -(low & 1))) == BYTES_OK;
    case PROTO_TYPE_UINT32:
        return bytes_printf(out, "%u", low) == BYTES_OK;
    case PROTO_TYPE_INT64:
        return bytes_printf(out, "\"%lld\"", (long long)bits) == BYTES_OK;
    case PROTO_TYPE_UINT64:
        return bytes_printf(out, "\"%llu\"", (unsigned long long)bits) == BYTES_OK;
    case PROTO_TYPE_DOUBLE:
        return write_double(bits, out);
    case PROTO_TYPE_NONE:
    case PROTO_TYPE_STRING:
    case PROTO_TYPE_BASE64:
    case PROTO_TYPE_HEX:
    case PROTO_TYPE_MESSAGE:
        break;
    }
    return false;
}

static bool write_value(const struct proto_row *row, const struct proto_field *field,
                        struct bytes *out)
{
    if (row->type == PROTO_TYPE_MESSAGE)
        return write_message(row->shape, field->bytes, out);
    if (row->type == PROTO_TYPE_STRING)
        return text_json(field->bytes, out);
    if (row->type == PROTO_TYPE_BASE64)
        return otlp_json_write_put(out, VIEW("\"")) && base64_encode(field->bytes, out) &&
               otlp_json_write_put(out, VIEW("\""));
    if (row->type == PROTO_TYPE_HEX)
        return write_hex(field->bytes, out);
    return write_number(row->type, field->value, out);
}

/* Reads the next number of a packed field. */
static bool next_packed(const struct proto_row *row, struct view *rest, struct proto_field *each)
{
    if (rest->size == 0)
        return false;
    const uint8_t *at = rest->data, *end = at + rest->size;
    if (row->kind == PROTO_VARINTS) {
        at = proto_varint(at, end, &each->value);
    } else {
        memcpy(&each->value, at, sizeof each->value);
        each->value = le64toh(each->value);
        at += sizeof each->value;
    }
    *rest = view_between(at, end);
    return true;
}

static bool write_element(const struct proto_row *row, const struct proto_field *field,
                          struct bytes *out)
{
    bool first = out->data[out->size - 1] == '[';
    return (first || otlp_json_write_put(out, VIEW(","))) && write_value(row, field, out);
}

/* Writes all elements of one occurrence of a repeated field. */
static bool write_elements(const struct proto_row *row, const struct proto_field *field,
                           struct bytes *out)
{
    bool numbers = row->kind == PROTO_VARINTS || row->kind == PROTO_FIXED64S;
    if (!numbers || field->type != WIRE_LEN)
        return write_element(row, field, out);
    struct view rest = field->bytes;
    struct proto_field each = *field;
    while (next_packed(row, &rest, &each))
        if (!write_element(row, &each, out))
            return false;
    return true;
}

/* Writes a list; if it turns out empty, out is truncated to before the name. */
static bool write_list(const struct proto_row *row, uint32_t number, struct view body,
                       size_t before, struct bytes *out)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    bool ok = otlp_json_write_put(out, VIEW("["));
    while (ok && proto_scan_next(&scan, &field))
        if (field.number == number)
            ok = write_elements(row, &field, out);
    /* A packed field may be empty. */
    if (ok && out->data[out->size - 1] == '[') {
        out->size = before;
        return true;
    }
    return ok && otlp_json_write_put(out, VIEW("]"));
}

/* A repeated occurrence of a singular message: the concatenated bytes are the merged message. */
static bool write_merged(const struct proto_row *row, uint32_t number, struct view body,
                         struct bytes *out)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    struct bytes merged;
    bool ok = true;
    bytes_init(&merged, body.size, out->budget);
    while (ok && proto_scan_next(&scan, &field))
        if (field.number == number)
            ok = bytes_append_view(&merged, field.bytes) == BYTES_OK;
    ok = ok && write_message(row->shape, bytes_view(&merged), out);
    bytes_release(&merged);
    return ok;
}

/* The occurrences of one field in a message. */
struct seen {
    size_t count;
    struct proto_field last;
};

static struct seen look_for(struct view body, uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    struct seen seen = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number == number) {
            seen.count++;
            seen.last = field;
        }
    return seen;
}

static bool is_zero(const struct proto_field *field)
{
    return field->type == WIRE_LEN ? field->bytes.size == 0 : field->value == 0;
}

static bool write_field(const struct proto_shape *shape, uint32_t number, struct view body,
                        struct bytes *out)
{
    const struct proto_row *row = &shape->rows[number];
    struct seen seen = look_for(body, number);
    char name[NAME_SIZE];
    bool message = row->type == PROTO_TYPE_MESSAGE;
    if (!row->repeated && !row->presence && !message && is_zero(&seen.last))
        return true;
    text_camel(row->name, name, sizeof name);
    size_t before = out->size;
    bool first = out->data[before - 1] == '{';
    if (bytes_printf(out, "%s\"%s\":", first ? "" : ",", name) != BYTES_OK)
        return false;
    if (row->repeated)
        return write_list(row, number, body, before, out);
    if (message && seen.count > 1)
        return write_merged(row, number, body, out);
    return write_value(row, &seen.last, out);
}

/* The known fields that occur, as bits by number; of a oneof only the member set last, whose
 * occurrences count from *since. */
static uint32_t fields_present(const struct proto_shape *shape, struct view body,
                               struct view *since)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    uint32_t present = 0, member = 0;
    *since = body;
    while (proto_scan_next(&scan, &field)) {
        if (field.number >= shape->count || !shape->rows[field.number].name)
            continue;
        if (shape->rows[field.number].oneof && field.number != member) {
            present &= ~(member ? UINT32_C(1) << member : 0);
            member = field.number;
            *since = view_between(field.start, scan.end);
        }
        present |= UINT32_C(1) << field.number;
    }
    return present;
}

static bool write_message(const struct proto_shape *shape, struct view body, struct bytes *out)
{
    struct view since;
    uint32_t present = fields_present(shape, body, &since);
    bool ok = otlp_json_write_put(out, VIEW("{"));
    for (uint32_t number = 1; ok && number < shape->count; number++)
        if (present >> number & 1)
            ok = write_field(shape, number, shape->rows[number].oneof ? since : body, out);
    return ok && otlp_json_write_put(out, VIEW("}"));
}

bool otlp_json_write(enum signal signal, struct view request, struct bytes *out)
{
    size_t before = out->size;
    bool ok = write_message(otlp_shape(signal), request, out);
    if (!ok)
        out->size = before;
    return ok;
}
