/* ExtractGrokPatterns: %{NAME}, %{NAME:key} and %{NAME:key:type} become groups. */
#include "lib/ottl/grok.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROK_DEPTH = 32, ERROR_SIZE = 200 };

/* One expansion of a pattern. Groups are named __0, __1 and so on, those that the pattern itself
 * names as well, since PCRE2's names are short and have no dots. */
struct expansion {
    const struct ottl_node *definitions; /* of the call; NULL: none */
    bool named_only;
    struct grok *grok;
    struct arena *arena;
    struct bytes out;
    char error[ERROR_SIZE];
};

/* False, for callers to return. */
__attribute__((format(printf, 2, 3))) static bool fail(struct expansion *expansion,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(expansion->error, sizeof expansion->error, format, args);
    va_end(args);
    return false;
}

/* Bytes of a name that an error shows. */
static int shown(struct view name)
{
    return (int)(name.size < 60 ? name.size : 60);
}

static bool is_word(uint8_t c)
{
    return isalnum(c) || c == '_';
}

/* The word at the start of a text, with dots where keys may have them. */
static struct view take_word(struct view *text, bool dots)
{
    size_t size = 0;
    while (size < text->size && (is_word(text->data[size]) ||
                                 (dots && (text->data[size] == '.' || text->data[size] == '+'))))
        size++;
    struct view word = {text->data, size};
    *text = (struct view){text->data + size, text->size - size};
    return word;
}

static bool take(struct view *text, char c)
{
    bool is = text->size && *text->data == (uint8_t)c;
    *text = (struct view){text->data + is, text->size - is};
    return is;
}

struct reference {
    struct view name, key, type;
};

/* Reads a reference. False: the text does not begin with one; it is unchanged. */
static bool take_reference(struct view *text, struct reference *reference)
{
    struct view rest = *text;
    *reference = (struct reference){0};
    if (!take(&rest, '%') || !take(&rest, '{'))
        return false;
    reference->name = take_word(&rest, false);
    bool ok = reference->name.size;
    if (ok && take(&rest, ':')) {
        reference->key = take_word(&rest, true);
        ok = reference->key.size;
        if (ok && take(&rest, ':')) {
            reference->type = take_word(&rest, false);
            ok = reference->type.size;
        }
    }
    if (!ok || !take(&rest, '}'))
        return false;
    *text = rest;
    return true;
}

/* The definition that a call or the table gives a name, the last one of several. */
static struct view definition_of(const struct expansion *expansion, struct view name)
{
    const struct ottl_node *list = expansion->definitions;
    for (size_t i = list ? list->count : 0; i-- > 0;) {
        struct view each = list->items[i]->value.bytes;
        if (view_starts(each, name) && each.size > name.size && each.data[name.size] == '=')
            return (struct view){each.data + name.size + 1, each.size - name.size - 1};
    }
    return grok_definition(name);
}

/* Sets the converter of a type; "string" has none. */
static bool set_type(struct expansion *expansion, size_t group, struct view type)
{
    static const char *const types[][2] = {{"int", "Int"},      {"long", "Int"},
                                           {"float", "Double"}, {"double", "Double"},
                                           {"bool", "Bool"},    {"boolean", "Bool"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (view_eq(type, view_of(types[i][0])))
            expansion->grok->groups[group].converter = ottl_function_find(view_of(types[i][1]));
    if (!type.size || view_eq(type, VIEW("string")) || expansion->grok->groups[group].converter)
        return true;
    return fail(expansion,
                "unknown type %.*s, expected int, long, float, double, bool, boolean or string",
                shown(type), type.data);
}

static bool open_group(struct expansion *expansion, const struct reference *reference)
{
    struct grok *grok = expansion->grok;
    struct view name = reference->key.size ? reference->key : reference->name;
    size_t group = grok->references;
    if (expansion->named_only && !reference->key.size)
        return bytes_append(&expansion->out, "(?:", 3) == BYTES_OK;
    if (group == REGEX_GROUPS_MAX)
        return fail(expansion, "too many groups, at %%{%.*s}", shown(reference->name),
                    reference->name.data);
    if (memchr(name.data, '+', name.size))
        return fail(expansion, "a key must not have a +: %.*s", shown(name), name.data);
    grok->groups[group].name = name;
    grok->references++;
    return set_type(expansion, group, reference->type) &&
           bytes_printf(&expansion->out, "(?P<__%zu>", group) == BYTES_OK;
}

/* Reads (?P<name> or (?<name>. False: the text does not begin with it; it is unchanged. */
static bool take_own_name(struct view *text, struct view *name)
{
    struct view rest = *text;
    if (!take(&rest, '(') || !take(&rest, '?'))
        return false;
    (void)take(&rest, 'P');
    if (!take(&rest, '<'))
        return false;
    *name = take_word(&rest, false);
    if (!name->size || isdigit(*name->data) || !take(&rest, '>'))
        return false;
    *text = rest;
    return true;
}

/* Opens a group that the pattern names, with a dot for each ___. */
static bool open_own_group(struct expansion *expansion, struct view name)
{
    char *copy = arena_text(expansion->arena, name), *to = copy;
    for (const char *from = copy; copy && *from; to++) {
        bool dot = strncmp(from, "___", 3) == 0;
        *to = dot ? '.' : *from;
        from += dot ? 3 : 1;
    }
    struct reference reference = {.name = name, .key = {(uint8_t *)copy, (size_t)(to - copy)}};
    return copy && open_group(expansion, &reference);
}

/* Copies a character that begins no reference, or an escape sequence. */
static bool copy_character(struct expansion *expansion, struct view *pattern, bool *in_class)
{
    size_t size = *pattern->data == '\\' && pattern->size > 1 ? 2 : 1;
    struct view name;
    if (!*in_class && take_own_name(pattern, &name))
        return open_own_group(expansion, name);
    if (!*in_class && *pattern->data == '[') { /* a ] right behind is a member of the class */
        *in_class = true;
        size += size < pattern->size && pattern->data[size] == '^';
        size += size < pattern->size && pattern->data[size] == ']';
    } else if (*pattern->data == ']') {
        *in_class = false;
    }
    bool ok = bytes_append(&expansion->out, pattern->data, size) == BYTES_OK;
    *pattern = (struct view){pattern->data + size, pattern->size - size};
    return ok;
}

/* Appends a pattern with its references expanded. False: an error, or out is full. */
static bool expand(struct expansion *expansion, struct view pattern, unsigned depth)
{
    struct reference reference;
    bool in_class = false;
    while (pattern.size) {
        if (!take_reference(&pattern, &reference)) {
            if (!copy_character(expansion, &pattern, &in_class))
                return false;
            continue;
        }
        struct view definition = definition_of(expansion, reference.name);
        if (!definition.data)
            return fail(expansion,
                        "unknown pattern %.*s, expected a built-in one or one of the "
                        "pattern definitions",
                        shown(reference.name), reference.name.data);
        if (depth == GROK_DEPTH)
            return fail(expansion, "pattern %.*s refers to itself, or is nested too deeply",
                        shown(reference.name), reference.name.data);
        if (!open_group(expansion, &reference) || !expand(expansion, definition, depth + 1) ||
            bytes_append(&expansion->out, ")", 1) != BYTES_OK)
            return false;
    }
    return true;
}

/* ---- the groups of the compiled pattern ---- */

/* Puts the references' names into the places of their groups. */
static void number_groups(struct grok *grok, const struct regex *regex)
{
    const struct grok from = *grok;
    memset(grok->groups, 0, sizeof grok->groups);
    for (size_t i = 1; i <= regex_groups(regex); i++) {
        const char *name = regex_group_name(regex, i);
        char *end;
        unsigned long reference = strncmp(name, "__", 2) == 0 && isdigit((uint8_t)name[2])
                                      ? strtoul(name + 2, &end, 10)
                                      : ULONG_MAX;
        if (reference < from.references)
            grok->groups[i] = from.groups[reference];
    }
    for (size_t i = 1; i < REGEX_GROUPS_MAX; i++) /* a type is that of a key */
        for (size_t j = 1; j < REGEX_GROUPS_MAX && !grok->groups[i].converter; j++)
            if (grok->groups[i].name.size && view_eq(grok->groups[i].name, grok->groups[j].name))
                grok->groups[i].converter = grok->groups[j].converter;
}

static const char *wrong_argument(const struct ottl_node *call)
{
    if (!ottl_is_text(call->items[1]))
        return "the pattern must be a string literal";
    if (ottl_has(call, 2) &&
        (call->items[2]->kind != NODE_LITERAL || call->items[2]->value.type != TYPE_BOOL))
        return "named_captures_only must be true or false";
    if (ottl_has(call, 3) && !ottl_is_list_of_texts(call->items[3]))
        return "the pattern definitions must be a list of string literals";
    for (size_t i = 0; ottl_has(call, 3) && i < call->items[3]->count; i++) {
        struct view text = call->items[3]->items[i]->value.bytes, name = take_word(&text, false);
        if (!name.size || !take(&text, '='))
            return "a pattern definition must be NAME=pattern";
    }
    return NULL;
}

struct regex *grok_compile(struct ottl_node *call, struct arena *arena, char *error,
                           size_t error_size)
{
    const char *wrong = wrong_argument(call);
    struct grok *grok = arena_array(arena, 1, sizeof *grok);
    struct expansion expansion = {
        .definitions = ottl_has(call, 3) ? call->items[3] : NULL,
        .named_only = ottl_has(call, 2) && call->items[2]->value.boolean,
        .grok = grok,
        .arena = arena,
        .error = "longer than 8192 bytes with all references, or out of memory",
    };
    struct regex *regex = NULL;
    if (wrong || !grok) {
        snprintf(error, error_size, "%s", wrong ? wrong : "out of memory");
        return NULL;
    }
    bytes_init(&expansion.out, REGEX_PATTERN_MAX, NULL);
    if (expand(&expansion, call->items[1]->value.bytes, 0))
        regex = regex_new(bytes_view(&expansion.out), error, error_size);
    else
        snprintf(error, error_size, "%s", expansion.error);
    bytes_release(&expansion.out);
    if (regex)
        number_groups(grok, regex);
    call->grok = grok;
    return regex;
}

/* ---- the function ---- */

static struct ottl_value extract(struct ottl_run *run, const struct ottl_node *call)
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
        struct view name = call->grok->groups[i].name;
        const struct ottl_function *converter = call->grok->groups[i].converter;
        struct value value = value_string(match.groups[i]);
        if (!name.size || !match.groups[i].size)
            continue;
        if (converter) {
            struct ottl_value converted = ottl_call_with(run, converter, match.groups[i]);
            if (run->failed || converted.type == TYPE_NIL)
                return ottl_fail(run, "ExtractGrokPatterns: %.*s is not of its type", shown(name),
                                 name.data);
            ottl_to_value(&converted, &value);
        }
        attributes_set(&list, name, &value);
    }
    return ottl_made_map(run, &list);
}

static const char *check_names(const struct ottl_node *call)
{
    bool named_only = ottl_has(call, 2) && call->items[2]->value.boolean;
    for (size_t i = 1; named_only && i < REGEX_GROUPS_MAX; i++)
        if (call->grok->groups[i].name.size)
            return NULL;
    return named_only ? "the pattern has no group with a name, expected %{NAME:key}" : NULL;
}

const struct ottl_function ottl_grok_functions[] = {
    {"ExtractGrokPatterns", "target,pattern,named_captures_only?,pattern_definitions?", extract, 1,
     false, 0, check_names},
    {0},
};
