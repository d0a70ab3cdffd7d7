#include "lib/wire/http/grpc_frame.h"

#include "lib/wire/proto/text.h"

enum grpc_frame_result grpc_frame_read(struct view body, bool *compressed, struct view *message)
{
    if (body.size > 0 && body.data[0] > 1)
        return GRPC_FRAME_BAD;
    if (body.size < GRPC_PREFIX_SIZE)
        return GRPC_FRAME_SHORT;
    uint32_t size = (uint32_t)body.data[1] << 24 | (uint32_t)body.data[2] << 16 |
                    (uint32_t)body.data[3] << 8 | body.data[4];
    size_t left = body.size - GRPC_PREFIX_SIZE;
    if (left != size)
        return left < size ? GRPC_FRAME_SHORT : GRPC_FRAME_BAD;
    *compressed = body.data[0] == 1;
    *message = (struct view){body.data + GRPC_PREFIX_SIZE, size};
    return GRPC_FRAME_OK;
}

void grpc_frame_prefix(uint8_t out[GRPC_PREFIX_SIZE], bool compressed, uint32_t size)
{
    out[0] = compressed;
    out[1] = (uint8_t)(size >> 24);
    out[2] = (uint8_t)(size >> 16);
    out[3] = (uint8_t)(size >> 8);
    out[4] = (uint8_t)size;
}

void grpc_message_encode(const char *text, char *out, size_t out_size)
{
    size_t at = 0;
    for (; *text && at + 1 < out_size; text++) {
        uint8_t c = (uint8_t)*text;
        if (c >= 0x20 && c <= 0x7e && c != '%') {
            out[at++] = (char)c;
            continue;
        }
        /* A partial escape would be read as text. */
        if (at + 3 >= out_size)
            break;
        out[at++] = '%';
        out[at++] = "0123456789ABCDEF"[c >> 4];
        out[at++] = "0123456789ABCDEF"[c & 15];
    }
    if (out_size > 0)
        out[at] = 0;
}

/* Decodes an escape; -1: not an escape, literal text. */
static int escaped(struct view rest)
{
    if (rest.size < 3 || rest.data[0] != '%')
        return -1;
    int high = text_hex_digit(rest.data[1]), low = text_hex_digit(rest.data[2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

void grpc_message_decode(struct view encoded, char *out, size_t out_size)
{
    size_t at = 0;
    for (size_t i = 0; i < encoded.size && at + 1 < out_size; at++) {
        int byte = escaped((struct view){encoded.data + i, encoded.size - i});
        out[at] = byte < 0 ? (char)encoded.data[i] : (char)byte;
        i += byte < 0 ? 1 : 3;
        if (out[at] == 0)
            out[at] = ' ';
    }
    if (out_size > 0)
        out[at] = 0;
}
