/*
 * Frees what an edit made in the arena for an item, of which only what the item becomes is used
 * again: what a request takes does not grow by what is made for each of its items. For
 * request_edit.c alone.
 */
#ifndef LIB_WIRE_EDIT_ITEM_MEMORY_H
#define LIB_WIRE_EDIT_ITEM_MEMORY_H

#include "lib/wire/edit/request_edit.h"

/* Before the items of a scope. */
void item_memory_begin(struct request_edit *edit);

struct item_mark {
    struct arena_mark arena;
    const struct splice_edit *edits;
    size_t count, additions;
};

/* Before an item. */
static inline struct item_mark item_mark(const struct request_edit *edit)
{
    return (struct item_mark){arena_mark(edit->splice->arena), edit->splice->edits,
                              edit->splice->count, edit->addition_count};
}

/* After it; does nothing where some of what was made may be that of others. False: no memory. */
bool item_free(struct request_edit *edit, const struct item_mark *mark);

#endif
