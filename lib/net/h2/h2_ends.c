#include "lib/net/h2/h2_ends.h"

#include <nghttp2/nghttp2.h>
#include <string.h>

void h2_ends_note(struct h2_ends *ends, int32_t stream)
{
    ends->streams[ends->next++ % H2_ENDS] = stream;
    if (stream > ends->newest)
        ends->newest = stream;
}

static bool has_ended(const struct h2_ends *ends, int32_t stream)
{
    bool found = false;
    if (stream <= 0 || stream > ends->newest)
        return false;
    for (unsigned i = 0; i < H2_ENDS; i++)
        found |= ends->streams[i] == stream;
    return found;
}

/* Checks a frame whose header is complete. */
static bool look_at_frame(struct h2_ends *ends)
{
    const uint8_t *head = ends->head;
    uint8_t type = head[3];
    int32_t stream = (head[5] & 0x7f) << 24 | head[6] << 16 | head[7] << 8 | head[8];
    ends->left = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
    ends->got = 0;
    if (type == NGHTTP2_RST_STREAM && stream > 0)
        h2_ends_note(ends, stream);
    return (type != NGHTTP2_DATA && type != NGHTTP2_HEADERS) || !has_ended(ends, stream);
}

static size_t h2_ends_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool h2_ends_check(struct h2_ends *ends, const uint8_t *data, size_t size)
{
    bool good = true;
    size_t at = h2_ends_least(size, NGHTTP2_CLIENT_MAGIC_LEN - ends->preface);
    ends->preface += at;
    while (at < size) {
        size_t skipped = h2_ends_least(size - at, ends->left);
        ends->left -= (uint32_t)skipped;
        at += skipped;
        size_t n = h2_ends_least(size - at, H2_FRAME_HEAD - ends->got);
        memcpy(ends->head + ends->got, data + at, n);
        ends->got += (unsigned)n;
        at += n;
        if (ends->got == H2_FRAME_HEAD)
            good = look_at_frame(ends) && good;
    }
    return good;
}
