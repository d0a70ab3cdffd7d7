/* JSON text as a value. */
#include "lib/wire/value/attributes.h"

#include "lib/wire/json/json_scan.h"
#include "lib/wire/proto/proto_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 1, KEY = 1, VALUE = 2, DEPTH_MAX = 100, NUMBER_MAX = 64 };

struct reading {
    struct json_scan scan;
    struct proto_write write;
    struct arena *arena;
    const char *fault; /* of what the scan takes; static */
};

static bool read_any(struct reading *reading, unsigned depth);

static bool put_string(struct reading *reading, uint32_t number, const struct json_text *given)
{
    struct json_text text;
    if (given)
        text = *given;
    else if (!json_scan_string(&reading->scan, &text))
        return false;
    if (!text.escaped) {
        proto_write_bytes(&reading->write, number, text.raw);
        return true;
    }
    uint8_t *plain = malloc(text.raw.size + 1);
    if (!plain)
        return false;
    proto_write_bytes(&reading->write, number,
                      (struct view){plain, json_scan_unescape(text, plain)});
    free(plain);
    return true;
}

static bool put_number(struct reading *reading)
{
    struct json_text text;
    char copy[NUMBER_MAX];
    if (!json_scan_number(&reading->scan, &text))
        return false;
    reading->fault = "expected a number that a double holds, of fewer than 64 characters";
    if (text.raw.size >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%.*s", VIEW_ARG(text.raw));
    double number = strtod(copy, NULL);
    uint64_t bits;
    if (isinf(number))
        return false;
    reading->fault = NULL;
    memcpy(&bits, &number, sizeof bits);
    proto_write_fixed64(&reading->write, 4, bits);
    return true;
}

static bool read_array(struct reading *reading, unsigned depth)
{
    bool first = true, ok = true;
    json_scan_enter(&reading->scan);
    while (ok && json_scan_element(&reading->scan, &first)) {
        size_t element = proto_write_open(&reading->write, VALUES);
        ok = read_any(reading, depth + 1);
        proto_write_close(&reading->write, element);
    }
    return ok && !reading->scan.fault;
}

/* Of several entries with one key, the last one's value counts, as in the Collector. */
static bool keep_last(struct reading *reading, size_t opened)
{
    struct bytes *out = reading->write.out;
    struct arena scratch;
    struct attributes read, kept;
    arena_init_scratch(&scratch, reading->arena);
    attributes_read(&read, view_between(out->data + opened, out->data + out->size), VALUES,
                    &scratch);
    attributes_read(&kept, VIEW(""), VALUES, &scratch);
    for (size_t i = 0; i < read.count; i++)
        attributes_set_any(&kept, read.items[i].key, read.items[i].any);
    bool ok = !read.failed && !kept.failed;
    if (ok && kept.count < read.count) {
        struct value map = attributes_map(&kept);
        ok = map.bytes.data;
        out->size = opened;
        if (ok)
            proto_write_raw(&reading->write, map.bytes);
    }
    arena_release(&scratch);
    return ok;
}

/* Notes a key among those of its object. Whether another one may be the same. */
static bool note_key(uint64_t seen[4], const struct json_text *key)
{
    uint64_t hash = key->raw.size;
    for (size_t i = 0; i < key->raw.size; i++)
        hash = (hash ^ key->raw.data[i]) * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t *word = &seen[hash >> 62], bit = UINT64_C(1) << (hash >> 56 & 63);
    bool there = *word & bit;
    *word |= bit;
    return there || key->escaped;
}

static bool read_object(struct reading *reading, unsigned depth)
{
    size_t opened = reading->write.out->size;
    bool first = true, ok = true, repeats = false;
    uint64_t seen[4] = {0};
    struct json_text key;
    json_scan_enter(&reading->scan);
    while (ok && json_scan_member(&reading->scan, &first, &key)) {
        size_t member = proto_write_open(&reading->write, VALUES);
        ok = put_string(reading, KEY, &key);
        repeats = note_key(seen, &key) || repeats;
        size_t value = proto_write_open(&reading->write, VALUE);
        ok = ok && read_any(reading, depth + 1);
        proto_write_close(&reading->write, value);
        proto_write_close(&reading->write, member);
    }
    ok = ok && !reading->scan.fault && !proto_write_fault(&reading->write);
    return ok && (!repeats || keep_last(reading, opened));
}

/* The fields of an AnyValue. */
static bool read_any(struct reading *reading, unsigned depth)
{
    enum json_kind kind = json_scan_kind(&reading->scan);
    bool ok = depth < DEPTH_MAX;
    size_t opened;
    switch (kind) {
    case JSON_KIND_OBJECT:
    case JSON_KIND_ARRAY:
        if (!ok)
            reading->fault = "expected at most 100 levels";
        opened = proto_write_open(&reading->write, kind == JSON_KIND_ARRAY ? 5 : 6);
        ok = ok && (kind == JSON_KIND_ARRAY ? read_array : read_object)(reading, depth);
        proto_write_close(&reading->write, opened);
        return ok;
    case JSON_KIND_STRING:
        return put_string(reading, 1, NULL);
    case JSON_KIND_NUMBER:
        return put_number(reading);
    case JSON_KIND_TRUE:
    case JSON_KIND_FALSE:
        proto_write_varint(&reading->write, 2, kind == JSON_KIND_TRUE);
        return json_scan_skip(&reading->scan);
    case JSON_KIND_NULL:
        return json_scan_skip(&reading->scan);
    case JSON_KIND_NONE:
        break;
    }
    return false;
}

bool value_from_json(struct view text, struct arena *arena, struct value *value,
                     char why[VALUE_WHY_SIZE])
{
    struct bytes out;
    bytes_init(&out, (size_t)16 << 20, NULL);
    struct reading reading = {json_scan_begin(text), proto_write_begin(&out), arena, NULL};
    /* Logs are often made by hand; the Collector takes them too. */
    reading.scan.raw_controls = true;
    bool ok = read_any(&reading, 0) && !reading.scan.fault && json_scan_end(&reading.scan) &&
              !proto_write_fault(&reading.write);
    uint8_t *kept = ok ? arena_array_raw(arena, out.size ? out.size : 1, 1) : NULL;
    if (kept && out.size)
        memcpy(kept, out.data, out.size);
    *value = kept ? value_read((struct view){kept, out.size}) : (struct value){0};
    bytes_release(&out);
    const char *fault = reading.fault ? reading.fault : reading.scan.fault;
    if (!kept && fault)
        snprintf(why, VALUE_WHY_SIZE, "%s, at byte %zu", fault,
                 (size_t)(reading.scan.at - text.data) + 1);
    else if (!kept)
        snprintf(why, VALUE_WHY_SIZE, "out of memory");
    return kept;
}
