/* Converters that make maps and lists. */
#include "lib/ottl/function.h"

#include "lib/base/utf8.h"

static struct ottl_value parse_json(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct value value;
    char why[VALUE_WHY_SIZE];
    if (run->failed)
        return ottl_nil();
    if (!value_from_json(text, ottl_arena(run), &value, why))
        return ottl_fail(run, "ParseJSON: %s", why);
    if (value.kind != VALUE_MAP && value.kind != VALUE_LIST)
        return ottl_fail(run, "ParseJSON: expected an object or an array");
    return ottl_of_value(&value);
}

/* Moves the next pair from the text to room, without its quotes. False: none is left, or a quote is
 * not closed (then *bad). */
static bool next_pair(struct view *text, struct view delimiter, uint8_t *room, struct view *pair,
                      bool *bad)
{
    uint8_t quote = 0;
    bool escaped = false;
    size_t size = 0, i = 0;
    for (; i < text->size; i++) {
        struct view rest = {text->data + i, text->size - i};
        if (!quote && view_starts(rest, delimiter)) {
            i += delimiter.size;
            if (size)
                break;
            i--;
            continue;
        }
        bool was_escaped = escaped;
        escaped = !was_escaped && *rest.data == '\\';
        if (!was_escaped && !quote && (*rest.data == '"' || *rest.data == '\'')) {
            quote = *rest.data;
            continue;
        }
        if (!was_escaped && quote && *rest.data == quote) {
            quote = 0;
            continue;
        }
        room[size++] = *rest.data;
    }
    *bad = quote;
    *pair = (struct view){room, size};
    i = i > text->size ? text->size : i;
    *text = (struct view){text->data + i, text->size - i};
    return size > 0 && !quote;
}

static struct ottl_value parse_key_value(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct view equals = ottl_has(call, 1) ? ottl_arg_string(run, call, 1) : VIEW("=");
    struct view between = ottl_has(call, 2) ? ottl_arg_string(run, call, 2) : VIEW(" ");
    struct attributes list;
    bool bad = false;
    if (!run->failed && !text.size)
        ottl_fail(run, "ParseKeyValue: empty string");
    uint8_t *room = run->failed ? NULL : arena_array_raw(ottl_arena(run), text.size + 1, 1);
    if (!room)
        return run->failed ? ottl_nil() : ottl_fail(run, "out of memory");
    attributes_read(&list, VIEW(""), 1, ottl_arena(run));
    for (struct view pair; next_pair(&text, between, room, &pair, &bad); room += pair.size) {
        const uint8_t *at = memmem(pair.data, pair.size, equals.data, equals.size);
        if (!at)
            return ottl_fail(run, "ParseKeyValue: a pair without a delimiter");
        struct value value =
            value_string(utf8_trim(view_between(at + equals.size, pair.data + pair.size)));
        attributes_set(&list, utf8_trim(view_between(pair.data, at)), &value);
    }
    return bad ? ottl_fail(run, "ParseKeyValue: missing closing quote") : ottl_made_map(run, &list);
}

static const char *check_delimiters(const struct ottl_node *call)
{
    struct view delimiters[] = {VIEW("="), VIEW(" ")};
    for (size_t i = 1; i < 3; i++) {
        if (!ottl_has(call, i))
            continue;
        if (call->items[i]->kind != NODE_LITERAL || call->items[i]->value.type != TYPE_STRING)
            return "a delimiter must be a string literal";
        delimiters[i - 1] = call->items[i]->value.bytes;
    }
    if (!delimiters[0].size || !delimiters[1].size)
        return "a delimiter must not be empty";
    return view_eq(delimiters[0], delimiters[1]) ? "the two delimiters must differ" : NULL;
}

static struct ottl_value extract_patterns(struct ottl_run *run, const struct ottl_node *call)
{
    struct view text = ottl_arg_string(run, call, 0);
    struct regex_match match;
    struct attributes list;
    if (run->failed)
        return ottl_nil();
    attributes_read(&list, VIEW(""), 1, ottl_arena(run));
    enum regex_result found = regex_find(call->regex, text, &match);
    if (found == REGEX_LIMIT)
        return ottl_fail(run, "the match exceeded its limits");
    for (size_t i = 1; found == REGEX_YES && i < match.count; i++) {
        struct view name = view_of(regex_group_name(call->regex, i));
        struct value value = value_string(match.groups[i]);
        if (name.size)
            attributes_set(&list, name, &value);
    }
    return ottl_made_map(run, &list);
}

static const char *check_groups(const struct ottl_node *call)
{
    for (size_t i = 1; i <= regex_groups(call->regex); i++)
        if (*regex_group_name(call->regex, i))
            return NULL;
    return "the pattern has no named group, expected (?P<name>...)";
}

/* The keys or the values of a map as a list. */
static struct ottl_value listed(struct ottl_run *run, const struct ottl_node *call, bool keys)
{
    struct ottl_value map = ottl_arg(run, call, 0);
    struct attributes list;
    struct bytes out;
    bool ok = true;
    if (!run->failed && map.type != TYPE_MAP)
        ottl_fail(run, "%s takes a map", call->function->name);
    if (run->failed)
        return ottl_nil();
    bytes_init(&out, (size_t)16 << 20, NULL);
    attributes_read(&list, map.bytes, 1, ottl_arena(run));
    for (size_t i = 0; ok && i < list.count; i++) {
        struct value value = keys ? value_string(list.items[i].key) : value_read(list.items[i].any);
        ok = value_append(&out, &value);
    }
    struct ottl_value made = ottl_nil();
    if (ok)
        made = ottl_bytes(TYPE_LIST, ottl_keep(run, bytes_view(&out)));
    else
        ottl_fail(run, "out of memory");
    bytes_release(&out);
    return made;
}

static struct ottl_value keys_of(struct ottl_run *run, const struct ottl_node *call)
{
    return listed(run, call, true);
}

static struct ottl_value values_of(struct ottl_run *run, const struct ottl_node *call)
{
    return listed(run, call, false);
}

static struct ottl_value contains_value(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value in = ottl_arg(run, call, 0), item = ottl_arg(run, call, 1);
    struct value each;
    if (!run->failed && in.type != TYPE_LIST)
        ottl_fail(run, "ContainsValue takes a list");
    if (run->failed)
        return ottl_nil();
    struct proto_scan scan = proto_scan_begin(in.bytes);
    while (value_next(&scan, &each)) {
        struct ottl_value has = ottl_of_value(&each);
        if (ottl_compare(&has, &item, OP_EQ))
            return ottl_bool(true);
    }
    return ottl_bool(false);
}

const struct ottl_function ottl_map_functions[] = {
    {"ParseJSON", "target", parse_json, FN_NO_PATTERN, false, 0, NULL},
    {"ParseKeyValue", "target,delimiter?,pair_delimiter?", parse_key_value, FN_NO_PATTERN, false, 0,
     check_delimiters},
    {"ExtractPatterns", "target,pattern", extract_patterns, 1, false, 0, check_groups},
    {"Keys", "target", keys_of, FN_NO_PATTERN, false, 0, NULL},
    {"Values", "target", values_of, FN_NO_PATTERN, false, 0, NULL},
    {"ContainsValue", "target,item", contains_value, FN_NO_PATTERN, false, 0, NULL},
    {0},
};
