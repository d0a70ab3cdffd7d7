#include "lib/wire/pprof/ingest_text.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST_LINE = (64 << 10) - 1 };

static const char *const types[] = {
    "cpu",
    "wall",
    "itimer",
    "inuse_objects",
    "inuse_space",
    "alloc_objects",
    "alloc_space",
    "goroutines",
    "mutex_count",
    "mutex_duration",
    "block_count",
    "block_duration",
    "lock_count",
    "lock_duration",
    "alloc_in_new_tlab_objects",
    "alloc_in_new_tlab_bytes",
    "alloc_outside_tlab_objects",
    "alloc_outside_tlab_bytes",
    "live",
    "exceptions",
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "bytes",
};

static struct view behind_last(struct view text, char sign)
{
    const uint8_t *at = text.size ? memrchr(text.data, sign, text.size) : NULL;
    if (!at)
        return (struct view){0};
    return (struct view){at + 1, (size_t)(text.data + text.size - at - 1)};
}

struct view ingest_text_unknown_type(struct view application)
{
    struct view type = behind_last(application, '.');
    for (size_t i = 0; type.data && i < sizeof types / sizeof *types; i++)
        if (view_eq(type, view_of(types[i])))
            return (struct view){0};
    return type;
}

/* A 64-bit integer, with or without a sign. */
static bool is_integer(struct view text)
{
    bool negative = text.size && text.data[0] == '-';
    uint64_t value = 0, most = (uint64_t)INT64_MAX + negative;
    size_t i = text.size && (negative || text.data[0] == '+');
    if (i == text.size)
        return false;
    for (; i < text.size; i++) {
        unsigned digit = text.data[i] - (unsigned)'0';
        if (digit > 9 || value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    return true;
}

size_t folded_bad_line(struct view text)
{
    for (size_t number = 1; text.size; number++) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        struct view line = {text.data, end ? (size_t)(end - text.data) : text.size};
        size_t taken = end ? line.size + 1 : line.size;
        text = (struct view){text.data + taken, text.size - taken};
        if (line.size > LONGEST_LINE)
            return 0;
        if (line.size && line.data[line.size - 1] == '\r')
            line.size--;
        struct view count = behind_last(line, ' ');
        if (count.data && !is_integer(count))
            return number;
    }
    return 0;
}
