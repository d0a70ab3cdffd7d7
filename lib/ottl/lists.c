/* Functions of lists, and between maps, lists and strings. */
#include "lib/ottl/function.h"

#include <stdio.h>
#include <stdlib.h>

enum { RESULT_MOST = 16 << 20 };

/* An argument that must be a list. False: the run has failed. */
static bool list_arg(struct ottl_run *run, const struct ottl_node *call, size_t i,
                     struct view *list)
{
    struct ottl_value value = ottl_arg(run, call, i);
    if (!run->failed && value.type != TYPE_LIST)
        ottl_fail(run, "%s takes a list, not %s", call->function->name, ottl_type_name(value.type));
    *list = value.bytes;
    return !run->failed;
}

static struct ottl_value made_list(struct ottl_run *run, struct bytes *out, bool ok)
{
    struct ottl_value made = ottl_made_text(run, out, ok);
    made.type = run->failed ? TYPE_NIL : TYPE_LIST;
    return made;
}

static size_t count_of(struct view list)
{
    struct proto_scan scan = proto_scan_begin(list);
    struct value value;
    size_t count = 0;
    while (value_next(&scan, &value))
        count++;
    return count;
}

/* ---- Sort ---- */

struct sortable {
    struct value value;
    struct view text; /* data NULL: by number */
    double number;
    size_t at;
};

static int ascending(const void *a, const void *b)
{
    const struct sortable *one = a, *two = b;
    int order =
        one->text.data ? view_order(one->text, two->text)
        : one->value.kind == VALUE_INT && two->value.kind == VALUE_INT
            ? (one->value.integer > two->value.integer) - (one->value.integer < two->value.integer)
            : (one->number > two->number) - (one->number < two->number);
    return order ? order : (one->at > two->at) - (one->at < two->at);
}

static int descending(const void *a, const void *b)
{
    return -ascending(a, b);
}

static double as_number(const struct value *value)
{
    return value->kind == VALUE_INT ? (double)value->integer : value->number;
}

/* Numbers are compared as numbers, everything else as strings. A list that has maps, lists or bytes
 * stays as it is. */
static struct ottl_value sort(struct ottl_run *run, const struct ottl_node *call)
{
    struct view list;
    if (!list_arg(run, call, 0, &list))
        return ottl_nil();
    size_t count = count_of(list);
    struct sortable *items = arena_array(ottl_arena(run), count + 1, sizeof *items);
    struct proto_scan scan = proto_scan_begin(list);
    bool numbers = true;
    for (size_t i = 0; items && value_next(&scan, &items[i].value); i++) {
        enum value_kind kind = items[i].value.kind;
        if (kind == VALUE_MAP || kind == VALUE_LIST || kind == VALUE_BYTES)
            return ottl_bytes(TYPE_LIST, list);
        numbers = numbers && (kind == VALUE_INT || kind == VALUE_DOUBLE);
        items[i].at = i;
    }
    for (size_t i = 0; items && i < count; i++) {
        if (numbers)
            items[i].number = as_number(&items[i].value);
        else if (!(items[i].text = value_text(&items[i].value, ottl_arena(run))).data)
            items = NULL;
    }
    if (!items)
        return ottl_fail(run, "out of memory");
    bool down = ottl_has(call, 1) && view_eq(call->items[1]->value.bytes, VIEW("desc"));
    qsort(items, count, sizeof *items, down ? descending : ascending);
    struct bytes out;
    bool ok = true;
    bytes_init(&out, RESULT_MOST, NULL);
    for (size_t i = 0; ok && i < count; i++)
        ok = value_append(&out, &items[i].value);
    return made_list(run, &out, ok);
}

static const char *check_order(const struct ottl_node *call)
{
    static const char *const orders[] = {"asc", "desc", NULL};
    return !ottl_has(call, 1) || ottl_is_one_of(call->items[1], orders)
               ? NULL
               : "expected the order \"asc\" or \"desc\"";
}

/* ---- SliceToMap ---- */

/* The value in a map at a path of literal keys. False: the run has failed. */
static bool value_at(struct ottl_run *run, const struct ottl_node *path, struct value *value)
{
    for (size_t i = 0; i < path->count; i++) {
        struct attributes list;
        attributes_read(&list, value->kind == VALUE_MAP ? value->bytes : VIEW(""), 1,
                        ottl_arena(run));
        if (attributes_get(&list, path->items[i]->value.bytes, value))
            continue;
        ottl_fail(run, "SliceToMap: an element lacks the path");
        return false;
    }
    return true;
}

static struct ottl_value slice_to_map(struct ottl_run *run, const struct ottl_node *call)
{
    struct view list, name;
    struct attributes map;
    struct value each, key;
    if (!list_arg(run, call, 0, &list))
        return ottl_nil();
    attributes_read(&map, VIEW(""), 1, ottl_arena(run));
    struct proto_scan scan = proto_scan_begin(list);
    for (size_t i = 0; value_next(&scan, &each); i++) {
        char number[24];
        int size = snprintf(number, sizeof number, "%zu", i);
        key = each;
        if ((ottl_has(call, 1) || ottl_has(call, 2)) && each.kind != VALUE_MAP)
            return ottl_fail(run, "SliceToMap: an element is not a map");
        if ((ottl_has(call, 1) && !value_at(run, call->items[1], &key)) ||
            (ottl_has(call, 2) && !value_at(run, call->items[2], &each)))
            return ottl_nil();
        if (ottl_has(call, 1) && key.kind != VALUE_STRING)
            return ottl_fail(run, "SliceToMap: a key is not a string");
        name = ottl_has(call, 1) ? key.bytes
                                 : ottl_keep(run, (struct view){(uint8_t *)number, (size_t)size});
        if (run->failed)
            return ottl_nil();
        attributes_set(&map, name, &each);
    }
    return ottl_made_map(run, &map);
}

static const char *check_slice(const struct ottl_node *call)
{
    for (size_t i = 1; i < 3; i++)
        if (ottl_has(call, i) && (!ottl_is_list_of_texts(call->items[i]) || !call->items[i]->count))
            return "a path must be a list of string literals";
    return NULL;
}

/* ---- ToKeyValueString ---- */

static bool has_in(struct view text, struct view what)
{
    return text.size && memmem(text.data, text.size, what.data, what.size);
}

/* Quotes are escaped; a text that contains a delimiter is quoted. */
static bool put_quoted(struct bytes *out, struct view text, struct view equals, struct view between)
{
    bool quotes = has_in(text, equals) || has_in(text, between);
    bool ok = !quotes || bytes_append(out, "\"", 1) == BYTES_OK;
    for (size_t i = 0; ok && i < text.size; i++)
        ok = (text.data[i] != '"' || bytes_append(out, "\\", 1) == BYTES_OK) &&
             bytes_append(out, text.data + i, 1) == BYTES_OK;
    return ok && (!quotes || bytes_append(out, "\"", 1) == BYTES_OK);
}

static int by_key(const void *a, const void *b)
{
    const struct attribute *one = a, *two = b;
    return view_order(one->key, two->key);
}

static struct ottl_value to_key_value(struct ottl_run *run, const struct ottl_node *call)
{
    struct view equals = ottl_text_or(call, 1, "="), between = ottl_text_or(call, 2, " ");
    struct ottl_value map = ottl_arg(run, call, 0), sorts = ottl_arg(run, call, 3);
    struct attributes list;
    struct bytes out;
    if (!run->failed && map.type != TYPE_MAP)
        ottl_fail(run, "ToKeyValueString takes a map, not %s", ottl_type_name(map.type));
    if (run->failed)
        return ottl_nil();
    attributes_read(&list, map.bytes, 1, ottl_arena(run));
    if (list.failed)
        return ottl_fail(run, "out of memory");
    if (list.count && sorts.type == TYPE_BOOL && sorts.boolean)
        qsort(list.items, list.count, sizeof *list.items, by_key);
    bool ok = true;
    bytes_init(&out, RESULT_MOST, NULL);
    for (size_t i = 0; ok && i < list.count; i++) {
        struct value value = value_read(list.items[i].any);
        struct view text = value_text(&value, ottl_arena(run));
        ok = text.data && (i == 0 || bytes_append_view(&out, between) == BYTES_OK) &&
             put_quoted(&out, list.items[i].key, equals, between) &&
             bytes_append_view(&out, equals) == BYTES_OK && put_quoted(&out, text, equals, between);
    }
    return ottl_made_text(run, &out, ok);
}

/* ---- ParseSeverity ---- */

/* 2xx to 5xx, or a map with min and max. False: neither. */
static bool range_of(const struct value *range, struct ottl_run *run, int64_t *low, int64_t *high)
{
    struct attributes list;
    struct value ends[2];
    if (range->kind == VALUE_STRING && range->bytes.size == 3 && *range->bytes.data >= '2' &&
        *range->bytes.data <= '5' && memcmp(range->bytes.data + 1, "xx", 2) == 0) {
        *low = 100 * (*range->bytes.data - '0');
        *high = *low + 99;
        return true;
    }
    if (range->kind != VALUE_MAP)
        return false;
    attributes_read(&list, range->bytes, 1, ottl_arena(run));
    if (!attributes_get(&list, VIEW("min"), &ends[0]) || ends[0].kind != VALUE_INT ||
        !attributes_get(&list, VIEW("max"), &ends[1]) || ends[1].kind != VALUE_INT)
        return false;
    *low = ends[0].integer;
    *high = ends[1].integer;
    return true;
}

/* Whether a value meets one of the criteria of a severity. */
static bool meets(const struct ottl_value *value, const struct value *criteria,
                  struct ottl_run *run)
{
    struct proto_scan scan = proto_scan_begin(criteria->bytes), texts;
    struct value each, equals, text;
    struct attributes list;
    int64_t low, high;
    while (criteria->kind == VALUE_LIST && value_next(&scan, &each)) {
        if (each.kind != VALUE_MAP)
            continue;
        attributes_read(&list, each.bytes, 1, ottl_arena(run));
        if (value->type == TYPE_INT && attributes_get(&list, VIEW("range"), &equals) &&
            range_of(&equals, run, &low, &high) && value->integer >= low && value->integer <= high)
            return true;
        if (value->type != TYPE_STRING || !attributes_get(&list, VIEW("equals"), &equals) ||
            equals.kind != VALUE_LIST)
            continue;
        texts = proto_scan_begin(equals.bytes);
        while (value_next(&texts, &text))
            if (text.kind == VALUE_STRING && view_eq(text.bytes, value->bytes))
                return true;
    }
    return false;
}

static struct ottl_value parse_severity(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_arg(run, call, 0), mapping = ottl_arg(run, call, 1);
    struct attributes list;
    if (!run->failed && value.type != TYPE_STRING && value.type != TYPE_INT)
        ottl_fail(run, "ParseSeverity takes a string or an int, not %s",
                  ottl_type_name(value.type));
    if (run->failed)
        return ottl_nil();
    attributes_read(&list, mapping.bytes, 1, ottl_arena(run));
    for (size_t i = 0; i < list.count; i++) {
        struct value criteria = value_read(list.items[i].any);
        if (meets(&value, &criteria, run))
            return ottl_string(list.items[i].key);
    }
    return ottl_fail(run, "ParseSeverity: no severity matches");
}

static const char *check_mapping(const struct ottl_node *call)
{
    return call->items[1]->kind == NODE_MAP_OF ? NULL : "the mapping must be a literal map";
}

static const char *check_delimiters(const struct ottl_node *call)
{
    for (size_t i = 1; i < 3; i++)
        if (ottl_has(call, i) &&
            (!ottl_is_text(call->items[i]) || !call->items[i]->value.bytes.size))
            return "a delimiter must be a string literal that is not empty";
    return view_eq(ottl_text_or(call, 1, "="), ottl_text_or(call, 2, " "))
               ? "the two delimiters must differ"
               : NULL;
}

/* ---- ParseCSV ---- */

struct csv {
    struct view text;
    size_t at;
    uint8_t comma;
    enum { CSV_STRICT, CSV_LAZY, CSV_NO_QUOTES } mode;
    bool bad;
};

static bool csv_ends(const struct csv *csv)
{
    return csv->at >= csv->text.size || csv->text.data[csv->at] == csv->comma;
}

/* Reads up to the closing quote. With lazy quotes, only one before a delimiter or the end of a line
 * closes. */
static size_t csv_quoted(struct csv *csv, uint8_t *out)
{
    const uint8_t *text = csv->text.data;
    size_t size = 0;
    while (csv->at < csv->text.size) {
        uint8_t c = text[csv->at++];
        if (c != '"') {
            out[size++] = c;
        } else if (csv->at < csv->text.size && text[csv->at] == '"') {
            out[size++] = '"';
            csv->at++;
        } else if (csv_ends(csv) || text[csv->at] == '\n') {
            return size;
        } else if (csv->mode == CSV_LAZY) {
            out[size++] = '"';
        } else {
            csv->bad = true;
        }
    }
    csv->bad = csv->bad || csv->mode == CSV_STRICT;
    return size;
}

/* Skips line ends, and so the empty lines that Go's reader skips. False: the text ends. */
static bool csv_skip_lines(struct csv *csv)
{
    while (csv->at < csv->text.size && csv->text.data[csv->at] == '\n')
        csv->at++;
    return csv->at < csv->text.size;
}

/* Reads a field into out, which is large enough. Line ends are part of it: there is one row. */
static size_t csv_field(struct csv *csv, uint8_t *out)
{
    size_t size = 0;
    bool quotes = csv->mode != CSV_NO_QUOTES, begins = true;
    while (!csv_ends(csv)) {
        uint8_t c = csv->text.data[csv->at];
        if (quotes && begins && c == '"') {
            csv->at++;
            size += csv_quoted(csv, out + size);
            begins = false;
            continue;
        }
        csv->bad = csv->bad || (c == '"' && csv->mode == CSV_STRICT);
        begins = c == '\n';
        csv->at++;
        if (!begins || !quotes || csv_skip_lines(csv))
            out[size++] = c;
    }
    return size;
}

/* Into room, which is large enough: with \n at the ends of lines, and no \r at the end. */
static struct view csv_lines(struct view text, uint8_t *room)
{
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] != '\r' || (i + 1 < text.size && text.data[i + 1] != '\n'))
            room[size++] = text.data[i];
    return (struct view){room, size};
}

static struct ottl_value parse_csv(struct ottl_run *run, const struct ottl_node *call)
{
    static const uint8_t comma[] = ",";
    struct view text = ottl_arg_string(run, call, 0);
    struct view header = run->failed ? VIEW("") : ottl_arg_string(run, call, 1);
    struct view delimiter =
        ottl_has(call, 2) ? call->items[2]->value.bytes : (struct view){comma, 1};
    struct view between = ottl_has(call, 3) ? call->items[3]->value.bytes : delimiter;
    struct view mode = ottl_has(call, 4) ? call->items[4]->value.bytes : VIEW("strict");
    struct csv csv = {.text = text, .comma = *delimiter.data};
    struct csv names = {.text = header, .comma = *between.data, .mode = CSV_NO_QUOTES};
    struct attributes list;
    csv.mode = view_eq(mode, VIEW("strict"))       ? CSV_STRICT
               : view_eq(mode, VIEW("lazyQuotes")) ? CSV_LAZY
                                                   : CSV_NO_QUOTES;
    uint8_t *room =
        run->failed ? NULL : arena_array_raw(ottl_arena(run), 2 * text.size + header.size + 1, 1);
    if (!room)
        return run->failed ? ottl_nil() : ottl_fail(run, "out of memory");
    if (csv.mode != CSV_NO_QUOTES) {
        csv.text = csv_lines(text, room);
        room += csv.text.size;
    }
    if (!header.size || (csv.mode != CSV_NO_QUOTES && !csv_skip_lines(&csv)))
        return ottl_fail(run, "ParseCSV: the %s is empty", header.size ? "text" : "header");
    attributes_read(&list, VIEW(""), 1, ottl_arena(run));
    for (bool more = true; more;) {
        struct view key = {room, csv_field(&names, room)};
        room += key.size;
        struct value value = value_string((struct view){room, csv_field(&csv, room)});
        room += value.bytes.size;
        attributes_set(&list, key, &value);
        more = csv.at < csv.text.size;
        if (more != (names.at < names.text.size))
            return ottl_fail(run, "ParseCSV: the header has %s fields than the text",
                             more ? "fewer" : "more");
        csv.at++;
        names.at++;
    }
    return csv.bad
               ? ottl_fail(run,
                           "ParseCSV: a quote inside an unquoted field, or a missing closing quote")
               : ottl_made_map(run, &list);
}

static const char *check_csv(const struct ottl_node *call)
{
    static const char *const modes[] = {"strict", "lazyQuotes", "ignoreQuotes", NULL};
    for (size_t i = 2; i < 4; i++)
        if (ottl_has(call, i) &&
            (!ottl_is_text(call->items[i]) || call->items[i]->value.bytes.size != 1))
            return "a delimiter must be one character";
    return !ottl_has(call, 4) || ottl_is_one_of(call->items[4], modes)
               ? NULL
               : "expected the mode \"strict\", \"lazyQuotes\" or \"ignoreQuotes\"";
}

/* ---- delete_index ---- */

static struct ottl_value delete_index(struct ottl_run *run, const struct ottl_node *call)
{
    struct view list;
    struct value each;
    if (!list_arg(run, call, 0, &list))
        return ottl_nil();
    int64_t count = (int64_t)count_of(list), from = ottl_arg_int(run, call, 1);
    int64_t to = ottl_has(call, 2) ? ottl_arg_int(run, call, 2) : from + 1;
    if (run->failed)
        return ottl_nil();
    bool all = from == 0 && to == count;
    if (!all && (from < 0 || from >= count || to < from || to > count))
        return ottl_fail(run, "delete_index: %lld to %lld is out of range in a list of %lld",
                         (long long)from, (long long)to, (long long)count);
    struct proto_scan scan = proto_scan_begin(list);
    struct bytes out;
    bool ok = true;
    bytes_init(&out, RESULT_MOST, NULL);
    for (int64_t i = 0; ok && value_next(&scan, &each); i++)
        ok = (i >= from && i < to) || value_append(&out, &each);
    struct ottl_value made = made_list(run, &out, ok);
    if (!run->failed)
        ottl_path_set(call->items[0], run, &made);
    return ottl_nil();
}

const struct ottl_function ottl_list_functions[] = {
    {"Sort", "target,order?", sort, FN_NO_PATTERN, false, 0, check_order},
    {"SliceToMap", "target,key_path?,value_path?", slice_to_map, FN_NO_PATTERN, false, 0,
     check_slice},
    {"ToKeyValueString", "target,delimiter?,pair_delimiter?,sort_output?", to_key_value,
     FN_NO_PATTERN, false, 0, check_delimiters},
    {"ParseSeverity", "target,mapping", parse_severity, FN_NO_PATTERN, false, 0, check_mapping},
    {"ParseCSV", "target,header,delimiter?,header_delimiter?,mode?", parse_csv, FN_NO_PATTERN,
     false, 0, check_csv},
    {0},
};

const struct ottl_function ottl_list_editors[] = {
    {"delete_index", "target,start_index,end_index?", delete_index, FN_NO_PATTERN, false, 0, NULL},
    {0},
};
