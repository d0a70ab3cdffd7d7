#include "lib/net/h2/h2_ends.h"

#include "lib/base/bytes.h"
#include "tests/support/suite.h"

#include <nghttp2/nghttp2.h>

static struct bytes sent;

static void frame(uint8_t type, int32_t stream, uint32_t size)
{
    static const uint8_t content[300];
    const uint8_t head[] = {
        (uint8_t)(size >> 16),   (uint8_t)(size >> 8),    (uint8_t)size,          type,           0,
        (uint8_t)(stream >> 24), (uint8_t)(stream >> 16), (uint8_t)(stream >> 8), (uint8_t)stream};
    bytes_append(&sent, head, sizeof head);
    bytes_append(&sent, content, size);
}

static void begin(void)
{
    bytes_release(&sent);
    bytes_init(&sent, 1 << 20, NULL);
    bytes_append(&sent, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
}

/* Checks everything that was sent, split at each byte or into pieces of several bytes. */
static bool is_good(int32_t ended)
{
    bool good = true;
    for (size_t piece = 1; piece <= sent.size; piece = piece < 20 ? piece + 1 : 2 * piece) {
        struct h2_ends ends = {0};
        bool each = true;
        if (ended)
            h2_ends_note(&ends, ended);
        for (size_t at = 0; at < sent.size; at += piece) {
            size_t n = sent.size - at < piece ? sent.size - at : piece;
            each = h2_ends_check(&ends, sent.data + at, n) && each;
        }
        ck_assert(piece == 1 || each == good);
        good = each;
    }
    return good;
}

START_TEST(content_on_an_ended_stream_is_found_however_the_bytes_come)
{
    static const uint8_t types[] = {NGHTTP2_DATA, NGHTTP2_HEADERS};
    for (size_t i = 0; i < 2; i++) {
        begin();
        frame(NGHTTP2_SETTINGS, 0, 6);
        frame(NGHTTP2_HEADERS, 7, 40);
        frame(NGHTTP2_DATA, 7, 0);
        frame(NGHTTP2_WINDOW_UPDATE, 5, 4);
        frame(NGHTTP2_RST_STREAM, 3, 4);
        frame(NGHTTP2_DATA, 7, 257);
        ck_assert(is_good(5));
        frame(types[i], 5, 1);
        ck_assert(!is_good(5));
        ck_assert(is_good(0));
        frame(types[i], 3, 1);
        ck_assert(!is_good(0));
    }
    bytes_release(&sent);
}
END_TEST

START_TEST(the_last_ones_are_remembered)
{
    begin();
    frame(NGHTTP2_DATA, 1, 1);
    struct h2_ends ends = {0};
    h2_ends_note(&ends, 1);
    for (int32_t stream = 3; stream < 1 + 2 * H2_ENDS; stream += 2)
        h2_ends_note(&ends, stream);
    ck_assert(!h2_ends_check(&ends, sent.data, sent.size));
    ends = (struct h2_ends){0};
    h2_ends_note(&ends, 1);
    for (int32_t stream = 3; stream <= 1 + 2 * H2_ENDS; stream += 2)
        h2_ends_note(&ends, stream);
    ck_assert(h2_ends_check(&ends, sent.data, sent.size));
    bytes_release(&sent);
}
END_TEST

SUITE_MAIN("h2_ends", content_on_an_ended_stream_is_found_however_the_bytes_come,
           the_last_ones_are_remembered)
