/* Statements of Memcached and of databases that take JSON. */
#include "processors/redaction/statement.h"
#include "lib/base/utf8.h"

#include <ctype.h>

/* ---- Memcached ---- */

static bool put(struct bytes *out, struct view text)
{
    return bytes_append_view(out, text) == BYTES_OK;
}

bool statement_memcached(struct view text, struct bytes *out)
{
    const uint8_t *end = text.size ? memmem(text.data, text.size, "\r\n", 2) : NULL;
    return put(out, utf8_trim(end ? view_between(text.data, end) : text));
}

/* ---- JSON ---- */

enum { JSON_DEPTH = 10000 }; /* the levels that Go takes */

struct json {
    const uint8_t *at, *end;
    struct bytes *out;
    uint8_t objects[JSON_DEPTH / 8]; /* a bit for each level: it is an object */
    unsigned depth;
    bool full;
};

static bool in_object(const struct json *json)
{
    unsigned level = json->depth - 1;
    return json->depth && (json->objects[level / 8] >> level % 8 & 1);
}

static void json_put(struct json *json, struct view text)
{
    json->full = json->full || bytes_append_view(json->out, text) != BYTES_OK;
}

static void skip_space(struct json *json)
{
    while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at)
        json->at++;
}

/* Takes one character. False: another one is next. */
static bool take(struct json *json, char c)
{
    bool is = json->at < json->end && *json->at == (uint8_t)c;
    json->at += is;
    return is;
}

/* Reads a string (RFC 8259, 7). False: it is invalid. */
static bool take_string(struct json *json)
{
    if (!take(json, '"'))
        return false;
    for (; json->at < json->end && *json->at != '"'; json->at++) {
        if (*json->at < 0x20)
            return false;
        if (*json->at != '\\')
            continue;
        if (++json->at == json->end || !*json->at || !strchr("\"\\/bfnrtu", *json->at))
            return false;
        for (int i = 0; i < 4 && *json->at == 'u'; i++)
            if (json->end - json->at <= 4 || !isxdigit(json->at[1 + i]))
                return false;
    }
    return take(json, '"');
}

static bool take_digits(struct json *json)
{
    const uint8_t *from = json->at;
    while (json->at < json->end && isdigit(*json->at))
        json->at++;
    return json->at > from;
}

static bool take_number(struct json *json)
{
    take(json, '-');
    if (!take(json, '0') && !take_digits(json))
        return false;
    if (take(json, '.') && !take_digits(json))
        return false;
    if (!take(json, 'e') && !take(json, 'E'))
        return true;
    if (!take(json, '+'))
        take(json, '-');
    return take_digits(json);
}

static bool take_literal(struct json *json)
{
    static const char *const words[] = {"true", "false", "null"};
    struct view rest = view_between(json->at, json->end);
    if (rest.size && *rest.data == '"')
        return take_string(json);
    for (size_t i = 0; i < 3; i++)
        if (view_starts(rest, view_of(words[i]))) {
            json->at += strlen(words[i]);
            return true;
        }
    return take_number(json);
}

static bool take_key(struct json *json)
{
    const uint8_t *from = json->at;
    if (!take_string(json))
        return false;
    json_put(json, view_between(from, json->at));
    skip_space(json);
    json_put(json, VIEW(":"));
    return take(json, ':');
}

static bool open_level(struct json *json, bool object)
{
    unsigned level = json->depth++;
    if (json->depth > JSON_DEPTH)
        return false;
    json->objects[level / 8] &= (uint8_t) ~(1u << level % 8);
    json->objects[level / 8] |= (uint8_t)(object << level % 8);
    json_put(json, object ? VIEW("{") : VIEW("["));
    return true;
}

/* Closes the levels that end here, and takes the comma after them. False: the text is invalid. */
static bool close_levels(struct json *json)
{
    for (; json->depth; json->depth--) {
        skip_space(json);
        if (take(json, ',')) {
            json_put(json, VIEW(","));
            return true;
        }
        if (!take(json, in_object(json) ? '}' : ']'))
            return false;
        json_put(json, in_object(json) ? VIEW("}") : VIEW("]"));
    }
    return true;
}

/* Reads a value, or the start of one that has others in it. */
static bool take_value(struct json *json)
{
    bool object = false;
    skip_space(json);
    if (in_object(json) && !take_key(json))
        return false;
    skip_space(json);
    if (!(object = take(json, '{')) && !take(json, '[')) {
        json_put(json, VIEW("\"?\""));
        return take_literal(json) && close_levels(json);
    }
    if (!open_level(json, object))
        return false;
    skip_space(json);
    bool empty = json->at < json->end && *json->at == (object ? '}' : ']');
    return !empty || close_levels(json);
}

bool statement_json(struct view text, struct bytes *out)
{
    size_t from = out->size;
    bool valid;
    if (!text.size)
        return true;
    struct json json = {.at = text.data, .end = text.data + text.size, .out = out};
    do
        valid = take_value(&json);
    while (valid && json.depth && !json.full);
    const uint8_t *end = json.at; /* white space there stays, as in the Collector */
    skip_space(&json);
    if (valid && json.at == json.end)
        json_put(&json, view_between(end, json.end));
    if (json.full)
        return false;
    if (valid && json.at == json.end)
        return true;
    out->size = from;
    return put(out, text);
}
