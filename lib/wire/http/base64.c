#include "lib/wire/http/base64.h"

static int digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

enum base64_result base64_decode(struct view text, struct bytes *out)
{
    unsigned padding = 0;
    while (padding < 2 && text.size && text.data[text.size - 1] == '=') {
        text.size--;
        padding++;
    }
    if (text.size % 4 == 1 || (padding && (text.size + padding) % 4 != 0))
        return BASE64_BAD;
    if (bytes_reserve(out, text.size / 4 * 3 + 2) != BYTES_OK)
        return BASE64_FULL;
    uint8_t *at = out->data + out->size;
    uint32_t bits = 0;
    unsigned held = 0; /* number of pending bits */
    for (size_t i = 0; i < text.size; i++) {
        int value = digit(text.data[i]);
        if (value < 0)
            return BASE64_BAD;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *at++ = (uint8_t)(bits >> held);
        }
    }
    out->size = (size_t)(at - out->data);
    return BASE64_OK;
}

bool base64_encode(struct view in, struct bytes *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (in.size > SIZE_MAX / 2 || bytes_reserve(out, (in.size + 2) / 3 * 4) != BYTES_OK)
        return false;
    for (size_t i = 0; i < in.size; i += 3) {
        size_t n = in.size - i < 3 ? in.size - i : 3;
        uint32_t group = (uint32_t)in.data[i] << 16;
        group |= n > 1 ? (uint32_t)in.data[i + 1] << 8 : 0;
        group |= n > 2 ? in.data[i + 2] : 0;
        uint8_t *at = out->data + out->size;
        for (unsigned k = 0; k < 4; k++)
            at[k] = k <= n ? (uint8_t)digits[group >> (18 - 6 * k) & 63] : '=';
        out->size += 4;
    }
    return true;
}
