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

/* What a record takes at least of the arena for it to be looked at. */
enum { ITEM_LIGHT = 64 };

/* After a record that took as much. */
bool item_free_taken(struct request_edit *edit, const struct item_mark *mark, size_t taken);

/* After it; does nothing where that would not pay, or where memory that is used again was taken
 * meanwhile. False: no memory. */
static inline bool item_free(struct request_edit *edit, const struct item_mark *mark)
{
    size_t taken = edit->splice->arena->used - mark->arena.used;
    return taken < ITEM_LIGHT || item_free_taken(edit, mark, taken);
}

#endif
