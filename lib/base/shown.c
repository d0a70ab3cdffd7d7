#include "lib/base/shown.h"

#include <stdint.h>
#include <stdio.h>

/* Decodes the UTF-8 character (RFC 3629) at the start; returns its size, 0: invalid. */
static size_t decode(struct view text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = text.data[0];
    size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    uint32_t c = size == 1 ? first : first & (0xffu >> (size + 1));
    if (first >= 0xf8 || (first >= 0x80 && first < 0xc0) || size > text.size)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((text.data[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (text.data[i] & 0x3f);
    }
    *character = c;
    return c < least[size] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : size;
}

/* Default ignorable characters of Unicode that hide or reorder text, and its separators. */
static bool is_unseen(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0xad, 0xad},     {0x61c, 0x61c},    {0x200b, 0x200f},
                                         {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfeff, 0xfeff},
                                         {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

size_t shown_character(struct view text, bool *visible)
{
    uint32_t c = 0;
    size_t size = decode(text, &c);
    *visible = size && !is_control(c) && !is_unseen(c);
    return size ? size : 1;
}

/* Formats the character at the start; returns its size in text. */
static size_t shown_show(struct view text, char out[16])
{
    uint32_t c = 0;
    size_t size = decode(text, &c);
    if (size == 0)
        snprintf(out, 16, "\\x%02x", text.data[0]);
    else if (c == '\n' || c == '\r' || c == '\t')
        snprintf(out, 16, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (is_control(c))
        snprintf(out, 16, "\\x%02x", (unsigned)c);
    else if (is_unseen(c))
        snprintf(out, 16, "\\u%04x", (unsigned)c);
    else
        snprintf(out, 16, "%.*s", (int)size, (const char *)text.data);
    return size ? size : 1;
}

size_t shown_copy(struct view text, char *out, size_t size)
{
    size_t at = 0;
    char piece[16];
    while (text.size > 0) {
        size_t used = shown_show(text, piece), n = strlen(piece);
        if (at + n >= size)
            break; /* no partial character */
        memcpy(out + at, piece, n);
        at += n;
        text = (struct view){text.data + used, text.size - used};
    }
    out[at] = '\0';
    return at;
}

const struct lookalike *lookalike_at(struct view text)
{
    static const char space[] = "a plain space", quote[] = "a plain quote";
    static const struct lookalike all[] = {
        {"\xc2\xa0", "a no-break space (U+00A0)", space, true},
        {"\xe2\x80\x87", "a figure space (U+2007)", space, true},
        {"\xe2\x80\xaf", "a narrow no-break space (U+202F)", space, true},
        {"\xe3\x80\x80", "an ideographic space (U+3000)", space, true},
        {"\xe2\x80\x98", "\xe2\x80\x98 (U+2018)", quote, false},
        {"\xe2\x80\x99", "\xe2\x80\x99 (U+2019)", quote, false},
        {"\xe2\x80\x9c", "\xe2\x80\x9c (U+201C)", quote, false},
        {"\xe2\x80\x9d", "\xe2\x80\x9d (U+201D)", quote, false},
        {"\xe2\x80\x9e", "\xe2\x80\x9e (U+201E)", quote, false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (view_starts(text, view_of(all[i].text)))
            return &all[i];
    return NULL;
}

const struct lookalike *lookalike_in(struct view text, size_t *at)
{
    for (*at = 0; *at < text.size; ++*at) {
        struct view rest = {text.data + *at, text.size - *at};
        const struct lookalike *found = *rest.data < 0x80 ? NULL : lookalike_at(rest);
        if (found)
            return found;
    }
    return NULL;
}
