#include "lib/wire/codec/coding.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 * 1024 };

enum inflate_result coding_copy(struct view in, struct bytes *out)
{
    switch (bytes_append_view(out, in)) {
    case BYTES_OK:
        return INFLATE_OK;
    case BYTES_FULL:
        return INFLATE_TOO_LARGE;
    case BYTES_NO_MEMORY:
        break;
    }
    return INFLATE_NO_MEMORY;
}

enum inflate_result coding_make_room(struct bytes *out, struct coding_room *room)
{
    size_t left = out->max - out->size;
    *room = (struct coding_room){0};
    if (left == 0)
        return INFLATE_OK;
    size_t wanted = out->size > FIRST_ROOM ? out->size : FIRST_ROOM;
    if (out->size == out->capacity && bytes_reserve(out, wanted < left ? wanted : left) != BYTES_OK)
        return INFLATE_NO_MEMORY;
    room->data = out->data + out->size;
    room->size = out->capacity - out->size < left ? out->capacity - out->size : left;
    return INFLATE_OK;
}

enum inflate_result coding_take(struct bytes *out, const struct coding_room *room, size_t written)
{
    if (!room->data)
        return written ? INFLATE_TOO_LARGE : INFLATE_OK;
    out->size += written;
    return INFLATE_OK;
}

bool coding_flatten(struct pieces in, struct view *flat, uint8_t **copy)
{
    *copy = NULL;
    *flat = in.count ? in.views[0] : (struct view){0};
    if (in.count <= 1)
        return true;
    struct pieces_reader reader = pieces_read_begin(in);
    size_t size = pieces_size(in);
    *copy = malloc(size ? size : 1);
    if (*copy)
        *flat = (struct view){*copy, pieces_read(&reader, *copy, size)};
    return *copy;
}
