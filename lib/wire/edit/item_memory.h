/*
 * Frees what an edit made in the arena for a record, of which only what the record becomes is used
 * again: what a request takes does not grow by what is made for each of its records. For
 * request_edit.c alone.
 */
#ifndef LIB_WIRE_EDIT_ITEM_MEMORY_H
#define LIB_WIRE_EDIT_ITEM_MEMORY_H

#include "lib/wire/edit/request_edit.h"

struct item_mark {
    struct arena_mark arena;
    enum edit_level level;
    size_t edits, pieces, additions;
};

/* Before a record of a level, with all in it. */
static inline struct item_mark item_mark(const struct request_edit *edit, enum edit_level level)
{
    size_t pieces = level == EDIT_POINT ? edit->data->piece_count : edit->count;
    return (struct item_mark){arena_mark(edit->splice->arena), level, edit->splice->count, pieces,
                              edit->addition_count};
}

/* After it; does nothing where that would not pay, or where memory that is used again was taken
 * meanwhile. False: no memory. */
bool item_free(struct request_edit *edit, const struct item_mark *mark);

#endif
