#include "cli/top_value.h"

#include "lib/base/shown.h"
#include "lib/wire/json/json_scan.h"

#include <stdlib.h>

enum { DEEPEST = 32, TEXT_SIZE = 1024 };

static bool read_value(struct json_scan *scan, struct arena *arena, struct top_value *value,
                       int depth);

static const char *fit_text(struct json_text text, struct arena *arena)
{
    char shown[TEXT_SIZE];
    uint8_t *plain = arena_alloc(arena, text.raw.size + 1);
    if (!plain)
        return NULL;
    struct view whole = {plain, json_scan_unescape(text, plain)};
    shown_copy(whole, shown, sizeof shown);
    return arena_text(arena, view_of(shown));
}

static bool read_children(struct json_scan *scan, struct arena *arena, struct top_value *value,
                          bool object, int depth)
{
    struct top_value **last = &value->first;
    struct json_text key;
    bool first = true;
    json_scan_enter(scan);
    while (object ? json_scan_member(scan, &first, &key) : json_scan_element(scan, &first)) {
        struct top_value *child = *last = arena_alloc(arena, sizeof *child);
        if (!child || (object && !(child->key = fit_text(key, arena))) ||
            !read_value(scan, arena, child, depth + 1))
            return false;
        last = &child->next;
    }
    return !scan->fault;
}

static bool read_number(struct json_scan *scan, struct top_value *value)
{
    struct json_text text;
    char digits[64];
    if (!json_scan_number(scan, &text) || text.raw.size >= sizeof digits)
        return false;
    memcpy(digits, text.raw.data, text.raw.size);
    digits[text.raw.size] = '\0';
    value->number = strtod(digits, NULL);
    return true;
}

static bool read_string(struct json_scan *scan, struct arena *arena, struct top_value *value)
{
    struct json_text text;
    if (!json_scan_string(scan, &text) || !(value->text = fit_text(text, arena)))
        return false;
    value->number = strtod(value->text, NULL);
    return true;
}

static bool read_value(struct json_scan *scan, struct arena *arena, struct top_value *value,
                       int depth)
{
    value->text = "";
    enum json_kind kind = json_scan_kind(scan);
    if (depth > DEEPEST)
        return false;
    if (kind == JSON_KIND_OBJECT || kind == JSON_KIND_ARRAY)
        return read_children(scan, arena, value, kind == JSON_KIND_OBJECT, depth);
    if (kind == JSON_KIND_STRING)
        return read_string(scan, arena, value);
    if (kind == JSON_KIND_NUMBER)
        return read_number(scan, value);
    value->number = kind == JSON_KIND_TRUE;
    return json_scan_skip(scan);
}

const struct top_value *top_value_read(struct view json, struct arena *arena)
{
    struct json_scan scan = json_scan_begin(json);
    struct top_value *value = arena_alloc(arena, sizeof *value);
    return value && read_value(&scan, arena, value, 0) ? value : NULL;
}

const struct top_value *top_value_get(const struct top_value *object, const char *key)
{
    static const struct top_value nothing = {.text = ""};
    const struct top_value *each = object ? object->first : NULL;
    while (each && (!each->key || strcmp(each->key, key) != 0))
        each = each->next;
    return each ? each : &nothing;
}
