#include "lib/base/utf8.h"

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
