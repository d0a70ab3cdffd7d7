#include "lib/wire/http/multipart.h"

#include <strings.h>

enum { MAX_BOUNDARY = 70 };

#define BLANK VIEW(" \t")

static struct view multipart_skip(struct view text, size_t n)
{
    return (struct view){text.data + n, text.size - n};
}

/* Number of bytes before the first c; all of text if there is none. */
static size_t until(struct view text, uint8_t c)
{
    const uint8_t *at = text.size ? memchr(text.data, c, text.size) : NULL;
    return at ? (size_t)(at - text.data) : text.size;
}

/* Takes a value, quoted or not, from the front of rest, up to ';'. Quoted text is kept unchanged,
 * including backslashes. False: a quote is not closed. */
static bool take_value(struct view *rest, struct view *value)
{
    if (rest->size == 0 || rest->data[0] != '"') {
        size_t size = until(*rest, ';');
        *value = view_trim((struct view){rest->data, size}, BLANK);
        *rest = multipart_skip(*rest, size);
        return true;
    }
    size_t at = 1;
    while (at < rest->size && rest->data[at] != '"')
        at += rest->data[at] == '\\' ? 2 : 1;
    if (at >= rest->size)
        return false;
    *value = (struct view){rest->data + 1, at - 1};
    *rest = view_trim_start(multipart_skip(*rest, at + 1), BLANK);
    return rest->size == 0 || rest->data[0] == ';';
}

/* Reads the next `; key=value` of a header. False: none left, or malformed (then *bad). */
static bool next_parameter(struct view *rest, struct view *key, struct view *value, bool *bad)
{
    *rest = view_trim_start(*rest, BLANK);
    while (rest->size && rest->data[0] == ';')
        *rest = view_trim_start(multipart_skip(*rest, 1), BLANK);
    if (rest->size == 0)
        return false;
    size_t size = until(*rest, '=');
    *bad = size == rest->size;
    if (*bad)
        return false;
    *key = view_trim((struct view){rest->data, size}, BLANK);
    *rest = view_trim_start(multipart_skip(*rest, size + 1), BLANK);
    *bad = !take_value(rest, value);
    return !*bad;
}

static bool find_boundary(struct view content_type, struct view *boundary)
{
    size_t size = until(content_type, ';');
    if (!view_eq_nocase(view_trim((struct view){content_type.data, size}, BLANK),
                        VIEW("multipart/form-data")))
        return false;
    struct view rest = multipart_skip(content_type, size), key, value;
    bool bad = false, found = false;
    while (!found && next_parameter(&rest, &key, &value, &bad)) {
        found = view_eq_nocase(key, VIEW("boundary"));
        *boundary = value;
    }
    return found && boundary->size >= 1 && boundary->size <= MAX_BOUNDARY;
}

/* Whether text starts with `--boundary`; *line is what follows it. */
static bool at_delimiter(const struct multipart *multipart, struct view text, struct view *line)
{
    if (!view_starts(text, VIEW("--")) ||
        !view_starts(multipart_skip(text, 2), multipart->boundary))
        return false;
    *line = multipart_skip(text, 2 + multipart->boundary.size);
    return true;
}

/* Reads the end of a delimiter line: "--" is the closing delimiter, whitespace and a line end a
 * normal one. False: the text only began like a delimiter. */
static bool end_delimiter(struct multipart *multipart, struct view line, bool first)
{
    if (view_starts(line, VIEW("--"))) {
        multipart->ended = true;
        return true;
    }
    line = view_trim_start(line, BLANK);
    bool crlf = view_starts(line, VIEW("\r\n")), lf = view_starts(line, VIEW("\n"));
    if (first)
        multipart->bare_lf = lf;
    if (!(multipart->bare_lf ? lf : crlf))
        return false;
    multipart->rest = multipart_skip(line, crlf ? 2 : 1);
    return true;
}

static struct view newline(const struct multipart *multipart)
{
    return multipart->bare_lf ? VIEW("\n") : VIEW("\r\n");
}

/* Finds the delimiter that ends a part and moves past it; *content is what precedes it. */
static bool next_delimiter(struct multipart *multipart, struct view *content)
{
    struct view all = multipart->rest, mark = newline(multipart), line;
    *content = (struct view){all.data, 0};
    if (at_delimiter(multipart, all, &line) && end_delimiter(multipart, line, false))
        return true;
    for (struct view at = all; at.size;) {
        const uint8_t *found = memmem(at.data, at.size, mark.data, mark.size);
        if (!found)
            return false;
        struct view behind = view_between(found + mark.size, all.data + all.size);
        *content = view_between(all.data, found);
        if (at_delimiter(multipart, behind, &line) && end_delimiter(multipart, line, false))
            return true;
        at = behind;
    }
    return false;
}

bool multipart_begin(struct multipart *multipart, struct view content_type, struct view body)
{
    *multipart = (struct multipart){.rest = body};
    if (!find_boundary(content_type, &multipart->boundary))
        return false;
    /* The preamble: lines up to the first delimiter. */
    for (struct view at = body;;) {
        struct view line;
        if (at_delimiter(multipart, at, &line) && end_delimiter(multipart, line, true))
            return true;
        size_t size = until(at, '\n');
        if (size == at.size)
            break;
        at = multipart_skip(at, size + 1);
    }
    multipart->bad = true;
    return true;
}

/* Reads one header line; false: not a header line. */
static bool read_header(struct view line, struct multipart_part *part)
{
    size_t size = until(line, ':');
    if (size == line.size || size == 0)
        return false;
    if (!view_eq_nocase(view_trim((struct view){line.data, size}, BLANK),
                        VIEW("content-disposition")))
        return true;
    struct view rest = view_trim_start(multipart_skip(line, size + 1), BLANK), key, value;
    size = until(rest, ';');
    if (!view_eq_nocase(view_trim((struct view){rest.data, size}, BLANK), VIEW("form-data")))
        return true;
    rest = multipart_skip(rest, size);
    bool bad = false;
    while (next_parameter(&rest, &key, &value, &bad)) {
        if (view_eq_nocase(key, VIEW("name")))
            part->name = value;
        else if (view_eq_nocase(key, VIEW("filename")))
            part->filename = value;
    }
    return !bad;
}

/* Reads the header lines and the empty line after them. */
static bool read_headers(struct multipart *multipart, struct multipart_part *part)
{
    struct view end = newline(multipart);
    for (;;) {
        struct view rest = multipart->rest;
        const uint8_t *found = rest.size ? memmem(rest.data, rest.size, end.data, end.size) : NULL;
        if (!found)
            return false;
        struct view line = view_between(rest.data, found);
        multipart->rest = view_between(found + end.size, rest.data + rest.size);
        if (line.size == 0)
            return true;
        if (!read_header(line, part))
            return false;
    }
}

bool multipart_next(struct multipart *multipart, struct multipart_part *part)
{
    *part = (struct multipart_part){0};
    if (multipart->ended || multipart->bad)
        return false;
    if (read_headers(multipart, part) && next_delimiter(multipart, &part->content))
        return true;
    multipart->bad = true;
    return false;
}
