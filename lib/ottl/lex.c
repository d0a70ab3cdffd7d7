/* Splits the text into tokens, and reads literals. */
#include "lib/ottl/parser.h"

#include "lib/base/shown.h"
#include "lib/wire/proto/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool ottl_say(const struct ottl *ottl, size_t at, struct ottl_fault *fault, const char *format, ...)
{
    va_list args;
    fault->line = fault->column = 1;
    for (size_t i = 0; i < at && i < ottl->size; i++) {
        fault->column = ottl->text[i] == '\n' ? 1 : fault->column + 1;
        fault->line += ottl->text[i] == '\n';
    }
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return false;
}

/* ---- tokens ---- */

static bool name_start(int c)
{
    return isalpha(c);
}

static size_t name_size(const char *at)
{
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_')
        n++;
    return n;
}

static size_t digits(const char *at)
{
    size_t n = 0;
    while (isdigit((unsigned char)at[n]))
        n++;
    return n;
}

/* Bytes of a number; 0: none. */
static size_t number_size(const char *at, enum token_kind *kind)
{
    size_t whole = digits(at), fraction = 0, n = whole;
    *kind = TOKEN_INT;
    if (at[0] == '0' && at[1] == 'x' && isxdigit((unsigned char)at[2])) {
        *kind = TOKEN_BYTES;
        for (n = 2; isxdigit((unsigned char)at[n]); n++)
            ;
        return n;
    }
    if (at[n] == '.') {
        fraction = digits(at + n + 1);
        if (whole + fraction == 0)
            return 0;
        *kind = TOKEN_FLOAT;
        n += 1 + fraction;
        size_t sign =
            at[n] == 'e' || at[n] == 'E' ? 1u + (at[n + 1] == '-' || at[n + 1] == '+') : 0;
        if (sign && digits(at + n + sign))
            n += sign + digits(at + n + sign);
    }
    return n;
}

static size_t string_size(const char *at)
{
    size_t n = 1;
    while (at[n] && at[n] != '"')
        n += at[n] == '\\' && at[n + 1] ? 2 : 1;
    return at[n] ? n + 1 : 0;
}

void parser_next(struct parser *parser)
{
    const char *text = parser->ottl->text;
    size_t at = parser->token.at + parser->token.text.size, size = 1;
    parser->end = at;
    while (isspace((unsigned char)text[at]))
        at++;
    const char *from = text + at;
    enum token_kind kind = TOKEN_MARK, number;
    if (!*from) {
        kind = TOKEN_END;
        size = 0;
    } else if (name_start((unsigned char)*from)) {
        kind = TOKEN_NAME;
        size = name_size(from);
    } else if (*from == '"') {
        size = string_size(from);
        kind = size ? TOKEN_STRING : TOKEN_BAD;
    } else if (number_size(from, &number)) {
        size = number_size(from, &number);
        kind = number;
    } else if (*from == '=' && from[1] == '>') {
        kind = TOKEN_BAD; /* the arrow of a lambda */
        size = 2;
    } else if (strchr("=!<>", *from)) {
        size = from[1] == '=' ? 2 : 1;
        kind = size == 2 || *from == '<' || *from == '>' ? TOKEN_OP : TOKEN_MARK;
    } else if (!strchr("()[]{},.:+-*/", *from)) {
        kind = TOKEN_BAD;
    }
    parser->token = (struct token){kind, at, {(const uint8_t *)from, size}};
}

/* How much of a token is shown: of one that is no token, a whole character. */
static size_t found_size(const struct token *token)
{
    bool visible;
    if (token->kind == TOKEN_BAD)
        return shown_character(view_of((const char *)token->text.data), &visible);
    return token->text.size < 60 ? token->text.size : 60;
}

void parser_fail(struct parser *parser, const char *expected)
{
    const struct token *token = &parser->token;
    const struct lookalike *lookalike = lookalike_at(view_of((const char *)token->text.data));
    if (!parser->failed && token->kind == TOKEN_END)
        ottl_say(parser->ottl, token->at, parser->fault, "unexpected end, expected %s", expected);
    else if (!parser->failed && view_eq(token->text, VIEW("=>")))
        ottl_say(parser->ottl, token->at, parser->fault,
                 "found =>: lambdas are not supported, expected %s", expected);
    else if (!parser->failed && token->kind == TOKEN_BAD && !token->text.size)
        ottl_say(parser->ottl, token->at, parser->fault, "missing closing quote");
    else if (!parser->failed && view_starts(token->text, VIEW("'")))
        ottl_say(parser->ottl, token->at, parser->fault,
                 "found a single quote, expected %s; strings stand in double quotes", expected);
    else if (!parser->failed && lookalike)
        ottl_say(parser->ottl, token->at, parser->fault, "found %s, expected %s", lookalike->words,
                 lookalike->expected);
    else if (!parser->failed)
        ottl_say(parser->ottl, token->at, parser->fault, "found %.*s, expected %s",
                 (int)found_size(token), token->text.data, expected);
    parser->failed = true;
}

void parser_fail_at(struct parser *parser, size_t at, const char *text)
{
    if (!parser->failed)
        ottl_say(parser->ottl, at, parser->fault, "%s", text);
    parser->failed = true;
}

bool parser_is_mark(const struct parser *parser, char mark)
{
    return parser->token.kind == TOKEN_MARK && *parser->token.text.data == (uint8_t)mark;
}

bool parser_take_mark(struct parser *parser, char mark)
{
    bool is = !parser->failed && parser_is_mark(parser, mark);
    if (is)
        parser_next(parser);
    return is;
}

void parser_need_mark(struct parser *parser, char mark)
{
    char expected[] = {mark, '\0'};
    if (!parser->failed && !parser_take_mark(parser, mark))
        parser_fail(parser, expected);
}

static bool is_word(const struct parser *parser, const char *word)
{
    return parser->token.kind == TOKEN_NAME && view_eq(parser->token.text, view_of(word));
}

bool parser_take_word(struct parser *parser, const char *word)
{
    bool is = !parser->failed && is_word(parser, word);
    if (is)
        parser_next(parser);
    return is;
}

struct ottl_node *parser_new_node(struct parser *parser, enum node_kind_of kind, size_t at)
{
    static struct ottl_node spare; /* never read: the parser has failed */
    struct ottl_node *node = parser->ottl->node_count++ < OTTL_NODES_MAX
                                 ? arena_alloc(&parser->ottl->arena, sizeof *node)
                                 : NULL;
    if (!node) {
        parser_fail_at(parser, at, "the statement is too long");
        return &spare;
    }
    node->kind = kind;
    node->at = at;
    return node;
}

/* ---- literals ---- */

static bool put_utf8(uint8_t **out, uint32_t code)
{
    uint8_t *at = *out;
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    if (code < 0x80) {
        *at++ = (uint8_t)code;
    } else if (code < 0x800) {
        *at++ = (uint8_t)(0xc0 | code >> 6);
        *at++ = (uint8_t)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *at++ = (uint8_t)(0xe0 | code >> 12);
        *at++ = (uint8_t)(0x80 | (code >> 6 & 63));
        *at++ = (uint8_t)(0x80 | (code & 63));
    } else {
        *at++ = (uint8_t)(0xf0 | code >> 18);
        *at++ = (uint8_t)(0x80 | (code >> 12 & 63));
        *at++ = (uint8_t)(0x80 | (code >> 6 & 63));
        *at++ = (uint8_t)(0x80 | (code & 63));
    }
    *out = at;
    return true;
}

/* Reads \xNN, \uNNNN, \UNNNNNNNN or \NNN from after its backslash, each a character, as in the
 * Collector: \xff is not a byte. 0: it is none of them. */
static size_t numbered(const uint8_t *at, size_t left, uint8_t **out)
{
    size_t size = *at == 'x' ? 2 : *at == 'u' ? 4 : *at == 'U' ? 8 : isdigit(*at) ? 3 : 0;
    bool octal = isdigit(*at);
    const uint8_t *from = at + !octal;
    uint32_t code = 0;
    if (size == 0 || left < size + !octal)
        return 0;
    for (size_t i = 0; i < size; i++) {
        int digit = text_hex_digit(from[i]);
        if (digit < 0 || (octal && digit > 7))
            return 0;
        code = octal ? code * 8 + (uint32_t)digit : code << 4 | (uint32_t)digit;
    }
    if (octal && code > 255)
        return 0;
    return put_utf8(out, code) ? size + !octal : 0;
}

/* The content of a string literal, as Go reads it. */
static struct view unquoted(struct parser *parser, const struct token *token)
{
    static const char from[] = "abfnrtv\\\"", to[] = "\a\b\f\n\r\t\v\\\"";
    struct view raw = {token->text.data + 1, token->text.size - 2};
    uint8_t *start = arena_alloc(&parser->ottl->arena, raw.size + 1), *out = start;
    for (size_t i = 0; start && i < raw.size; i++) {
        const char *simple = NULL;
        size_t size = 0;
        if (raw.data[i] != '\\') {
            *out++ = raw.data[i];
            if (raw.data[i] == '\n')
                parser_fail_at(parser, token->at + i + 1, "line break in a string, expected \\n");
            continue;
        }
        i++;
        if (raw.data[i] && (simple = strchr(from, raw.data[i])))
            *out++ = (uint8_t)to[simple - from];
        else if ((size = numbered(raw.data + i, raw.size - i, &out)) == 0)
            parser_fail_at(
                parser, token->at + i,
                "unknown escape sequence, expected for example \\\\ or \\n (in unquoted YAML a "
                "pattern's \\d is \\\\d)");
        i += size ? size - 1 : 0;
    }
    if (!start)
        parser_fail_at(parser, token->at, "out of memory");
    return start ? view_between(start, out) : VIEW("");
}

static void read_number(struct parser *parser, struct ottl_node *node)
{
    char copy[64];
    const struct token *token = &parser->token;
    if (token->text.size >= sizeof copy) {
        parser_fail_at(parser, token->at, "number too long");
        return;
    }
    snprintf(copy, sizeof copy, "%.*s", VIEW_ARG(token->text));
    errno = 0;
    if (token->kind == TOKEN_INT)
        node->value = ottl_int(strtoll(copy, NULL, 10));
    else
        node->value = ottl_double(strtod(copy, NULL));
    if (token->kind == TOKEN_INT && errno == ERANGE)
        parser_fail_at(parser, token->at, "number does not fit in 64 bits");
}

static void read_bytes(struct parser *parser, struct ottl_node *node)
{
    struct view hex = {parser->token.text.data + 2, parser->token.text.size - 2};
    uint8_t *out = arena_alloc(&parser->ottl->arena, hex.size / 2 + 1);
    if (!out || !text_hex_bytes(hex, out, hex.size / 2)) {
        parser_fail_at(parser, parser->token.at,
                       "odd number of hex digits, expected for example 0x0a1b");
        return;
    }
    node->value = ottl_bytes(TYPE_BYTES, (struct view){out, hex.size / 2});
}

struct ottl_node *parser_literal(struct parser *parser)
{
    struct ottl_node *node = parser_new_node(parser, NODE_LITERAL, parser->token.at);
    if (parser->token.kind == TOKEN_STRING)
        node->value = ottl_string(unquoted(parser, &parser->token));
    else if (parser->token.kind == TOKEN_BYTES)
        read_bytes(parser, node);
    else
        read_number(parser, node);
    parser_next(parser);
    return node;
}
