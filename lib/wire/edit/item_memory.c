#include "lib/wire/edit/item_memory.h"

#include <stdlib.h>

/* What an item takes at least of the arena for it to be worth freeing; and what becomes of it that
 * needs no allocation to be moved. */
enum { ITEM_HEAVY = 1 << 10, ITEM_MOVED = 4 << 10 };

static struct edit_standing standing_of(const struct record *record, enum edit_level level)
{
    const struct attributes *list = &record->attributes;
    struct edit_standing standing = {
        .items = list->items, .spare = record->spare.items, .places = record->places};
    if (level < EDIT_ITEM) {
        standing.index = list->index;
        standing.sieve = record->sieve;
        standing.count = list->count;
        standing.read = record->read;
    }
    return standing;
}

/* Whether all records have what they had at the last call, and so nothing since. */
static bool records_stand(struct request_edit *edit)
{
    bool stand = true;
    for (int level = 0; level < EDIT_LEVELS; level++) {
        struct edit_standing *old = &edit->standing[level],
                             now = standing_of(&edit->records[level], (enum edit_level)level);
        stand = stand && old->items == now.items && old->spare == now.spare &&
                old->places == now.places && old->index == now.index && old->sieve == now.sieve &&
                old->count == now.count && old->read == now.read;
        *old = now;
    }
    return stand;
}

/* Moves what an item became to where the rest of it is freed. False: no memory. */
static bool move_inserts(struct splice *splice, const struct item_mark *mark, size_t size)
{
    uint8_t small[ITEM_MOVED], *copy = size <= sizeof small ? small : malloc(size), *at = copy;
    if (!copy)
        return true; /* it stays where it is */
    for (size_t i = mark->count; i < splice->count; i++)
        if (!splice_is_length(&splice->edits[i]))
            at = proto_bytes_put(at, splice->edits[i].insert);
    arena_rewind(splice->arena, mark->arena);
    uint8_t *moved = arena_array_raw(splice->arena, size + 1, 1);
    if (moved && size)
        memcpy(moved, copy, size);
    for (size_t i = mark->count; moved && i < splice->count; i++)
        if (!splice_is_length(&splice->edits[i]) && splice->edits[i].insert.size) {
            splice->edits[i].insert.data = moved;
            moved += splice->edits[i].insert.size;
        }
    if (copy != small)
        free(copy);
    return moved;
}

bool item_free(struct request_edit *edit, const struct item_mark *mark)
{
    const struct splice *splice = edit->splice;
    size_t taken = splice->arena->used - mark->arena.used, size = 0;
    if (taken < ITEM_HEAVY || edit->late_heads || edit->signal == SIGNAL_PROFILES ||
        !records_stand(edit) || splice->edits != mark->edits ||
        edit->addition_count != mark->additions || edit->set_schemas[EDIT_SCOPE].data)
        return true;
    for (size_t i = mark->count; i < splice->count; i++)
        size += splice_is_length(&splice->edits[i]) ? 0 : splice->edits[i].insert.size;
    return size > taken / 2 || move_inserts(edit->splice, mark, size);
}

void item_memory_begin(struct request_edit *edit)
{
    (void)records_stand(edit);
}
