#include "lib/base/pieces.h"

size_t pieces_read(struct pieces_reader *reader, void *out, size_t room)
{
    uint8_t *at = out;
    while (room > 0) {
        struct view *view = &reader->view;
        if (view->size == 0) {
            if (reader->rest.count == 0)
                break;
            *view = *reader->rest.views++;
            reader->rest.count--;
            continue;
        }
        size_t n = view->size < room ? view->size : room;
        memcpy(at, view->data, n);
        *view = (struct view){view->data + n, view->size - n};
        at += n;
        room -= n;
    }
    return (size_t)(at - (uint8_t *)out);
}
