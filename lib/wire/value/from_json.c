/* JSON text as a value. */
#include "lib/wire/value/value.h"

#include "lib/wire/json/json_scan.h"
#include "lib/wire/proto/proto_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 1, KEY = 1, VALUE = 2, DEPTH_MAX = 100, NUMBER_MAX = 64 };

static bool read_any(struct json_scan *scan, struct proto_write *write, unsigned depth);

static bool put_string(struct json_scan *scan, struct proto_write *write, uint32_t number,
                       const struct json_text *given)
{
    struct json_text text;
    if (given)
        text = *given;
    else if (!json_scan_string(scan, &text))
        return false;
    if (!text.escaped) {
        proto_write_bytes(write, number, text.raw);
        return true;
    }
    uint8_t *plain = malloc(text.raw.size + 1);
    if (!plain)
        return false;
    proto_write_bytes(write, number, (struct view){plain, json_scan_unescape(text, plain)});
    free(plain);
    return true;
}

static bool put_number(struct json_scan *scan, struct proto_write *write)
{
    struct json_text text;
    char copy[NUMBER_MAX];
    if (!json_scan_number(scan, &text) || text.raw.size >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%.*s", VIEW_ARG(text.raw));
    double number = strtod(copy, NULL);
    uint64_t bits;
    if (isinf(number))
        return false;
    memcpy(&bits, &number, sizeof bits);
    proto_write_fixed64(write, 4, bits);
    return true;
}

static bool read_array(struct json_scan *scan, struct proto_write *write, unsigned depth)
{
    bool first = true, ok = true;
    json_scan_enter(scan);
    while (ok && json_scan_element(scan, &first)) {
        size_t element = proto_write_open(write, VALUES);
        ok = read_any(scan, write, depth + 1);
        proto_write_close(write, element);
    }
    return ok && !scan->fault;
}

static bool read_object(struct json_scan *scan, struct proto_write *write, unsigned depth)
{
    bool first = true, ok = true;
    struct json_text key;
    json_scan_enter(scan);
    while (ok && json_scan_member(scan, &first, &key)) {
        size_t member = proto_write_open(write, VALUES);
        ok = put_string(scan, write, KEY, &key);
        size_t value = proto_write_open(write, VALUE);
        ok = ok && read_any(scan, write, depth + 1);
        proto_write_close(write, value);
        proto_write_close(write, member);
    }
    return ok && !scan->fault;
}

/* The fields of an AnyValue. */
static bool read_any(struct json_scan *scan, struct proto_write *write, unsigned depth)
{
    enum json_kind kind = json_scan_kind(scan);
    bool ok = depth < DEPTH_MAX;
    size_t opened;
    switch (kind) {
    case JSON_KIND_OBJECT:
    case JSON_KIND_ARRAY:
        opened = proto_write_open(write, kind == JSON_KIND_ARRAY ? 5 : 6);
        ok = ok && (kind == JSON_KIND_ARRAY ? read_array : read_object)(scan, write, depth);
        proto_write_close(write, opened);
        return ok;
    case JSON_KIND_STRING:
        return put_string(scan, write, 1, NULL);
    case JSON_KIND_NUMBER:
        return put_number(scan, write);
    case JSON_KIND_TRUE:
    case JSON_KIND_FALSE:
        proto_write_varint(write, 2, kind == JSON_KIND_TRUE);
        return json_scan_skip(scan);
    case JSON_KIND_NULL:
        return json_scan_skip(scan);
    case JSON_KIND_NONE:
        break;
    }
    return false;
}

bool value_from_json(struct view text, struct arena *arena, struct value *value)
{
    struct bytes out;
    bytes_init(&out, (size_t)16 << 20, NULL);
    struct json_scan scan = json_scan_begin(text);
    struct proto_write write = proto_write_begin(&out);
    bool ok = read_any(&scan, &write, 0) && !scan.fault && json_scan_end(&scan) &&
              !proto_write_fault(&write);
    uint8_t *kept = ok ? arena_array_raw(arena, out.size ? out.size : 1, 1) : NULL;
    if (kept && out.size)
        memcpy(kept, out.data, out.size);
    *value = kept ? value_read((struct view){kept, out.size}) : (struct value){0};
    bytes_release(&out);
    return kept;
}
