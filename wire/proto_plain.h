/*
 * Pieces of messages in the forms in which they mostly come: tags of one byte, lengths of one or
 * two. For code that looks for these first and goes the long way, proto_scan.h, where it does not
 * find them. Pure.
 */
#ifndef WIRE_PROTO_PLAIN_H
#define WIRE_PROTO_PLAIN_H

#include "wire/proto_scan.h"

/* The tag of a field below 16. */
#define PLAIN_TAG(number, type) (uint8_t)((number) << 3 | (type))

/* A length of one or two bytes at `at`, not past end: where its content begins, and in *behind
 * where that ends. NULL: a longer length, or one that does not fit. */
static inline const uint8_t *plain_content(const uint8_t *at, const uint8_t *end,
                                           const uint8_t **behind)
{
    if (end - at < 1)
        return NULL;
    size_t size = *at++;
    if (size >= 0x80) {
        if (at == end || *at >= 0x80)
            return NULL;
        size = (size & 0x7f) | (size_t)*at++ << 7;
    }
    if (size > (size_t)(end - at))
        return NULL;
    *behind = at + size;
    return at;
}

/* Behind a varint of up to nine bytes; NULL: longer, or cut off. */
static inline const uint8_t *plain_varint_end(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *most = end - at > 9 ? at + 9 : end;
    while (at < most)
        if (*at++ < 0x80)
            return at;
    return NULL;
}

#endif
