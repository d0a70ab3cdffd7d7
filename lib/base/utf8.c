#include "lib/base/utf8.h"

#include <ctype.h>

#define HIGH_BITS UINT64_C(0x8080808080808080)

static size_t ascii_prefix(struct view text, size_t at)
{
    uint64_t word;
    while (text.size - at >= sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
        if (word & HIGH_BITS)
            break;
        at += sizeof word;
    }
    while (at < text.size && text.data[at] < 0x80)
        at++;
    return at;
}

size_t utf8_character(struct view text)
{
    const uint8_t *at = text.data;
    uint8_t lead = at[0];
    if (lead < 0x80)
        return 1;
    size_t size = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (size == 0 || text.size < size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (lead == 0xe0 && at[1] < 0xa0) || (lead == 0xf0 && at[1] < 0x90);
    bool outside = (lead == 0xed && at[1] > 0x9f) || (lead == 0xf4 && at[1] > 0x8f);
    return overlong || outside ? 0 : size;
}

bool utf8_valid(struct view text)
{
    size_t at = 0;
    while ((at = ascii_prefix(text, at)) < text.size) {
        size_t size = utf8_character((struct view){text.data + at, text.size - at});
        if (size == 0)
            return false;
        at += size;
    }
    return true;
}

bool utf8_repair(struct view text, struct bytes *out)
{
    size_t kept = 0, at = 0;
    while ((at = ascii_prefix(text, at)) < text.size) {
        size_t size = utf8_character((struct view){text.data + at, text.size - at});
        if (size == 0) {
            if (bytes_append(out, text.data + kept, at - kept) != BYTES_OK ||
                bytes_append_view(out, VIEW("\xef\xbf\xbd")) != BYTES_OK)
                return false;
            kept = at + 1;
        }
        at += size ? size : 1;
    }
    return at == kept || bytes_append(out, text.data + kept, at - kept) == BYTES_OK;
}

/* Bytes of the white space of Unicode that a text begins with; 0: it begins with none. */
static size_t space_at(struct view text)
{
    static const char *const wide[] = {
        "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
        "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
        "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
    if (!text.size || *text.data < 0x80)
        return text.size && isspace(*text.data);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (view_starts(text, view_of(wide[i])))
            return strlen(wide[i]);
    return 0;
}

static struct view behind(struct view text, size_t bytes)
{
    return (struct view){text.data + bytes, text.size - bytes};
}

static struct view without_leading_space(struct view text)
{
    for (size_t size; (size = space_at(text));)
        text = behind(text, size);
    return text;
}

struct view utf8_trim(struct view text)
{
    text = without_leading_space(text);
    for (size_t size = 1; size <= 3 && size <= text.size;) {
        bool space = space_at(behind(text, text.size - size)) == size;
        text.size -= space ? size : 0;
        size = space ? 1 : size + 1;
    }
    return text;
}
