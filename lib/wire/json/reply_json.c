#include "lib/wire/json/reply_json.h"

#include "lib/wire/proto/text.h"

#include <jansson.h>
#include <stdlib.h>

static json_t *reply_json_load(struct view in)
{
    return in.size ? json_loadb((const char *)in.data, in.size, 0, NULL) : NULL;
}

static bool read_text(const json_t *object, const char *name, const char *other, char *out,
                      size_t size)
{
    const json_t *value = json_object_get(object, name);
    if (!value)
        value = json_object_get(object, other);
    text_cut((struct view){(const uint8_t *)json_string_value(value), json_string_length(value)},
             out, size);
    return !value || json_is_string(value);
}

/* int64 is a number or a string. */
static bool read_count(const json_t *value, uint64_t *count)
{
    const char *text = json_string_value(value);
    char *end = NULL;
    long long number = text ? strtoll(text, &end, 10) : json_integer_value(value);
    *count = number > 0 ? (uint64_t)number : 0;
    return text ? *text && !*end : json_is_integer(value);
}

static bool read_partial(json_t *partial, uint64_t *rejected, char *message, size_t size)
{
    const char *name;
    json_t *value;
    if (!json_is_object(partial))
        return false;
    json_object_foreach(partial, name, value) if (strncmp(name, "rejected", 8) == 0 &&
                                                  !read_count(value, rejected)) return false;
    return read_text(partial, "errorMessage", "error_message", message, size);
}

bool export_response_decode_json(struct view in, uint64_t *rejected, char *message,
                                 size_t message_size)
{
    json_t *response = reply_json_load(in);
    json_t *partial = json_object_get(response, "partialSuccess");
    *rejected = 0;
    text_cut((struct view){0}, message, message_size);
    if (!partial)
        partial = json_object_get(response, "partial_success");
    bool good =
        json_is_object(response) && (!partial || json_is_null(partial) ||
                                     read_partial(partial, rejected, message, message_size));
    json_decref(response);
    return good;
}

bool rpc_status_message_json(struct view in, char *message, size_t message_size)
{
    json_t *status = reply_json_load(in);
    bool good = json_is_object(status) && json_object_get(status, "message") &&
                read_text(status, "message", "message", message, message_size);
    json_decref(status);
    return good;
}
