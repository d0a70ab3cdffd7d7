#include "lib/wire/pprof/ingest_text.h"

#include <string.h>

enum { LONGEST_LINE = (64 << 10) - 1 };

#define CPU_TYPE  "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define WALL_TYPE "wall:wall:nanoseconds:cpu:nanoseconds"

/* The ends of names, and the types that the server makes of them. */
static const struct {
    const char *end, *type;
} types[] = {
    {"cpu", CPU_TYPE},
    {"itimer", CPU_TYPE},
    {"wall", WALL_TYPE},
    {"seconds", WALL_TYPE},
    {"milliseconds", WALL_TYPE},
    {"microseconds", WALL_TYPE},
    {"nanoseconds", WALL_TYPE},
    {"inuse_objects", "memory:inuse_objects:count::"},
    {"inuse_space", "memory:inuse_space:bytes::"},
    {"alloc_objects", "memory:alloc_objects:count::"},
    {"alloc_space", "memory:alloc_space:bytes::"},
    {"alloc_in_new_tlab_objects", "memory:alloc_in_new_tlab_objects:count::"},
    {"alloc_in_new_tlab_bytes", "memory:alloc_in_new_tlab_bytes:bytes::"},
    {"alloc_outside_tlab_objects", "memory:alloc_outside_tlab_objects:count::"},
    {"alloc_outside_tlab_bytes", "memory:alloc_outside_tlab_bytes:bytes::"},
    {"live", "memory:live:count::"},
    {"bytes", "memory:samples:bytes::"},
    {"goroutines", "goroutine:goroutines:count::"},
    {"mutex_count", "mutex:contentions:count::"},
    {"mutex_duration", "mutex:delay:nanoseconds::"},
    {"block_count", "block:contentions:count::"},
    {"block_duration", "block:delay:nanoseconds::"},
    {"lock_count", "block:contentions:count::"},
    {"lock_duration", "block:delay:nanoseconds::"},
    {"exceptions", "exceptions:samples:count::"},
};

static struct view behind_last(struct view text, char sign)
{
    const uint8_t *at = text.size ? memrchr(text.data, sign, text.size) : NULL;
    if (!at)
        return (struct view){0};
    return (struct view){at + 1, (size_t)(text.data + text.size - at - 1)};
}

static const char *type_with_end(struct view end)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (view_eq(end, view_of(types[i].end)))
            return types[i].type;
    return NULL;
}

struct view ingest_text_unknown_type(struct view application)
{
    struct view end = behind_last(application, '.');
    return end.data && type_with_end(end) ? (struct view){0} : end;
}

const char *ingest_text_type(struct view application, bool *timed)
{
    struct view end = behind_last(application, '.');
    const char *type = end.data ? type_with_end(end) : CPU_TYPE;
    *timed = type && strstr(type, ":cpu:nanoseconds");
    return type;
}

struct view ingest_text_service(const struct series *series, const char *format)
{
    static const char *const labels[] = {"service_name", "service.name"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        struct view value = series_get(series, view_of(labels[i]));
        if (value.size)
            return value;
    }
    struct view name = series_get(series, VIEW("__name__")), end = behind_last(name, '.');
    if (end.data && type_with_end(end) && strcmp(format, "jfr") != 0)
        return view_between(name.data, end.data - 1);
    return name;
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
