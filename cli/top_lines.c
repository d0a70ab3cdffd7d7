#include "cli/top_lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of text that fit so many columns; a character of UTF-8 counts as one. */
static size_t fitting(const char *text, unsigned columns)
{
    size_t size = 0;
    while (text[size]) {
        if (((uint8_t)text[size] & 0xc0) != 0x80 && columns-- == 0)
            break;
        size++;
    }
    return size;
}

void top_put_line(struct top_drawing *drawing, bool heading, const char *format, ...)
{
    char line[TOP_LINE_SIZE];
    va_list arguments;
    if (drawing->left == 0) {
        drawing->omitted++;
        return;
    }
    drawing->left--;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    bool bold = heading && drawing->screen->styled;
    size_t size = fitting(line, drawing->screen->columns);
    bool cut = line[size];
    if (cut)
        size = fitting(line, drawing->screen->columns - 1);
    bytes_printf(drawing->out, "%s%.*s%s%s\n", bold ? "\033[1m" : "", (int)size, line,
                 cut ? "…" : "", bold ? "\033[0m" : "");
}

/* Bytes of the line that a text begins with: up to the last space before the edge, or all of it. */
static size_t folded(const char *text, unsigned columns)
{
    size_t size = fitting(text, columns), at = size;
    if (!text[size])
        return size;
    while (at > 0 && text[at] != ' ')
        at--;
    return at > size / 2 ? at : size;
}

void top_put_folded(struct top_drawing *drawing, bool is_bold, const char *text)
{
    const char *at = text;
    unsigned columns = drawing->screen->rows ? drawing->screen->columns : TOP_PROBLEM_SIZE;
    bool styled = is_bold && drawing->screen->styled;
    const char *bold = styled ? "\033[1m" : "", *plain = styled ? "\033[0m" : "";
    for (const char *indent = ""; *at && drawing->left > 0; indent = "  ") {
        unsigned taken = (unsigned)strlen(indent);
        size_t size = folded(at, columns > taken + 1 ? columns - taken : 1);
        bytes_printf(drawing->out, "%s%s%.*s%s\n", bold, indent, (int)size, at, plain);
        drawing->left--;
        at += size;
        at += *at == ' ';
    }
    drawing->omitted += *at != '\0';
}

const char *top_padded(const char *text, unsigned width, char out[TOP_LINE_SIZE])
{
    size_t size = fitting(text, width);
    unsigned columns = 0;
    for (size_t i = 0; i < size; i++)
        columns += ((uint8_t)text[i] & 0xc0) != 0x80;
    snprintf(out, TOP_LINE_SIZE, "%.*s%*s", (int)size, text, (int)(width - columns), "");
    return out;
}

double top_number_of(const struct top_value *object, const char *key)
{
    return top_value_get(object, key)->number;
}
