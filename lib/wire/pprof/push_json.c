/* push.v1 requests in JSON (lib/wire/pprof/push.h). */
#include "lib/wire/pprof/push.h"

#include "lib/wire/http/base64.h"

#include <jansson.h>

/* Field numbers are those of push.v1; names are accepted as in the JSON mapping and as in the
 * .proto file. Unknown names are ignored, and null means absent. */
struct reading {
    struct bytes *out;
    const char *reason;
};

static bool push_json_refuse(struct reading *reading, const char *reason)
{
    reading->reason = reason;
    return false;
}

static const json_t *member(const json_t *object, const char *name, const char *other)
{
    const json_t *value = json_object_get(object, name);
    if (!value && other)
        value = json_object_get(object, other);
    return json_is_null(value) ? NULL : value;
}

/* Inserts tag and length before what was written since start. */
static bool push_json_wrap(struct reading *reading, uint32_t number, size_t start)
{
    struct bytes *out = reading->out;
    size_t size = out->size - start;
    size_t head = proto_len_size(number, size) - size;
    if (bytes_reserve(out, head) != BYTES_OK)
        return push_json_refuse(reading, "the request is too large");
    uint8_t *at = out->data + start;
    memmove(at + head, at, size);
    proto_len_put(at, number, size);
    out->size += head;
    return true;
}

static bool push_json_read_string(struct reading *reading, const json_t *value, uint32_t number)
{
    size_t start = reading->out->size;
    if (!value)
        return true;
    if (!json_is_string(value))
        return push_json_refuse(reading, "a name, value, key or ID is not a string");
    if (bytes_append(reading->out, json_string_value(value), json_string_length(value)) != BYTES_OK)
        return push_json_refuse(reading, "the request is too large");
    return push_json_wrap(reading, number, start);
}

static bool push_json_read_label(struct reading *reading, const json_t *label)
{
    return push_json_read_string(reading, member(label, "name", NULL), 1) &&
           push_json_read_string(reading, member(label, "value", NULL), 2);
}

static bool read_annotation(struct reading *reading, const json_t *annotation)
{
    return push_json_read_string(reading, member(annotation, "key", NULL), 1) &&
           push_json_read_string(reading, member(annotation, "value", NULL), 2);
}

static bool push_json_read_sample(struct reading *reading, const json_t *sample)
{
    const json_t *raw = member(sample, "rawProfile", "raw_profile");
    size_t start = reading->out->size;
    if (raw && !json_is_string(raw))
        return push_json_refuse(reading, "rawProfile is not a string");
    if (raw) {
        struct view text = {(const uint8_t *)json_string_value(raw), json_string_length(raw)};
        enum base64_result result = base64_decode(text, reading->out);
        if (result == BASE64_BAD)
            return push_json_refuse(reading, "rawProfile is not base64");
        if (result == BASE64_FULL)
            return push_json_refuse(reading, "the request is too large");
        if (!push_json_wrap(reading, 1, start))
            return false;
    }
    return push_json_read_string(reading, member(sample, "ID", "id"), 2);
}

/* Reads a list of objects, each into a field with that number. */
static bool push_json_read_list(struct reading *reading, const json_t *list, uint32_t number,
                                bool (*read)(struct reading *reading, const json_t *object))
{
    if (list && !json_is_array(list))
        return push_json_refuse(reading, "series, labels, samples or annotations is not a list");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        size_t start = reading->out->size;
        if (!json_is_object(object))
            return push_json_refuse(reading, "an entry of a list is not an object");
        if (!read(reading, object) || !push_json_wrap(reading, number, start))
            return false;
    }
    return true;
}

static bool push_json_read_series(struct reading *reading, const json_t *series)
{
    return push_json_read_list(reading, member(series, "labels", NULL), 1, push_json_read_label) &&
           push_json_read_list(reading, member(series, "samples", NULL), 2,
                               push_json_read_sample) &&
           push_json_read_list(reading, member(series, "annotations", NULL), 3, read_annotation);
}

bool push_from_json(struct view json, struct bytes *out, const char **reason)
{
    struct reading reading = {.out = out};
    size_t before = out->size;
    json_t *root = json_loadb((const char *)json.data, json.size, 0, NULL);
    if (!json_is_object(root))
        push_json_refuse(&reading, "the body is not a JSON object");
    else
        push_json_read_list(&reading, member(root, "series", NULL), 1, push_json_read_series);
    json_decref(root);
    *reason = reading.reason;
    if (reading.reason)
        out->size = before;
    return !reading.reason;
}
