/* A borrowed run of bytes, not necessarily NUL-terminated. */
#ifndef LIB_BASE_VIEW_H
#define LIB_BASE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

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

/* The bits in which the eight bytes at both differ. */
static inline uint64_t view_differ(const uint8_t *a, const uint8_t *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x ^ y;
}

/* As view_eq, for texts such as keys, which are too short for a call of memcmp to pay. */
static inline bool view_eq_short(struct view a, struct view b)
{
    if (a.size != b.size)
        return false;
    if (a.size < sizeof(uint64_t)) {
        for (size_t i = 0; i < a.size; i++)
            if (a.data[i] != b.data[i])
                return false;
        return true;
    }
    const size_t last = a.size - sizeof(uint64_t);
    uint64_t bits = view_differ(a.data, b.data) | view_differ(a.data + last, b.data + last);
    for (size_t i = sizeof bits; i < last; i += sizeof bits)
        bits |= view_differ(a.data + i, b.data + i);
    return bits == 0;
}

static inline bool view_starts(struct view text, struct view prefix)
{
    return text.size >= prefix.size && memcmp(text.data, prefix.data, prefix.size) == 0;
}

static inline bool view_ends(struct view text, struct view suffix)
{
    return text.size >= suffix.size &&
           view_eq((struct view){text.data + text.size - suffix.size, suffix.size}, suffix);
}

/* Equal apart from the case of ASCII letters. */
static inline bool view_eq_nocase(struct view a, struct view b)
{
    return a.size == b.size &&
           (a.size == 0 || strncasecmp((const char *)a.data, (const char *)b.data, a.size) == 0);
}

/* White space, as isspace has it in the C locale. */
#define VIEW_SPACE VIEW(" \t\n\v\f\r")

/* The text without leading bytes of a set. */
static inline struct view view_trim_start(struct view text, struct view set)
{
    while (text.size && memchr(set.data, *text.data, set.size))
        text = (struct view){text.data + 1, text.size - 1};
    return text;
}

/* The text without trailing bytes of a set. */
static inline struct view view_trim_end(struct view text, struct view set)
{
    while (text.size && memchr(set.data, text.data[text.size - 1], set.size))
        text.size--;
    return text;
}

static inline struct view view_trim(struct view text, struct view set)
{
    return view_trim_end(view_trim_start(text, set), set);
}

/* FNV-1a of 64 bits (draft-eastlake-fnv). Its low bits are poor: for a table, fold the high ones
 * in. */
static inline uint64_t view_hash(struct view bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Less than, equal to or greater than 0, as a comes before b: by bytes, a prefix first. */
static inline int view_order(struct view a, struct view b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* For printf: "%.*s", VIEW_ARG(v). */
#define VIEW_ARG(v) (int)(v).size, (const char *)(v).data

#endif
