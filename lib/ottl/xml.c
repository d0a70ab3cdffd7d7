#include "lib/ottl/xml.h"

#include "lib/base/utf8.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { PREFIXES_MAX = 64 };

struct reader {
    struct xml_document *document;
    struct arena *arena;
    const uint8_t *start, *at, *end;
    struct xml_node *open; /* the innermost element that is open, or the top */
    unsigned depth;
    struct view declared[PREFIXES_MAX]; /* prefixes that are, from the outside in */
    size_t declared_count;
};

static bool fail(struct reader *reader, const char *error)
{
    reader->document->error = error;
    return false;
}

static bool no_memory(struct reader *reader)
{
    return fail(reader, "out of memory");
}

static int peek(const struct reader *reader)
{
    return reader->at < reader->end ? *reader->at : -1;
}

static bool take(struct reader *reader, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, text, size) != 0)
        return false;
    reader->at += size;
    return true;
}

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at && strchr(" \t\r\n", *reader->at))
        reader->at++;
}

/* Moves past the next occurrence of a mark. False: there is none. */
static bool skip_past(struct reader *reader, const char *mark)
{
    size_t left = (size_t)(reader->end - reader->at);
    const uint8_t *found = left ? memmem(reader->at, left, mark, strlen(mark)) : NULL;
    if (!found)
        return fail(reader, "unexpected end");
    reader->at = found + strlen(mark);
    return true;
}

static bool is_name_byte(uint8_t c)
{
    return c >= 0x80 || isalnum(c) || strchr("_:.-", c);
}

/* A name and its prefix. */
static bool read_name(struct reader *reader, struct view *prefix, struct view *name)
{
    const uint8_t *from = reader->at;
    while (reader->at < reader->end && *reader->at && is_name_byte(*reader->at))
        reader->at++;
    *prefix = (struct view){from, 0};
    *name = view_between(from, reader->at);
    if (!name->size || isdigit(*from) || *from == '.' || *from == '-' || !utf8_valid(*name))
        return fail(reader, "expected a name");
    const uint8_t *colon = memchr(from, ':', name->size);
    size_t after = colon ? (size_t)(reader->at - colon) - 1 : 0;
    if (after && memchr(colon + 1, ':', after))
        return fail(reader, "a name with two colons");
    if (colon > from && after) {
        *prefix = view_between(from, colon);
        *name = view_between(colon + 1, reader->at);
    }
    return true;
}

/* ---- text ---- */

/* The character that a number stands for, as UTF-8. */
static size_t put_character(uint32_t c, uint8_t out[4])
{
    if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd;
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; c >>= 6)
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
    out[0] = (uint8_t)(c | (size == 2 ? 0xc0u : size == 3 ? 0xe0u : 0xf0u));
    return size;
}

/* Reads a reference, after its &. Bytes written to out; 0: it is invalid. */
static size_t take_reference(struct reader *reader, uint8_t out[4])
{
    static const struct {
        const char *name;
        uint8_t character;
    } names[] = {{"lt;", '<'}, {"gt;", '>'}, {"amp;", '&'}, {"apos;", '\''}, {"quot;", '"'}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (take(reader, names[i].name)) {
            out[0] = names[i].character;
            return 1;
        }
    if (!take(reader, "#"))
        return 0;
    bool hex = take(reader, "x");
    uint32_t number = 0;
    const uint8_t *from = reader->at;
    for (int c; number <= 0x10ffff && (c = peek(reader)) >= 0 && (hex ? isxdigit(c) : isdigit(c));
         reader->at++) {
        uint32_t digit = (uint32_t)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
        number = number * (hex ? 16 : 10) + digit;
    }
    bool ok = reader->at > from && number <= 0x10ffff && take(reader, ";");
    return ok ? put_character(number, out) : 0;
}

static bool has_valid_characters(struct view text)
{
    if (!utf8_valid(text))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            return false;
        if (c == 0xef && i + 2 < text.size && text.data[i + 1] == 0xbf && text.data[i + 2] >= 0xbe)
            return false; /* U+FFFE, U+FFFF */
    }
    return true;
}

/* What a text between marks stands for: references replaced, unless it is CDATA, and \n for each
 * end of a line. */
static bool decode(struct reader *reader, const uint8_t *to, bool cdata, struct view *value)
{
    const uint8_t *from = reader->at;
    struct view raw = view_between(from, to);
    const uint8_t *saved = reader->end;
    if ((cdata || !memchr(raw.data, '&', raw.size)) && !memchr(raw.data, '\r', raw.size)) {
        *value = raw;
        reader->at = to;
        return has_valid_characters(raw) || fail(reader, "an invalid character");
    }
    uint8_t *out = arena_array_raw(reader->arena, raw.size + 1, 1), *next = out;
    if (!out)
        return no_memory(reader);
    reader->end = to;
    while (reader->at < to) {
        uint8_t c = *reader->at++;
        if (c == '&' && !cdata) {
            size_t size = take_reference(reader, next);
            next += size;
            if (size)
                continue;
            reader->end = saved;
            return fail(reader, "an invalid reference after &");
        }
        *next++ = c == '\r' ? '\n' : c;
        reader->at += c == '\r' && reader->at < to && *reader->at == '\n';
    }
    reader->end = saved;
    *value = view_between(out, next);
    return has_valid_characters(*value) || fail(reader, "an invalid character");
}

static struct xml_node *add(struct reader *reader, enum xml_kind kind)
{
    struct xml_node *node = arena_array(reader->arena, 1, sizeof *node), *open = reader->open;
    struct xml_node **first = kind == XML_ATTRIBUTE ? &open->attributes : &open->children;
    struct xml_node **last = kind == XML_ATTRIBUTE ? &open->last_attribute : &open->last_child;
    if (!node) {
        no_memory(reader);
        return NULL;
    }
    node->kind = kind;
    node->parent = open;
    if (*first)
        (*last)->next = node;
    else
        *first = node;
    *last = node;
    return node;
}

static bool read_text(struct reader *reader, const uint8_t *to, bool cdata)
{
    struct view value;
    if (!cdata && memmem(reader->at, (size_t)(to - reader->at), "]]>", 3))
        return fail(reader, "]]> outside CDATA");
    if (!decode(reader, to, cdata, &value))
        return false;
    struct xml_node *node = add(reader, XML_TEXT);
    if (node)
        node->value = value;
    return node;
}

static bool read_cdata(struct reader *reader)
{
    const uint8_t *from = reader->at;
    if (!skip_past(reader, "]]>"))
        return false;
    const uint8_t *after = reader->at;
    reader->at = from;
    bool ok = read_text(reader, after - 3, true);
    reader->at = after;
    return ok;
}

/* ---- elements ---- */

static bool read_attribute(struct reader *reader)
{
    struct xml_node *node = add(reader, XML_ATTRIBUTE);
    if (!node || !read_name(reader, &node->prefix, &node->name))
        return false;
    skip_space(reader);
    if (!take(reader, "="))
        return fail(reader, "expected = after the name of an attribute");
    skip_space(reader);
    int quote = peek(reader);
    if (quote != '"' && quote != '\'')
        return fail(reader, "expected a quoted value of an attribute");
    reader->at++;
    const uint8_t *to = reader->at < reader->end
                            ? memchr(reader->at, quote, (size_t)(reader->end - reader->at))
                            : NULL;
    if (!to)
        return fail(reader, "unexpected end");
    if (memchr(reader->at, '<', (size_t)(to - reader->at)))
        return fail(reader, "< in the value of an attribute");
    bool ok = decode(reader, to, false, &node->value);
    reader->at = to + 1;
    return ok;
}

static bool is_declared(const struct reader *reader, struct view prefix)
{
    if (!prefix.size || view_eq(prefix, VIEW("xml")))
        return true;
    for (size_t i = 0; i < reader->declared_count; i++)
        if (view_eq(reader->declared[i], prefix))
            return true;
    return false;
}

/* Notes what an element declares, and looks for its own prefix. */
static bool check_prefix(struct reader *reader, struct xml_node *element)
{
    for (const struct xml_node *each = element->attributes; each; each = each->next) {
        if (!view_eq(each->prefix, VIEW("xmlns")))
            continue;
        if (reader->declared_count == PREFIXES_MAX)
            return fail(reader, "more than 64 prefixes");
        reader->declared[reader->declared_count++] = each->name;
    }
    return is_declared(reader, element->prefix) || fail(reader, "a prefix that is not declared");
}

static void close_element(struct reader *reader)
{
    reader->declared_count = reader->open->declared_before;
    reader->open = reader->open->parent;
    reader->depth--;
    if (!reader->depth && !reader->document->size)
        reader->document->size = (size_t)(reader->at - reader->start);
}

static bool open_element(struct reader *reader, bool declared)
{
    struct xml_node *node = add(reader, XML_ELEMENT);
    if (!node || !read_name(reader, &node->prefix, &node->name))
        return false;
    if (++reader->depth > XML_DEPTH_MAX)
        return fail(reader, "more than 50 levels");
    reader->open = node;
    for (skip_space(reader); peek(reader) != '>' && peek(reader) != '/'; skip_space(reader))
        if (!read_attribute(reader))
            return false;
    node->declared_before = reader->declared_count;
    if (declared && !check_prefix(reader, node))
        return false;
    if (take(reader, "/>"))
        close_element(reader);
    else if (!take(reader, ">"))
        return fail(reader, "expected /> or >");
    return true;
}

static bool read_end(struct reader *reader)
{
    struct view prefix, name;
    if (!read_name(reader, &prefix, &name))
        return false;
    skip_space(reader);
    if (!take(reader, ">"))
        return fail(reader, "expected >");
    if (!reader->depth || !view_eq(name, reader->open->name) ||
        !view_eq(prefix, reader->open->prefix))
        return fail(reader, "an end tag of another element");
    close_element(reader);
    return true;
}

/* ---- the rest ---- */

static bool skip_comment(struct reader *reader)
{
    return skip_past(reader, "--") && (take(reader, ">") || fail(reader, "-- in a comment"));
}

/* The value of a parameter of the XML declaration; data NULL: it has none. */
static struct view parameter(struct view text, const char *name)
{
    for (size_t size = strlen(name); text.size > size;) {
        const uint8_t *found = memmem(text.data, text.size, name, size);
        if (!found)
            break;
        text = view_between(found + size, text.data + text.size);
        if (!text.size || (*text.data != '"' && *text.data != '\''))
            continue;
        const uint8_t *end = memchr(text.data + 1, *text.data, text.size - 1);
        return end ? view_between(text.data + 1, end) : (struct view){0};
    }
    return (struct view){0};
}

static bool skip_instruction(struct reader *reader)
{
    struct view prefix, name;
    if (!read_name(reader, &prefix, &name))
        return false;
    const uint8_t *from = reader->at;
    if (!skip_past(reader, "?>"))
        return false;
    if (!view_eq(name, VIEW("xml")) || prefix.size)
        return true;
    struct view content = view_between(from, reader->at - 2);
    struct view version = parameter(content, "version="),
                encoding = parameter(content, "encoding=");
    if (version.size && !view_eq(version, VIEW("1.0")))
        return fail(reader, "a version other than 1.0");
    if (encoding.size &&
        (encoding.size != 5 || strncasecmp((const char *)encoding.data, "utf-8", 5) != 0))
        return fail(reader, "an encoding other than UTF-8");
    return true;
}

/* <!DOCTYPE ...>, with others in it. */
static bool skip_declaration(struct reader *reader)
{
    size_t depth = 1;
    uint8_t quote = 0;
    while (depth && reader->at < reader->end) {
        uint8_t c = *reader->at++;
        if (quote) {
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '<' && take(reader, "!--")) {
            if (!skip_past(reader, "-->"))
                return false;
        } else {
            depth += c == '<';
            depth -= c == '>';
        }
    }
    return !depth || fail(reader, "unexpected end");
}

static bool read_marked(struct reader *reader, bool declared)
{
    if (take(reader, "/"))
        return read_end(reader);
    if (take(reader, "?"))
        return skip_instruction(reader);
    if (take(reader, "!--"))
        return skip_comment(reader);
    if (take(reader, "![CDATA["))
        return read_cdata(reader);
    if (take(reader, "!"))
        return peek(reader) != '[' && peek(reader) != '-' ? skip_declaration(reader)
                                                          : fail(reader, "unexpected <!");
    return open_element(reader, declared);
}

bool xml_read(struct xml_document *document, struct view text, bool first, struct arena *arena)
{
    struct reader reader = {.document = document,
                            .arena = arena,
                            .start = text.data,
                            .at = text.data,
                            .end = text.data + text.size,
                            .open = &document->top};
    *document = (struct xml_document){0};
    while (reader.at < reader.end && !(first && document->size)) {
        const uint8_t *mark = memchr(reader.at, '<', (size_t)(reader.end - reader.at));
        bool ok = mark == reader.at ? (reader.at++, read_marked(&reader, !first))
                                    : read_text(&reader, mark ? mark : reader.end, false);
        if (!ok)
            return false;
    }
    if (reader.depth)
        return fail(&reader, "unexpected end");
    return document->size || fail(&reader, "no element");
}
