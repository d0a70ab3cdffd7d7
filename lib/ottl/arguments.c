/* Arguments of functions, and functions by name. */
#include "lib/ottl/function.h"

#include <stdio.h>

static const struct ottl_function *const tables[] = {
    ottl_editors,        ottl_signal_editors, ottl_type_functions,   ottl_text_functions,
    ottl_time_functions, ottl_map_functions,  ottl_format_functions,
};
enum { TABLES = sizeof tables / sizeof *tables };

/* Those of the Collector's contrib 0.159 that are not here. */
static const char *const absent[] = {
    "aggregate_on_attribute_value",
    "aggregate_on_attributes",
    "convert_exponential_histogram_to_histogram",
    "convert_summary_count_val_to_sum",
    "convert_summary_quantile_val_to_gauge",
    "convert_summary_sum_val_to_sum",
    "copy_metric",
    "delete_index",
    "extract_count_metric",
    "extract_percentile_metric",
    "extract_sum_metric",
    "merge_histogram_buckets",
    "scale_metric",
    "All",
    "Any",
    "CommunityID",
    "ConvertAttributesToElementsXML",
    "ConvertTextToElementsXML",
    "Decode",
    "ExtractGrokPatterns",
    "Filter",
    "Find",
    "GetXML",
    "Hex",
    "InsertXML",
    "IsInCIDR",
    "IsValidLuhn",
    "Log",
    "MapEach",
    "MapKeys",
    "Murmur3Hash",
    "Murmur3Hash128",
    "ParseCEF",
    "ParseCLF",
    "ParseCSV",
    "ParseELF",
    "ParseLEEF",
    "ParseSeverity",
    "ParseSimplifiedXML",
    "ParseXML",
    "ProfileID",
    "Reduce",
    "RemoveXML",
    "SliceToMap",
    "Sort",
    "ToCamelCase",
    "ToKeyValueString",
    "ToSnakeCase",
    "TruncateTime",
    "URL",
    "UUID",
    "UUIDv7",
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

enum { NAME_MOST = 48 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, changes and swaps of neighbours that lead from one to the other. */
static unsigned distance(struct view a, struct view b)
{
    unsigned rows[3][NAME_MOST + 1];
    for (unsigned j = 0; j <= b.size; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a.size; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b.size; j++) {
            row[j] = above[j - 1] + (a.data[i - 1] != b.data[j - 1]);
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[a.size % 3][b.size];
}

void ottl_function_hint(struct view name, char hint[120])
{
    const char *near = NULL;
    unsigned best = (unsigned)(name.size + 2) / 4;
    *hint = '\0';
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (view_eq(name, view_of(absent[i])))
            snprintf(hint, 120, ": the Collector has it, spanlink does not");
    if (*hint || name.size > NAME_MOST)
        return;
    for (size_t i = 0; i < TABLES; i++)
        for (const struct ottl_function *each = tables[i]; each->name; each++) {
            unsigned away = distance(name, view_of(each->name));
            if (away <= best) {
                near = each->name;
                best = away - (away > 0);
            }
        }
    if (near)
        snprintf(hint, 120, ", did you mean %s?", near);
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

static struct view hex_text(struct ottl_run *run, struct view bytes)
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

struct view ottl_text_of(struct ottl_run *run, const struct ottl_value *value)
{
    struct value plain;
    char text[40];
    switch (value->type) {
    case TYPE_NIL:
        return (struct view){0};
    case TYPE_BYTES:
        return hex_text(run, value->bytes);
    case TYPE_TRACE_ID: /* JSON, as for every type that has no text of its own */
    case TYPE_SPAN_ID: {
        struct view hex = hex_text(run, value->bytes);
        snprintf(text, sizeof text, "\"%.*s\"", VIEW_ARG(hex));
        return ottl_keep_text(run, text);
    }
    case TYPE_TIME:
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
    ottl_to_value(value, &plain);
    struct view made = value_text(&plain, ottl_arena(run));
    if (!made.data)
        ottl_fail(run, "out of memory");
    return made;
}

struct view ottl_arg_text(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    struct ottl_value value = ottl_arg(run, call, i);
    return run->failed ? (struct view){0} : ottl_text_of(run, &value);
}
