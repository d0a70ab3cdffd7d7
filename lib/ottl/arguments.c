/* Arguments of functions, and functions by name. */
#include "lib/base/nearest.h"
#include "lib/ottl/function.h"

#include <stdio.h>
#include <time.h>

static const struct ottl_function *const tables[] = {
    ottl_editors,           ottl_metric_editors,      ottl_aggregate_editors,
    ottl_span_editors,      ottl_type_functions,      ottl_text_functions,
    ottl_time_functions,    ottl_time_text_functions, ottl_time_reading_functions,
    ottl_map_functions,     ottl_format_functions,    ottl_case_functions,
    ottl_url_functions,     ottl_list_functions,      ottl_list_editors,
    ottl_replace_editors,   ottl_grok_functions,      ottl_xml_functions,
    ottl_histogram_editors, ottl_exponential_editors, ottl_address_functions,
};
enum { TABLES = sizeof tables / sizeof *tables };

/* Functions of the Collector's contrib 0.159 that are not supported. */
static const char *const absent[] = {
    "All",
    "Any",
    "ConvertAttributesToElementsXML",
    "ConvertTextToElementsXML",
    "Filter",
    "Find",
    "GetXML",
    "InsertXML",
    "MapEach",
    "MapKeys",
    "ParseCEF",
    "ParseCLF",
    "ParseELF",
    "ParseLEEF",
    "ProfileID",
    "Reduce",
    "RemoveXML",
    "UserAgent",
    "When",
    "XXH128",
    "XXH3",
};

const struct ottl_function *ottl_function_find(struct view name)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const struct ottl_function *each = tables[i]; each->name; each++)
            if (view_eq(name, view_of(each->name)))
                return each;
    return NULL;
}

void ottl_function_hint(struct view name, char hint[120])
{
    struct nearest nearest = nearest_begin(name);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (view_eq(name, view_of(absent[i]))) {
            snprintf(hint, 120, ": the Collector has it, spanlink does not");
            return;
        }
    for (size_t i = 0; i < TABLES; i++)
        for (const struct ottl_function *each = tables[i]; each->name; each++)
            nearest_offer(&nearest, each->name);
    nearest_hint(&nearest, hint);
}

struct ottl_value ottl_made_text(struct ottl_run *run, struct bytes *out, bool ok)
{
    struct ottl_value made = ottl_nil();
    if (ok)
        made = ottl_string(ottl_keep(run, bytes_view(out)));
    else if (!run->failed)
        ottl_fail(run, "out of memory, or the string is too long");
    bytes_release(out);
    return made;
}

struct ottl_value ottl_made_map(struct ottl_run *run, const struct attributes *list)
{
    struct value map = attributes_map(list);
    return list->failed || !map.bytes.data ? ottl_fail(run, "out of memory")
                                           : ottl_bytes(TYPE_MAP, map.bytes);
}

struct ottl_value ottl_call_with(struct ottl_run *run, const struct ottl_function *converter,
                                 struct view text)
{
    struct ottl_node argument = {.kind = NODE_LITERAL, .value = ottl_string(text)};
    struct ottl_node *arguments[] = {&argument};
    struct ottl_node call = {
        .kind = NODE_CALL, .function = converter, .items = arguments, .count = 1};
    return converter->fn(run, &call);
}

bool ottl_is_text(const struct ottl_node *node)
{
    return node->kind == NODE_LITERAL && node->value.type == TYPE_STRING;
}

bool ottl_is_one_of(const struct ottl_node *node, const char *const *texts)
{
    for (; ottl_is_text(node) && *texts; texts++)
        if (view_eq(node->value.bytes, view_of(*texts)))
            return true;
    return false;
}

bool ottl_is_list_of_texts(const struct ottl_node *node)
{
    for (size_t i = 0; node->kind == NODE_LIST_OF && i < node->count; i++)
        if (!ottl_is_text(node->items[i]))
            return false;
    return node->kind == NODE_LIST_OF;
}

struct ottl_value ottl_arg(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    return ottl_has(call, i) ? ottl_node_eval(call->items[i], run) : ottl_nil();
}

static struct ottl_value typed(struct ottl_run *run, const struct ottl_node *call, size_t i,
                               enum ottl_type type)
{
    struct ottl_value value = ottl_arg(run, call, i);
    if (!run->failed && value.type != type)
        ottl_fail(run, "%s takes %s, not %s", call->function->name, ottl_type_name(type),
                  ottl_type_name(value.type));
    return value;
}

struct view ottl_arg_string(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    struct ottl_value value = typed(run, call, i, TYPE_STRING);
    return run->failed ? (struct view){0} : value.bytes;
}

int64_t ottl_arg_int(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    struct ottl_value value = typed(run, call, i, TYPE_INT);
    return run->failed ? 0 : value.integer;
}

struct view ottl_hex_text(struct ottl_run *run, struct view bytes)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *out = arena_array_raw(ottl_arena(run), 2 * bytes.size + 1, 1);
    if (!out) {
        ottl_fail(run, "out of memory");
        return (struct view){0};
    }
    for (size_t i = 0; i < bytes.size; i++) {
        out[2 * i] = (uint8_t)digits[bytes.data[i] >> 4];
        out[2 * i + 1] = (uint8_t)digits[bytes.data[i] & 15];
    }
    return (struct view){out, 2 * bytes.size};
}

/* [1,2,255] */
static struct view decimals(struct ottl_run *run, struct view bytes)
{
    char text[16 * 4 + 2] = "[";
    size_t size = 1;
    for (size_t i = 0; i < bytes.size && size + 5 < sizeof text; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, i ? ",%u" : "%u", bytes.data[i]);
    snprintf(text + size, sizeof text - size, "]");
    return ottl_keep_text(run, text);
}

/* Where the Collector has no text for a type, it shows the JSON that Go makes of it. */
/* As JSON, which has years of four digits (RFC 3339). */
static struct view time_text(struct ottl_run *run, const struct ottl_value *time)
{
    const int year = ottl_time_parts(time).tm_year + 1900;
    if (year >= 0 && year <= 9999)
        return ottl_time_text(run, time, VIEW("\"%FT%T.%s%:\""));
    ottl_fail(run, "the time is in the year %d, whose text is for years from 0 to 9999", year);
    return (struct view){0};
}

struct view ottl_text_of(struct ottl_run *run, const struct ottl_value *value)
{
    struct value plain;
    char text[32];
    switch (value->type) {
    case TYPE_NIL:
        return (struct view){0};
    case TYPE_BYTES:
        return ottl_hex_text(run, value->bytes);
    case TYPE_TRACE_ID:
    case TYPE_SPAN_ID:
        return decimals(run, value->bytes);
    case TYPE_TIME:
        return time_text(run, value);
    case TYPE_MESSAGES: /* as Go shows a type without exported fields */
        return ottl_keep_text(run, "{}");
    case TYPE_DURATION:
        snprintf(text, sizeof text, "%lld", (long long)value->integer);
        return ottl_keep_text(run, text);
    case TYPE_BOOL:
    case TYPE_INT:
    case TYPE_DOUBLE:
    case TYPE_STRING:
    case TYPE_LIST:
    case TYPE_MAP:
        break;
    }
    bool not_json = false;
    ottl_to_value(value, &plain);
    struct view made = value->type != TYPE_STRING
                           ? value_ottl_text(&plain, ottl_arena(run), &not_json)
                           : value_text(&plain, ottl_arena(run));
    if (not_json)
        ottl_fail(run, "NaN and infinity have no text");
    else if (!made.data)
        ottl_fail(run, "out of memory");
    return made;
}

struct view ottl_arg_text(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    struct ottl_value value = ottl_arg(run, call, i);
    return run->failed ? (struct view){0} : ottl_text_of(run, &value);
}
