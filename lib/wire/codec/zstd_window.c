#include "lib/wire/codec/zstd_window.h"

#include <zstd.h>

enum {
    WINDOW_MAX = 1 << ZSTD_WINDOW_LOG,
    DESCRIPTOR = 4, /* after the magic number */
    SINGLE_SEGMENT = 0x20,
    LEAST_LOG = 10
};

/* The library refuses larger ones. */
static size_t window_of(struct view in)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (in.size < DESCRIPTOR + 2 || memcmp(in.data, magic, sizeof magic) != 0)
        return 0;
    if (in.data[DESCRIPTOR] & SINGLE_SEGMENT) {
        unsigned long long content = ZSTD_getFrameContentSize(in.data, in.size);
        return content < WINDOW_MAX ? (size_t)content : WINDOW_MAX;
    }
    unsigned log = LEAST_LOG + (in.data[DESCRIPTOR + 1] >> 3);
    size_t base = (size_t)1 << log, size = base + base / 8 * (in.data[DESCRIPTOR + 1] & 7);
    return size < WINDOW_MAX ? size : WINDOW_MAX;
}

void zstd_window_frame(struct zstd_window *window, struct view in)
{
    size_t size = window_of(in);
    if (size > window->size)
        window->size = size;
}

bool zstd_window_reach(struct zstd_window *window, size_t n)
{
    size_t wanted = n < window->size ? n : window->size;
    if (wanted <= window->charged)
        return true;
    if (!budget_take(window->budget, wanted - window->charged))
        return false;
    window->charged = wanted;
    return true;
}

void zstd_window_end(struct zstd_window *window)
{
    budget_give(window->budget, window->charged);
    window->charged = 0;
}
