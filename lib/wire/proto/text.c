#include "lib/wire/proto/text.h"

#include "lib/base/utf8.h"

static bool text_put(struct bytes *out, struct view text)
{
    return bytes_append_view(out, text) == BYTES_OK;
}

static bool put_escape(uint8_t c, struct bytes *out)
{
    switch (c) {
    case '"':
        return text_put(out, VIEW("\\\""));
    case '\\':
        return text_put(out, VIEW("\\\\"));
    case '\n':
        return text_put(out, VIEW("\\n"));
    case '\r':
        return text_put(out, VIEW("\\r"));
    case '\t':
        return text_put(out, VIEW("\\t"));
    default:
        return bytes_printf(out, "\\u%04x", c) == BYTES_OK;
    }
}

static bool plain(uint8_t c)
{
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

bool text_json(struct view text, struct bytes *out)
{
    if (!text_put(out, VIEW("\"")))
        return false;
    for (size_t at = 0; at < text.size;) {
        size_t run = at;
        while (run < text.size && plain(text.data[run]))
            run++;
        if (!utf8_repair((struct view){text.data + at, run - at}, out))
            return false;
        if (run < text.size && !put_escape(text.data[run++], out))
            return false;
        at = run;
    }
    return text_put(out, VIEW("\""));
}

void text_cut(struct view text, char *out, size_t out_size)
{
    if (out_size == 0)
        return;
    size_t size = text.size < out_size ? text.size : out_size - 1;
    for (int i = 0; i < 3 && size && size < text.size && (text.data[size] & 0xc0) == 0x80; i++)
        size--;
    for (size_t i = 0; i < size; i++)
        out[i] = text.data[i] ? (char)text.data[i] : ' ';
    out[size] = 0;
}

void text_shown(struct view text, char *out, size_t out_size)
{
    text_cut(view_trim(text, VIEW_SPACE), out, out_size);
}

int text_hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_hex_bytes(struct view hex, uint8_t *out, size_t size)
{
    if (hex.size != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++) {
        int high = text_hex_digit(hex.data[2 * i]), low = text_hex_digit(hex.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void text_camel(const char *snake, char *out, size_t out_size)
{
    size_t at = 0;
    bool raise = false;
    for (; *snake && at + 1 < out_size; snake++) {
        if (*snake == '_') {
            raise = true;
            continue;
        }
        out[at++] = raise && *snake >= 'a' && *snake <= 'z' ? (char)(*snake - 'a' + 'A') : *snake;
        raise = false;
    }
    out[at] = 0;
}
