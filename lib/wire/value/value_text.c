/* Values as text. */
#include "lib/base/utf8.h"
#include "lib/wire/http/base64.h"
#include "lib/wire/value/attributes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIST_VALUES = 1 };

/* The digits of the shortest text, and the exponent of the first: d.ddd * 10^exponent. */
static size_t shortest(double number, char digits[20], int *exponent)
{
    char text[40];
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, number);
        if (strtod(text, NULL) == number)
            break;
    }
    size_t n = 0;
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at != '.')
            digits[n++] = *at;
    *exponent = atoi(at + 1);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

size_t value_decimal_text(double number, char out[400])
{
    char digits[20];
    int exponent;
    size_t at = 0, n;
    if (isnan(number) || isinf(number)) {
        const char *word = isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf";
        return (size_t)snprintf(out, 400, "%s", word);
    }
    if (signbit(number))
        out[at++] = '-';
    n = shortest(fabs(number), digits, &exponent);
    if (exponent < 0) {
        out[at++] = '0';
        out[at++] = '.';
        for (int i = -1; i > exponent; i--)
            out[at++] = '0';
        memcpy(out + at, digits, n);
        return at + n;
    }
    for (size_t i = 0; i < n || i <= (size_t)exponent; i++) {
        if (i == (size_t)exponent + 1)
            out[at++] = '.';
        out[at++] = i < n ? digits[i] : '0';
    }
    return at;
}

/* padded: an exponent has two digits. */
static size_t number_text(double number, bool padded, char out[40])
{
    char digits[20] = "0", decimal[400];
    int exponent;
    double size = fabs(number);
    if (isnan(number) || isinf(number))
        return (size_t)snprintf(out, 40, "%s",
                                isnan(number) ? "NaN"
                                : number > 0  ? "Infinity"
                                              : "-Infinity");
    if (size == 0 || (size >= 1e-6 && size < 1e21)) {
        size_t n = value_decimal_text(number, decimal);
        memcpy(out, decimal, n);
        return n;
    }
    size_t n = shortest(size, digits, &exponent);
    return (size_t)snprintf(out, 40, "%s%c%s%.*se%c%0*d", number < 0 ? "-" : "", digits[0],
                            n > 1 ? "." : "", (int)n - 1, digits + 1, exponent < 0 ? '-' : '+',
                            padded ? 2 : 1, abs(exponent));
}

size_t value_number_text(double number, char out[40])
{
    return number_text(number, false, out);
}

/* ---- JSON, as one of two encoders of the Collector writes it ---- */

struct writing {
    struct bytes *out;
    bool ottl;     /* in the way of OTTL */
    bool not_json; /* a number was met that JSON has not */
};

static bool put(struct writing *writing, struct view text)
{
    return bytes_append_view(writing->out, text) == BYTES_OK;
}

static bool put_escape(struct writing *writing, uint8_t c)
{
    static const char named[] = "\"\\\n\r\t\b\f", letters[] = "\"\\nrtbf";
    const char *at = strchr(named, c);
    if (c && at && (at < named + 5 || !writing->ottl))
        return bytes_printf(writing->out, "\\%c", letters[at - named]) == BYTES_OK;
    return bytes_printf(writing->out, "\\u%04x", c) == BYTES_OK;
}

/* What the character at the start of a text becomes; data NULL: it is copied, as it has no escape.
 */
static struct view escape_of(struct view rest, size_t size)
{
    if (size == 0)
        return VIEW("\\ufffd");
    if (view_starts(rest, VIEW("\xe2\x80\xa8")))
        return VIEW("\\u2028");
    return view_starts(rest, VIEW("\xe2\x80\xa9")) ? VIEW("\\u2029") : (struct view){0};
}

static bool json_text(struct writing *writing, struct view text)
{
    size_t copied = 0;
    bool ok = put(writing, VIEW("\""));
    for (size_t at = 0; ok && at < text.size;) {
        struct view rest = {text.data + at, text.size - at}, escape = {0};
        uint8_t c = *rest.data;
        bool escaped = c < 0x20 || c == '"' || c == '\\' ||
                       (writing->ottl && (c == '<' || c == '>' || c == '&'));
        size_t size = c < 0x80 ? 1 : utf8_character(rest);
        if (c >= 0x80)
            escape = escape_of(rest, size);
        if (escaped || escape.data) {
            ok = put(writing, (struct view){text.data + copied, at - copied}) &&
                 (escaped ? put_escape(writing, c) : put(writing, escape));
            copied = at + (size ? size : 1);
        }
        at += size ? size : 1;
    }
    return ok && put(writing, (struct view){text.data + copied, text.size - copied}) &&
           put(writing, VIEW("\""));
}

static bool json_value(struct writing *writing, const struct value *value);

static bool json_list(struct writing *writing, struct view body)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct value value;
    bool ok = put(writing, VIEW("["));
    for (bool first = true; ok && value_next(&scan, &value); first = false)
        ok = (first || put(writing, VIEW(","))) && json_value(writing, &value);
    return ok && put(writing, VIEW("]"));
}

/* Of equal keys the one that comes later in the message is the later one. */
static int by_key(const void *a, const void *b)
{
    const struct attribute *x = a, *y = b;
    int order = view_order(x->key, y->key);
    return order ? order : (x->source.data > y->source.data) - (x->source.data < y->source.data);
}

/* Of several entries with one key, the last. */
static bool json_map(struct writing *writing, struct view body)
{
    struct arena arena;
    struct attributes list;
    arena_init(&arena, (size_t)4 << 20);
    attributes_read(&list, body, LIST_VALUES, &arena);
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_key);
    bool ok = !list.failed && put(writing, VIEW("{")), first = true;
    for (size_t i = 0; ok && i < list.count; i++) {
        struct value value = value_read(list.items[i].any);
        if (i + 1 < list.count && view_eq(list.items[i].key, list.items[i + 1].key))
            continue;
        ok = (first || put(writing, VIEW(","))) && json_text(writing, list.items[i].key) &&
             put(writing, VIEW(":")) && json_value(writing, &value);
        first = false;
    }
    arena_release(&arena);
    return ok && put(writing, VIEW("}"));
}

static bool json_number(struct writing *writing, double number)
{
    char text[40];
    size_t size = number_text(number, writing->ottl, text);
    writing->not_json = writing->not_json || isnan(number) || isinf(number);
    return bytes_append(writing->out, text, size) == BYTES_OK;
}

static bool json_value(struct writing *writing, const struct value *value)
{
    switch (value->kind) {
    case VALUE_EMPTY:
        return put(writing, VIEW("null"));
    case VALUE_STRING:
        return json_text(writing, value->bytes);
    case VALUE_BOOL:
        return put(writing, value->boolean ? VIEW("true") : VIEW("false"));
    case VALUE_INT:
        return bytes_printf(writing->out, "%lld", (long long)value->integer) == BYTES_OK;
    case VALUE_DOUBLE:
        return json_number(writing, value->number);
    case VALUE_LIST:
        return json_list(writing, value->bytes);
    case VALUE_MAP:
        return json_map(writing, value->bytes);
    case VALUE_BYTES:
        break;
    }
    return put(writing, VIEW("\"")) && base64_encode(value->bytes, writing->out) &&
           put(writing, VIEW("\""));
}

bool value_json(const struct value *value, struct bytes *out)
{
    struct writing writing = {.out = out};
    return json_value(&writing, value);
}

static struct view keep(struct arena *arena, const void *data, size_t size)
{
    uint8_t *copy = arena_array_raw(arena, size ? size : 1, 1);
    if (copy && size)
        memcpy(copy, data, size);
    return (struct view){copy, copy ? size : 0};
}

struct view value_text(const struct value *value, struct arena *arena)
{
    char text[40];
    struct bytes out;
    bool ok;
    switch (value->kind) {
    case VALUE_EMPTY:
        return VIEW("");
    case VALUE_STRING:
        return value->bytes.data ? value->bytes : VIEW("");
    case VALUE_BOOL:
        return value->boolean ? VIEW("true") : VIEW("false");
    case VALUE_INT:
        return keep(arena, text,
                    (size_t)snprintf(text, sizeof text, "%lld", (long long)value->integer));
    case VALUE_DOUBLE:
        return keep(arena, text, value_number_text(value->number, text));
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_BYTES:
        break;
    }
    bytes_init(&out, (size_t)16 << 20, NULL);
    struct writing writing = {.out = &out};
    ok = value->kind == VALUE_BYTES ? base64_encode(value->bytes, &out)
                                    : json_value(&writing, value);
    struct view kept = {0};
    if (ok)
        kept = keep(arena, out.data, writing.not_json ? 0 : out.size);
    bytes_release(&out);
    return kept;
}

struct view value_ottl_text(const struct value *value, struct arena *arena, bool *not_json)
{
    struct bytes out;
    bytes_init(&out, (size_t)16 << 20, NULL);
    struct writing writing = {.out = &out, .ottl = true};
    bool ok = json_value(&writing, value);
    struct view kept = ok ? keep(arena, out.data, out.size) : (struct view){0};
    bytes_release(&out);
    *not_json = writing.not_json;
    return kept;
}
