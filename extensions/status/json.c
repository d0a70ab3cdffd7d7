#include "extensions/status/json.h"

#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/proto/text.h"

#include <inttypes.h>

struct json json_begin(struct bytes *out)
{
    return (struct json){.out = out};
}

static void json_raw(struct json *json, const void *data, size_t size)
{
    if (!json->failed && bytes_append(json->out, data, size) != BYTES_OK)
        json->failed = true;
}

static void json_quoted(struct json *json, struct view text)
{
    if (!json->failed && !text_json(text, json->out))
        json->failed = true;
}

/* Writes the comma and the key in front of a value. */
static void json_key(struct json *json, const char *key)
{
    if (json->comma)
        json_raw(json, ",", 1);
    json->comma = true;
    if (!key)
        return;
    json_quoted(json, view_of(key));
    json_raw(json, ":", 1);
}

void json_open(struct json *json, const char *key, char bracket)
{
    json_key(json, key);
    json_raw(json, &bracket, 1);
    json->comma = false;
}

void json_close(struct json *json, char bracket)
{
    json_raw(json, &bracket, 1);
    json->comma = true;
}

void json_text(struct json *json, const char *key, struct view text)
{
    json_key(json, key);
    json_quoted(json, text);
}

void json_word(struct json *json, const char *key, const char *text)
{
    if (text)
        json_text(json, key, view_of(text));
    else
        json_null(json, key);
}

static void json_digits(struct json *json, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    json_raw(json, digits + at, sizeof digits - at);
}

void json_number(struct json *json, const char *key, uint64_t number)
{
    json_key(json, key);
    json_digits(json, number);
}

void json_double(struct json *json, const char *key, double number)
{
    json_number(json, key, number > 0 && number < 1e18 ? (uint64_t)(number + 0.5) : 0);
}

void json_bool(struct json *json, const char *key, bool value)
{
    json_key(json, key);
    json_raw(json, value ? "true" : "false", value ? 4 : 5);
}

void json_null(struct json *json, const char *key)
{
    json_key(json, key);
    json_raw(json, "null", 4);
}

void json_literal(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_raw(json, text, strlen(text));
}

void json_copy(struct json *json, struct view item)
{
    json_key(json, NULL);
    json_raw(json, item.data, item.size);
}

void json_time(struct json *json, const char *key, uint64_t ns)
{
    json_key(json, key);
    json_raw(json, "\"", 1);
    json_digits(json, ns);
    json_raw(json, "\"", 1);
}

void json_time_or_null(struct json *json, const char *key, uint64_t ns)
{
    if (ns)
        json_time(json, key, ns);
    else
        json_null(json, key);
}

void json_hex(struct json *json, const char *key, struct view bytes)
{
    static const char digits[] = "0123456789abcdef";
    json_key(json, key);
    json_raw(json, "\"", 1);
    for (size_t i = 0; i < bytes.size; i++) {
        const char pair[] = {digits[bytes.data[i] >> 4], digits[bytes.data[i] & 15]};
        json_raw(json, pair, 2);
    }
    json_raw(json, "\"", 1);
}

void json_id(struct json *json, const char *key, uint64_t id)
{
    char hex[16];
    span_id_format(id, hex);
    if (id)
        json_text(json, key, (struct view){(const uint8_t *)hex, sizeof hex});
    else
        json_null(json, key);
}
