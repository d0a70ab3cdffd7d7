/* A sequence of bytes split over several runs, and a reader over it. Borrows the bytes. */
#ifndef LIB_BASE_PIECES_H
#define LIB_BASE_PIECES_H

#include "lib/base/view.h"

struct pieces {
    const struct view *views;
    size_t count;
};

struct pieces_reader {
    struct pieces rest; /* after the current run */
    struct view view;   /* what is left of the current run */
};

static inline size_t pieces_size(struct pieces pieces)
{
    size_t size = 0;
    for (size_t i = 0; i < pieces.count; i++)
        size += pieces.views[i].size;
    return size;
}

static inline struct pieces_reader pieces_read_begin(struct pieces pieces)
{
    return (struct pieces_reader){.rest = pieces};
}

/* Returns the next bytes where they are, most at most; empty only at the end. */
struct view pieces_next(struct pieces_reader *reader, size_t most);

/* Copies the next bytes to out and returns their number; fewer than room only at the end. */
size_t pieces_read(struct pieces_reader *reader, void *out, size_t room);

#endif
