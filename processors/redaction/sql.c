/*
 * SQL statements without their literals: a lexer that copies all tokens but numbers, strings,
 * booleans, NULL and positional parameters, and replaces the digits in names. Where dialects differ
 * and statements are odd, it does as the Collector's lexer does.
 */
#include "lib/base/utf8.h"
#include "processors/redaction/statement.h"

#include <ctype.h>
#include <strings.h>

enum { LETTER = 256, OTHER = 257 }; /* characters that are not ASCII */

struct sql {
    struct view text;
    size_t at;
    bool mysql;
    const struct regex *letter;
    struct bytes *out;
    bool ok;
};

/* The character that many bytes ahead; 0: the end, as is a NUL. */
static int ahead(const struct sql *sql, size_t bytes)
{
    if (bytes >= sql->text.size - sql->at)
        return 0;
    struct view rest = {sql->text.data + sql->at + bytes, sql->text.size - sql->at - bytes};
    if (*rest.data < 0x80)
        return *rest.data;
    rest.size = utf8_character(rest);
    return rest.size && regex_test(sql->letter, rest) == REGEX_YES ? LETTER : OTHER;
}

/* The byte that many bytes ahead; 0: the end, as is a NUL. For what ASCII alone can end. */
static int byte_ahead(const struct sql *sql, size_t bytes)
{
    return bytes < sql->text.size - sql->at ? sql->text.data[sql->at + bytes] : 0;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
    return c == LETTER || c == '_' || (c < 0x80 && isalpha(c));
}

static bool is_word(int c)
{
    return is_letter(c) || is_digit(c);
}

static bool is_one_of(int c, const char *set)
{
    return c > 0 && c < 0x80 && strchr(set, c);
}

static bool is_name(int c)
{
    return is_word(c) || is_one_of(c, "\".?$#/@!");
}

static bool is_operator(int c)
{
    return is_one_of(c, "+-*/=<>!&|^%~?@:#");
}

static void put(struct sql *sql, struct view text)
{
    sql->ok = sql->ok && bytes_append_view(sql->out, text) == BYTES_OK;
}

/* What was read since `from`. */
static struct view token(const struct sql *sql, size_t from)
{
    return (struct view){sql->text.data + from, sql->at - from};
}

/* A name with "?" for each run of digits. */
static void put_name(struct sql *sql, struct view name)
{
    size_t from = 0;
    for (size_t i = 0; i < name.size; i++) {
        if (!is_digit(name.data[i]))
            continue;
        put(sql, (struct view){name.data + from, i - from});
        put(sql, VIEW("?"));
        while (i < name.size && is_digit(name.data[i]))
            i++;
        from = i--;
    }
    put(sql, (struct view){name.data + from, name.size - from});
}

static bool is_value_word(struct view word)
{
    static const char *const words[] = {"NULL", "TRUE", "FALSE"};
    for (size_t i = 0; i < 3; i++)
        if (word.size == strlen(words[i]) &&
            strncasecmp((const char *)word.data, words[i], word.size) == 0)
            return true;
    return false;
}

static void scan_name(struct sql *sql)
{
    size_t from = sql->at;
    int c;
    while ((c = ahead(sql, 0)) < 0x80 && (isalpha(c) || c == '_'))
        sql->at++;
    bool ends = c == 0 || is_one_of(c, " \t\r\n(),;.:[]{}");
    if (ends && is_value_word(token(sql, from))) {
        put(sql, VIEW("?"));
        return;
    }
    while (is_name(c = ahead(sql, 0)))
        sql->at +=
            c == LETTER
                ? utf8_character((struct view){sql->text.data + sql->at, sql->text.size - sql->at})
                : 1;
    if (c == '(' && *(sql->text.data + from) < 0x80) /* a function */
        put(sql, token(sql, from));
    else
        put_name(sql, token(sql, from));
}

static void scan_string(struct sql *sql, int quote)
{
    sql->at++;
    for (int c; (c = byte_ahead(sql, 0)) && c != quote; sql->at++)
        sql->at += c == '\\' && byte_ahead(sql, 1);
    sql->at += byte_ahead(sql, 0) == quote;
    put(sql, VIEW("?"));
}

/* A name in quotes, or several with dots between them. Without its end it stays as it is. */
static void scan_quoted_name(struct sql *sql, char quote)
{
    const char next[] = {quote, '.', quote};
    size_t from = sql->at++;
    for (int c; (c = byte_ahead(sql, 0)); sql->at++) {
        if (c != quote)
            continue;
        struct view rest = {sql->text.data + sql->at, sql->text.size - sql->at};
        if (!view_starts(rest, (struct view){(const uint8_t *)next, sizeof next})) {
            sql->at++;
            put_name(sql, token(sql, from));
            return;
        }
        sql->at += 2;
    }
    put(sql, token(sql, from));
}

static void scan_decimal(struct sql *sql)
{
    for (int c; is_digit(c = byte_ahead(sql, 0)) || is_one_of(c, ".eE");) {
        sql->at++;
        if (c != '.' && !is_digit(c) && is_one_of(byte_ahead(sql, 0), "+-"))
            sql->at++;
    }
}

static void scan_number(struct sql *sql)
{
    bool zero = byte_ahead(sql, 0) == '0';
    int c = byte_ahead(sql, 1);
    if (zero && is_one_of(c, "xX")) {
        sql->at += 2;
        while ((c = byte_ahead(sql, 0)) < 0x80 && isxdigit(c))
            sql->at++;
    } else if (zero && c >= '0' && c <= '7') {
        sql->at += 2;
        while ((c = byte_ahead(sql, 0)) >= '0' && c <= '7')
            sql->at++;
    } else {
        sql->at++; /* a sign or a digit */
        scan_decimal(sql);
    }
    put(sql, VIEW("?"));
}

static void scan_line_comment(struct sql *sql)
{
    size_t from = sql->at;
    for (int c; (c = byte_ahead(sql, 0)) && c != '\n';)
        sql->at++;
    put(sql, token(sql, from));
}

static void scan_comment(struct sql *sql)
{
    size_t from = sql->at;
    for (sql->at += 2; byte_ahead(sql, 0);)
        if (byte_ahead(sql, 0) == '*' && byte_ahead(sql, 1) == '/') {
            sql->at += 2;
            break;
        } else {
            sql->at++;
        }
    put(sql, token(sql, from));
}

static void scan_operator(struct sql *sql)
{
    static const char *const json[] = {"->>", "->", "#>>", "#>", "#-", "?|", "?&", "<@"};
    size_t from = sql->at;
    struct view rest = {sql->text.data + from, sql->text.size - from};
    for (size_t i = 0; i < sizeof json / sizeof *json; i++)
        if (view_starts(rest, view_of(json[i]))) {
            sql->at += strlen(json[i]);
            put(sql, token(sql, from));
            return;
        }
    int last = byte_ahead(sql, 0), c;
    for (sql->at++; is_operator(c = byte_ahead(sql, 0)) && !(last == '=' && is_one_of(c, "?@"));
         sql->at++)
        last = c;
    put(sql, token(sql, from));
}

/* $tag$...$tag$: a string, but for $func$, which holds a statement. Without its end it stays. */
static void scan_dollars(struct sql *sql)
{
    size_t from = sql->at++;
    while (sql->at < sql->text.size && sql->text.data[sql->at] != '$')
        sql->at++;
    sql->at += sql->at < sql->text.size;
    struct view tag = token(sql, from);
    struct view rest = {sql->text.data + sql->at, sql->text.size - sql->at};
    bool plain = true; /* the Collector finds no other tag again */
    for (size_t i = 0; i < tag.size; i++)
        plain = plain && tag.data[i] < 0x80;
    const uint8_t *end =
        plain && rest.size ? memmem(rest.data, rest.size, tag.data, tag.size) : NULL;
    if (!end) {
        sql->at = sql->text.size;
        put(sql, token(sql, from));
        return;
    }
    sql->at += (size_t)(end - rest.data) + tag.size;
    if (!view_eq(tag, VIEW("$func$"))) {
        put(sql, VIEW("?"));
        return;
    }
    put(sql, tag);
    sql->ok =
        sql->ok && statement_sql(view_between(rest.data, end), sql->mysql, sql->letter, sql->out);
    put(sql, tag);
}

static void scan_dollar(struct sql *sql)
{
    if (!is_digit(byte_ahead(sql, 1))) {
        scan_dollars(sql);
        return;
    }
    for (sql->at += 2; is_digit(byte_ahead(sql, 0));)
        sql->at++;
    put(sql, VIEW("?"));
}

/* @@variable, @parameter, or an operator. */
static void scan_at(struct sql *sql)
{
    size_t from = sql->at;
    int c = ahead(sql, 1);
    if (is_one_of(c, "?>")) {
        sql->at += 2;
    } else if (c == '@' || is_word(c)) {
        bool names = c != '@' || is_word(ahead(sql, 2));
        sql->at += 2;
        while (names && is_word(ahead(sql, 0)))
            sql->at++;
    } else {
        scan_operator(sql);
        return;
    }
    put(sql, token(sql, from));
}

/* Reads one token that begins with this character. False: it is none of those that have a mark. */
static bool scan_marked(struct sql *sql, int c)
{
    int next = byte_ahead(sql, 1);
    if (c == '\'' || (c == '"' && sql->mysql))
        scan_string(sql, c);
    else if (c == '"' || (c == '`' && sql->mysql))
        scan_quoted_name(sql, (char)c);
    else if ((c == '-' && next == '-') || (c == '#' && sql->mysql))
        scan_line_comment(sql);
    else if (c == '/' && next == '*')
        scan_comment(sql);
    else if (is_digit(c) || (is_one_of(c, "+-") && (is_digit(next) || next == '.')))
        scan_number(sql);
    else if (c == '$')
        scan_dollar(sql);
    else if (c == '@')
        scan_at(sql);
    else if (c != '*' && is_operator(c))
        scan_operator(sql);
    else
        return false;
    return true;
}

static bool sql_scan(struct sql *sql)
{
    for (int c; sql->ok && (c = ahead(sql, 0));) {
        if (is_letter(c)) {
            scan_name(sql);
        } else if (!scan_marked(sql, c)) {
            put(sql, (struct view){sql->text.data + sql->at, 1});
            sql->at++;
        }
    }
    return sql->ok;
}

bool statement_sql(struct view text, bool mysql, const struct regex *letter, struct bytes *out)
{
    struct sql sql = {.text = text, .mysql = mysql, .letter = letter, .out = out, .ok = true};
    size_t from = out->size;
    if (!sql_scan(&sql))
        return false;
    if (out->size == from)
        return true;
    struct view made = {out->data + from, out->size - from}, trimmed = utf8_trim(made);
    memmove(out->data + from, trimmed.data, trimmed.size);
    out->size = from + trimmed.size;
    return true;
}
