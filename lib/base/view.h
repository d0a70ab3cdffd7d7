/* A borrowed run of bytes, not necessarily NUL-terminated. */
#ifndef LIB_BASE_VIEW_H
#define LIB_BASE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct view {
    const uint8_t *data; /* NULL only where "absent" differs from "empty" */
    size_t size;
};

/* A view of a string literal, without its NUL. */
#define VIEW(literal) ((struct view){(const uint8_t *)("" literal), sizeof(literal) - 1})

static inline struct view view_of(const char *text)
{
    return (struct view){(const uint8_t *)text, text ? strlen(text) : 0};
}

static inline struct view view_between(const uint8_t *from, const uint8_t *to)
{
    return (struct view){from, (size_t)(to - from)};
}

static inline bool view_eq(struct view a, struct view b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool view_starts(struct view text, struct view prefix)
{
    return text.size >= prefix.size && memcmp(text.data, prefix.data, prefix.size) == 0;
}

/* For printf: "%.*s", VIEW_ARG(v). */
#define VIEW_ARG(v) (int)(v).size, (const char *)(v).data

#endif
