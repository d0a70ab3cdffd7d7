/* Parses the text in one pass, by precedence. Where a boolean is needed, anything else is refused.
 */
#include "lib/ottl/parser.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* A growing list of nodes. */
struct list {
    struct ottl_node **items;
    size_t count;
};

static void add(struct parser *parser, struct list *list, struct ottl_node *node)
{
    bool grows = (list->count & (list->count - 1)) == 0;
    if (parser->failed)
        return;
    if (list->count == OTTL_LIST_MAX) {
        parser_fail_at(parser, node->at, "list too long");
        return;
    }
    if (grows) {
        size_t room = list->count ? 2 * list->count : 1;
        struct ottl_node **items = arena_array(&parser->ottl->arena, room, sizeof *items);
        if (!items) {
            parser_fail_at(parser, node->at, "out of memory");
            return;
        }
        if (list->count)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
    }
    list->items[list->count++] = node;
}

static struct ottl_node *parent(struct parser *parser, enum node_kind_of kind, size_t at,
                                struct ottl_node *left, struct ottl_node *right)
{
    struct ottl_node *node = parser_new_node(parser, kind, at);
    struct list items = {0};
    add(parser, &items, left);
    if (right)
        add(parser, &items, right);
    node->items = items.items;
    node->count = items.count;
    return node;
}

/* ---- expressions ---- */

static struct ottl_node *expression(struct parser *parser);

static void need_value(struct parser *parser, const struct ottl_node *node)
{
    bool compound = node->kind == NODE_COMPARE || node->kind == NODE_AND || node->kind == NODE_OR ||
                    node->kind == NODE_NOT;
    if (!parser->failed && compound)
        parser_fail_at(parser, node->at, "found a condition, expected a value");
}

static void need_boolean(struct parser *parser, const struct ottl_node *node)
{
    if (!parser->failed && !node->boolean)
        parser_fail_at(parser, node->at,
                       "expected a comparison, true, false or a converter that returns a bool");
}

static struct ottl_node *value(struct parser *parser)
{
    struct ottl_node *node = expression(parser);
    need_value(parser, node);
    return node;
}

/* A string, a number or what is computed. */
static void need_key(struct parser *parser, const struct ottl_node *node)
{
    enum ottl_type type = node->value.type;
    bool is =
        node->kind == NODE_LITERAL
            ? type == TYPE_STRING || type == TYPE_INT || type == TYPE_DOUBLE
            : node->kind != NODE_LIST_OF && node->kind != NODE_MAP_OF && node->kind != NODE_ENUM;
    if (!is)
        parser_fail_at(parser, node->at, "a key must be a string, an int or an expression");
}

static void keys_of(struct parser *parser, struct ottl_node *node)
{
    struct list keys = {0};
    while (parser_take_mark(parser, '[')) {
        struct ottl_node *key = value(parser);
        need_key(parser, key);
        add(parser, &keys, key);
        parser_need_mark(parser, ']');
    }
    node->keys = keys.items;
    node->key_count = keys.count;
}

/* Takes a comma, behind which there must be more. False: there is none. */
static bool more(struct parser *parser, char end)
{
    bool comma = parser_take_mark(parser, ',');
    if (comma && parser_is_mark(parser, end))
        parser_fail(parser, "a value");
    return comma;
}

/* name(a, b, c = d)[key] */
static struct ottl_node *call(struct parser *parser, struct token name)
{
    struct ottl_node *node = parser_new_node(parser, NODE_CALL, name.at);
    struct list items = {0};
    node->name = name.text;
    node->boolean = true;
    parser_need_mark(parser, '(');
    while (!parser->failed && !parser_is_mark(parser, ')')) {
        struct ottl_node *item = value(parser);
        if (item->kind == NODE_PATH && !item->key_count && parser_is_mark(parser, '=')) {
            struct view argument = item->name;
            parser_next(parser);
            item = value(parser);
            if (!parser->failed)
                item->argument = argument;
        }
        add(parser, &items, item);
        if (!more(parser, ')'))
            break;
    }
    parser_need_mark(parser, ')');
    node->items = items.items;
    node->count = items.count;
    keys_of(parser, node);
    struct list calls = {parser->ottl->calls, parser->ottl->call_count};
    add(parser, &calls, node);
    parser->ottl->calls = calls.items;
    parser->ottl->call_count = calls.count;
    return node;
}

static bool all_lower(struct view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (isupper(text.data[i]))
            return false;
    return true;
}

static bool all_upper(struct view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (islower(text.data[i]))
            return false;
    return true;
}

/* The context that a path names and only the Collector has; NULL: none. */
static const char *unsupported_context(struct view name)
{
    static const char *const contexts[] = {"exemplar", "profilesample"};
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
        size_t size = strlen(contexts[i]);
        if (name.size > size && name.data[size] == '.' && view_starts(name, view_of(contexts[i])))
            return contexts[i];
    }
    return NULL;
}

/* The text of a path without blanks around its dots. */
static struct view without_blanks(struct parser *parser, struct view text)
{
    uint8_t *out = arena_array_raw(&parser->ottl->arena, text.size, 1), *end = out;
    if (!out)
        parser_fail_at(parser, parser->token.at, "out of memory");
    for (size_t i = 0; out && i < text.size; i++)
        if (!isspace(text.data[i]))
            *end++ = text.data[i];
    return out ? view_between(out, end) : VIEW("");
}

/* a.b.c["key"][0]; keys between the names, as in a["x"].b, are refused. */
static struct ottl_node *path(struct parser *parser, struct token first)
{
    struct ottl_node *node = parser_new_node(parser, NODE_PATH, first.at);
    const uint8_t *end = first.text.data + first.text.size;
    while (!parser->failed && parser_is_mark(parser, '.')) {
        parser_next(parser);
        if (parser->token.kind != TOKEN_NAME || !all_lower(parser->token.text)) {
            parser_fail(parser, "a path segment");
            return node;
        }
        end = parser->token.text.data + parser->token.text.size;
        parser_next(parser);
    }
    node->name = without_blanks(parser, view_between(first.text.data, end));
    keys_of(parser, node);
    if (!parser->failed && parser_is_mark(parser, '.'))
        parser_fail(parser, "no name after a key");
    const char *unsupported = unsupported_context(node->name);
    if (unsupported && !parser->failed) {
        ottl_say(parser->ottl, first.at, parser->fault, "the context %s is not supported",
                 unsupported);
        parser->failed = true;
    }
    enum ottl_context context = ottl_path_context(node->name);
    if (context == OTTL_NONE && !parser->ottl->stray.size && !parser_is_mark(parser, '=') &&
        !view_starts(node->name, VIEW("otelcol.")))
        parser->ottl->stray = node->name;
    if (context > parser->ottl->inferred)
        parser->ottl->inferred = context;
    return node;
}

/* Words of other languages for nil, and literals in other letters. */
static void refuse_literals(struct parser *parser, struct view name)
{
    static const struct {
        const char *word, *expected;
    } words[] = {
        {"nil", "nil"}, {"null", "nil"}, {"none", "nil"}, {"true", "true"}, {"false", "false"}};
    char text[80];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (name.size == strlen(words[i].word) &&
            strncasecmp((const char *)name.data, words[i].word, name.size) == 0 &&
            !parser_is_mark(parser, '.') && !parser_is_mark(parser, '[') &&
            !parser_is_mark(parser, '(') && !parser_is_mark(parser, '=')) {
            snprintf(text, sizeof text, "found %.*s, expected %s", VIEW_ARG(name),
                     words[i].expected);
            parser_fail_at(parser, (size_t)(name.data - (const uint8_t *)parser->ottl->text), text);
        }
}

static struct ottl_node *word(struct parser *parser)
{
    struct token name = parser->token;
    struct ottl_node *node;
    parser_next(parser);
    if (view_eq(name.text, VIEW("nil")))
        return parser_new_node(parser, NODE_LITERAL, name.at);
    if (view_eq(name.text, VIEW("true")) || view_eq(name.text, VIEW("false"))) {
        node = parser_new_node(parser, NODE_LITERAL, name.at);
        node->value = ottl_bool(*name.text.data == 't');
        node->boolean = true;
        return node;
    }
    refuse_literals(parser, name.text);
    if (parser_is_mark(parser, '(')) {
        if (islower(*name.text.data)) {
            char text[200];
            snprintf(
                text, sizeof text,
                parser->ottl->kind == OTTL_CONDITION
                    ? "%.*s: a condition has no editors; converters begin with a capital letter"
                    : "%.*s: editors are allowed only at the start of a statement; converters "
                      "begin with a capital letter",
                (int)(name.text.size < 60 ? name.text.size : 60), name.text.data);
            parser_fail_at(parser, name.at, text);
        }
        return call(parser, name);
    }
    if (all_lower(name.text) || (islower(*name.text.data) && parser_is_mark(parser, '=')))
        return path(parser, name);
    bool argument = parser_is_mark(parser, ',') || parser_is_mark(parser, ')');
    if (!all_upper(name.text) && !argument)
        parser_fail_at(parser, name.at, "expected (...) after a converter's name");
    node = parser_new_node(parser, NODE_ENUM, name.at);
    node->name = name.text;
    return node;
}

static struct ottl_node *list(struct parser *parser)
{
    struct ottl_node *node = parser_new_node(parser, NODE_LIST_OF, parser->token.at);
    struct list items = {0};
    parser_need_mark(parser, '[');
    while (!parser->failed && !parser_is_mark(parser, ']')) {
        add(parser, &items, value(parser));
        if (!more(parser, ']'))
            break;
    }
    parser_need_mark(parser, ']');
    node->items = items.items;
    node->count = items.count;
    return node;
}

static struct ottl_node *map(struct parser *parser)
{
    struct ottl_node *node = parser_new_node(parser, NODE_MAP_OF, parser->token.at);
    struct list items = {0};
    parser_need_mark(parser, '{');
    while (!parser->failed && !parser_is_mark(parser, '}')) {
        if (parser->token.kind != TOKEN_STRING) {
            parser_fail(parser, "a string as the key");
            break;
        }
        add(parser, &items, parser_literal(parser));
        parser_need_mark(parser, ':');
        add(parser, &items, value(parser));
        parser_take_mark(parser, ',');
    }
    parser_need_mark(parser, '}');
    node->items = items.items;
    node->count = items.count;
    return node;
}

static struct ottl_node *primary(struct parser *parser)
{
    struct ottl_node *node;
    switch (parser->token.kind) {
    case TOKEN_NAME:
        return word(parser);
    case TOKEN_STRING:
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_BYTES:
        return parser_literal(parser);
    case TOKEN_MARK:
    case TOKEN_END:
    case TOKEN_BAD:
    case TOKEN_OP:
        break;
    }
    if (parser_is_mark(parser, '['))
        return list(parser);
    if (parser_is_mark(parser, '{'))
        return map(parser);
    if (parser_take_mark(parser, '(')) {
        node = expression(parser);
        parser_need_mark(parser, ')');
        return node;
    }
    parser_fail(parser, "a value");
    return parser_new_node(parser, NODE_LITERAL, parser->token.at);
}

static struct ottl_node *unary(struct parser *parser)
{
    size_t at = parser->token.at;
    bool minus = parser_is_mark(parser, '-');
    if (!minus && !parser_is_mark(parser, '+'))
        return primary(parser);
    parser_next(parser);
    if (minus && parser->token.kind == TOKEN_INT &&
        view_eq(parser->token.text, VIEW("9223372036854775808"))) {
        struct ottl_node *least = parser_new_node(parser, NODE_LITERAL, at);
        least->value = ottl_int(INT64_MIN);
        least->sign = true;
        parser_next(parser);
        return least;
    }
    struct ottl_node *node = primary(parser);
    need_value(parser, node);
    node->sign = true;
    if (!minus || parser->failed)
        return node;
    if (node->kind == NODE_LITERAL)
        node->at = at;
    if (node->kind == NODE_LITERAL && node->value.type == TYPE_INT) {
        node->value.integer = -node->value.integer;
        return node;
    }
    if (node->kind == NODE_LITERAL && node->value.type == TYPE_DOUBLE) {
        node->value.number = -node->value.number;
        return node;
    }
    return parent(parser, NODE_NEGATE, at, node, NULL);
}

/* Left to right: * and / bind closer than + and -. */
static struct ottl_node *math(struct parser *parser, bool sums)
{
    struct ottl_node *left = sums ? math(parser, false) : unary(parser);
    for (;;) {
        bool second = parser_is_mark(parser, sums ? '-' : '/');
        size_t at = parser->token.at;
        if (parser->failed || (!second && !parser_is_mark(parser, sums ? '+' : '*')))
            return left;
        parser_next(parser);
        need_value(parser, left);
        struct ottl_node *right = sums ? math(parser, false) : unary(parser);
        need_value(parser, right);
        left = parent(parser, NODE_MATH, at, left, right);
        left->op = sums ? (second ? OP_SUB : OP_ADD) : (second ? OP_DIV : OP_MUL);
    }
}

static enum ottl_op op_of(struct view text)
{
    if (*text.data == '=' || *text.data == '!')
        return *text.data == '=' ? OP_EQ : OP_NE;
    if (*text.data == '<')
        return text.size == 2 ? OP_LE : OP_LT;
    return text.size == 2 ? OP_GE : OP_GT;
}

static struct ottl_node *comparison(struct parser *parser)
{
    size_t at = parser->token.at;
    if (parser_take_word(parser, "not")) {
        struct ottl_node *of = ++parser->depth < OTTL_DEPTH_MAX ? comparison(parser) : NULL;
        parser->depth--;
        if (!of) {
            parser_fail_at(parser, at, "nested too deeply");
            return parser_new_node(parser, NODE_NOT, at);
        }
        need_boolean(parser, of);
        struct ottl_node *node = parent(parser, NODE_NOT, at, of, NULL);
        node->boolean = true;
        return node;
    }
    struct ottl_node *left = math(parser, true);
    if (parser->failed || parser->token.kind != TOKEN_OP)
        return left;
    enum ottl_op op = op_of(parser->token.text);
    parser_next(parser);
    need_value(parser, left);
    struct ottl_node *right = math(parser, true);
    need_value(parser, right);
    struct ottl_node *node = parent(parser, NODE_COMPARE, at, left, right);
    node->op = op;
    node->boolean = true;
    return node;
}

static struct ottl_node *joined(struct parser *parser, bool ors)
{
    struct ottl_node *left = ors ? joined(parser, false) : comparison(parser);
    size_t at = parser->token.at;
    while (!parser->failed && parser_take_word(parser, ors ? "or" : "and")) {
        need_boolean(parser, left);
        struct ottl_node *right = ors ? joined(parser, false) : comparison(parser);
        need_boolean(parser, right);
        left = parent(parser, ors ? NODE_OR : NODE_AND, at, left, right);
        left->boolean = true;
        at = parser->token.at;
    }
    return left;
}

static struct ottl_node *expression(struct parser *parser)
{
    struct ottl_node *node;
    if (++parser->depth > OTTL_DEPTH_MAX)
        parser_fail_at(parser, parser->token.at, "nested too deeply");
    node = parser->failed ? parser_new_node(parser, NODE_LITERAL, parser->token.at)
                          : joined(parser, true);
    parser->depth--;
    return node;
}

static void statement(struct parser *parser)
{
    struct token name = parser->token;
    if (name.kind != TOKEN_NAME) {
        parser_fail(parser, "an editor, such as set(...)");
        return;
    }
    parser_next(parser);
    if (isupper(*name.text.data))
        parser_fail_at(parser, name.at, "an editor's name begins with a lowercase letter");
    if (!parser_is_mark(parser, '(') && parser->token.kind != TOKEN_END)
        parser_fail_at(parser, name.at, "expected an editor, such as set(...)");
    parser->ottl->editor = call(parser, name);
    if (!parser->failed && parser->ottl->editor->key_count)
        parser_fail_at(parser, name.at, "an editor call cannot be indexed");
    if (parser_take_word(parser, "where"))
        parser->ottl->where = expression(parser);
}

struct ottl *ottl_parse(enum ottl_kind kind, struct view text, struct ottl_fault *fault)
{
    struct ottl *ottl = calloc(1, sizeof *ottl);
    *fault = (struct ottl_fault){.text = "out of memory", .line = 1, .column = 1};
    if (!ottl)
        return NULL;
    ottl->kind = kind;
    arena_init(&ottl->arena, (size_t)4 << 20);
    ottl->text = strndup((const char *)text.data, text.size);
    ottl->size = ottl->text ? strlen(ottl->text) : 0;
    struct parser parser = {.ottl = ottl, .fault = fault, .failed = !ottl->text};
    if (ottl->text && (text.size > OTTL_TEXT_MAX || ottl->size < text.size))
        parser_fail_at(&parser, ottl->size, "longer than 16384 bytes, or contains a NUL byte");
    if (!parser.failed) {
        parser.token.text.data = (const uint8_t *)ottl->text;
        parser_next(&parser);
        if (kind == OTTL_STATEMENT)
            statement(&parser);
        else
            ottl->where = expression(&parser);
    }
    if (!parser.failed && parser.token.kind != TOKEN_END)
        parser_fail(&parser, !ottl->where           ? "where, or the end"
                             : ottl->where->boolean ? "and, or, or the end"
                                                    : "an operator such as ==");
    if (!parser.failed && ottl->where)
        need_boolean(&parser, ottl->where);
    if (!parser.failed)
        return ottl;
    ottl_free(ottl);
    return NULL;
}

void ottl_free(struct ottl *ottl)
{
    for (size_t i = 0; ottl && i < ottl->call_count; i++)
        regex_free(ottl->calls[i]->regex);
    if (ottl) {
        arena_release(&ottl->arena);
        free(ottl->text);
    }
    free(ottl);
}

enum ottl_context ottl_inferred(const struct ottl *ottl)
{
    return ottl->inferred;
}

bool ottl_adds_items(const struct ottl *ottl)
{
    return ottl->adds_items;
}

bool ottl_reads_client(const struct ottl *ottl)
{
    return ottl->reads_client;
}

bool ottl_reaches_out(const struct ottl *ottl)
{
    return ottl->reaches_out;
}

struct view ottl_text(const struct ottl *ottl)
{
    return (struct view){(const uint8_t *)ottl->text, ottl->size};
}
