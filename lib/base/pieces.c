#include "lib/base/pieces.h"

struct view pieces_next(struct pieces_reader *reader, size_t most)
{
    struct view *view = &reader->view;
    while (view->size == 0 && reader->rest.count > 0) {
        *view = *reader->rest.views++;
        reader->rest.count--;
    }
    struct view next = {view->data, view->size < most ? view->size : most};
    *view = (struct view){view->data + next.size, view->size - next.size};
    return next;
}

size_t pieces_read(struct pieces_reader *reader, void *out, size_t room)
{
    uint8_t *at = out;
    while (room > 0) {
        struct view next = pieces_next(reader, room);
        if (next.size == 0)
            break;
        memcpy(at, next.data, next.size);
        at += next.size;
        room -= next.size;
    }
    return (size_t)(at - (uint8_t *)out);
}
