/* push.v1 requests in JSON (lib/wire/pprof/push.h). */
#include "lib/wire/http/base64.h"
#include "lib/wire/json/json_scan.h"
#include "lib/wire/pprof/push.h"

/* Field numbers are those of push.v1; names are accepted as in the JSON mapping and as in the
 * .proto file. Unknown names are ignored, and null means absent. A name that comes twice is written
 * twice: lists add up, and of texts the last counts, as in protobuf. It is read in place, since a
 * tree of what a small request inflates to takes many times its size. */
struct reading {
    struct json_scan scan;
    struct bytes *out;
    const char *reason;
};

struct push_member {
    const char *name, *other; /* other: NULL: none */
    uint32_t number;
    bool is_list;
    bool (*read)(struct reading *reading); /* the value, or each of the list */
};

static bool push_json_refuse(struct reading *reading, const char *reason)
{
    reading->reason = reason;
    return false;
}

static bool push_json_full(struct reading *reading)
{
    return push_json_refuse(reading, "the request is too large");
}

/* Inserts tag and length before what was written since start. */
static bool push_json_wrap(struct reading *reading, uint32_t number, size_t start)
{
    struct bytes *out = reading->out;
    size_t size = out->size - start;
    size_t head = proto_len_size(number, size) - size;
    if (bytes_reserve(out, head) != BYTES_OK)
        return push_json_full(reading);
    uint8_t *at = out->data + start;
    memmove(at + head, at, size);
    proto_len_put(at, number, size);
    out->size += head;
    return true;
}

static bool push_json_text(struct reading *reading)
{
    struct json_text text;
    if (json_scan_kind(&reading->scan) != JSON_KIND_STRING)
        return push_json_refuse(reading, "a name, value, key or ID is not a string");
    if (!json_scan_string(&reading->scan, &text))
        return false;
    if (text.raw.size == 0)
        return true;
    if (bytes_reserve(reading->out, text.raw.size) != BYTES_OK)
        return push_json_full(reading);
    reading->out->size += json_scan_unescape(text, reading->out->data + reading->out->size);
    return true;
}

static bool push_json_raw_profile(struct reading *reading)
{
    struct bytes unescaped;
    struct json_text text;
    if (json_scan_kind(&reading->scan) != JSON_KIND_STRING)
        return push_json_refuse(reading, "rawProfile is not a string");
    if (!json_scan_string(&reading->scan, &text))
        return false;
    bytes_init(&unescaped, text.raw.size, reading->out->budget);
    if (text.escaped && bytes_reserve(&unescaped, text.raw.size) != BYTES_OK) {
        bytes_release(&unescaped);
        return push_json_full(reading);
    }
    if (text.escaped) {
        unescaped.size = json_scan_unescape(text, unescaped.data);
        text.raw = bytes_view(&unescaped);
    }
    enum base64_result result = base64_decode(text.raw, reading->out);
    bytes_release(&unescaped);
    if (result == BASE64_FULL)
        return push_json_full(reading);
    return result != BASE64_BAD || push_json_refuse(reading, "rawProfile is not base64");
}

static bool push_json_is(const struct push_member *member, const struct json_text *key)
{
    return !key->escaped && (view_eq(key->raw, view_of(member->name)) ||
                             (member->other && view_eq(key->raw, view_of(member->other))));
}

/* Reads a value into a field with a member's number. */
static bool push_json_field(struct reading *reading, const struct push_member *member)
{
    size_t start = reading->out->size;
    return member->read(reading) && push_json_wrap(reading, member->number, start);
}

static bool push_json_value(struct reading *reading, const struct push_member *member)
{
    enum json_kind kind = json_scan_kind(&reading->scan);
    bool first = true;
    if (kind == JSON_KIND_NULL)
        return json_scan_skip(&reading->scan);
    if (!member->is_list)
        return push_json_field(reading, member);
    if (kind != JSON_KIND_ARRAY)
        return push_json_refuse(reading, "series, labels, samples or annotations is not a list");
    json_scan_enter(&reading->scan);
    while (json_scan_element(&reading->scan, &first))
        if (!push_json_field(reading, member))
            return false;
    return !reading->scan.fault;
}

/* members: up to one without a name. */
static bool push_json_object(struct reading *reading, const struct push_member *members)
{
    struct json_text key;
    bool first = true;
    if (json_scan_kind(&reading->scan) != JSON_KIND_OBJECT)
        return push_json_refuse(reading, "an entry of a list is not an object");
    json_scan_enter(&reading->scan);
    while (json_scan_member(&reading->scan, &first, &key)) {
        const struct push_member *each = members;
        while (each->name && !push_json_is(each, &key))
            each++;
        bool read = each->name ? push_json_value(reading, each)
                               : json_scan_kind(&reading->scan) != JSON_KIND_NONE &&
                                     json_scan_skip(&reading->scan);
        if (!read)
            return false;
    }
    return !reading->scan.fault;
}

static bool push_json_label(struct reading *reading)
{
    static const struct push_member members[] = {
        {"name", NULL, 1, false, push_json_text}, {"value", NULL, 2, false, push_json_text}, {0}};
    return push_json_object(reading, members);
}

static bool push_json_annotation(struct reading *reading)
{
    static const struct push_member members[] = {
        {"key", NULL, 1, false, push_json_text}, {"value", NULL, 2, false, push_json_text}, {0}};
    return push_json_object(reading, members);
}

static bool push_json_sample(struct reading *reading)
{
    static const struct push_member members[] = {
        {"rawProfile", "raw_profile", 1, false, push_json_raw_profile},
        {"ID", "id", 2, false, push_json_text},
        {0}};
    return push_json_object(reading, members);
}

static bool push_json_series(struct reading *reading)
{
    static const struct push_member members[] = {
        {"labels", NULL, 1, true, push_json_label},
        {"samples", NULL, 2, true, push_json_sample},
        {"annotations", NULL, 3, true, push_json_annotation},
        {0}};
    return push_json_object(reading, members);
}

bool push_from_json(struct view json, struct bytes *out, const char **reason)
{
    static const struct push_member members[] = {{"series", NULL, 1, true, push_json_series}, {0}};
    struct reading reading = {.scan = json_scan_begin(json), .out = out};
    size_t before = out->size;
    bool read = json_scan_kind(&reading.scan) == JSON_KIND_OBJECT
                    ? push_json_object(&reading, members) && json_scan_end(&reading.scan)
                    : push_json_refuse(&reading, "the body is not a JSON object");
    *reason = reading.reason ? reading.reason : reading.scan.fault;
    if (!read)
        out->size = before;
    return read;
}
