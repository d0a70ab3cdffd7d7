#include "lib/wire/edit/item_memory.h"

#include "lib/wire/edit/edit_piece.h"

#include <stdlib.h>

enum {
    HEAVY = 1 << 10, /* what a record takes at least for it to be worth freeing; ITEM_LIGHT once */
    AMPLE = 256 << 10,  /* the arena is larger than this */
    MOVED = 4 << 10,    /* what is used again needs no allocation to be moved */
    AROUND_MOST = 1024, /* attributes around the record; more take too long to look through */
};

/* Texts that are used again, on their way out of what is freed. */
struct moving {
    const struct arena *arena;
    const struct item_mark *mark;
    enum { COUNT, COPY, PLACE } phase;
    size_t size;
    uint8_t *copy, *at, *moved;
};

static bool goes(const struct moving *moving, const void *at)
{
    return arena_has_since(moving->arena, moving->mark->arena, at);
}

static void move_text(struct moving *moving, struct view *text)
{
    if (moving->phase == COUNT) {
        moving->size += text->size;
    } else if (moving->phase == COPY) {
        const uint8_t *start = moving->at;
        moving->at = proto_bytes_put(moving->at, *text);
        text->data = start;
    } else {
        text->data = moving->moved + (text->data - moving->copy);
    }
}

/* A text that may be elsewhere, of a record that was there before. */
static void move_own(struct moving *moving, struct view *text)
{
    bool is_copy = (uintptr_t)text->data - (uintptr_t)moving->copy <= moving->size;
    if (moving->phase == PLACE ? is_copy : goes(moving, text->data))
        move_text(moving, text);
}

static void move_of_record(struct moving *moving, struct record *record)
{
    for (size_t i = 0; record->read && i < record->attributes.count; i++) {
        struct attribute *item = &record->attributes.items[i];
        move_own(moving, &item->key);
        move_own(moving, &item->any);
        if (item->changed)
            move_own(moving, &item->made);
    }
    for (size_t i = 0; i < record->field_count; i++)
        move_own(moving, &record->fields[i].text);
}

static void move_all(struct moving *moving, struct request_edit *edit)
{
    const struct item_mark *mark = moving->mark;
    struct splice *splice = edit->splice;
    for (size_t i = mark->edits; i < splice->count; i++)
        if (!splice_is_length(&splice->edits[i]))
            move_text(moving, &splice->edits[i].insert);
    for (size_t i = mark->additions; i < edit->addition_count; i++)
        move_text(moving, &edit->additions[i].field);
    for (size_t i = mark->pieces; mark->level == EDIT_POINT && i < edit->data->piece_count; i++)
        move_text(moving, &edit->data->pieces[i].text);
    if (mark->level == EDIT_POINT)
        move_of_record(moving, &edit->records[EDIT_ITEM]);
    if (!edit->late_heads || mark->level == EDIT_RESOURCE)
        return;
    for (size_t i = mark->pieces; mark->level < EDIT_POINT && i < edit->count; i++)
        if (edit->pieces[i].kind == PIECE_TEXT)
            move_text(moving, &edit->pieces[i].text);
    for (int level = 0; level < (int)mark->level && level <= EDIT_SCOPE; level++) {
        move_of_record(moving, &edit->records[level]);
        move_own(moving, &edit->set_schemas[level]);
    }
}

static bool too_many_around(const struct request_edit *edit, enum edit_level level)
{
    bool many = level == EDIT_POINT && edit->records[EDIT_ITEM].attributes.count > AROUND_MOST;
    for (int above = 0; edit->late_heads && above < (int)level && above <= EDIT_SCOPE; above++)
        many = many || edit->records[above].attributes.count > AROUND_MOST;
    return many;
}

/* Whether memory was taken since the mark that is used again, other than texts. */
static bool keeps_memory(const struct moving *moving, const struct request_edit *edit)
{
    bool keeps = goes(moving, edit->splice->edits) || goes(moving, edit->pieces) ||
                 goes(moving, edit->additions);
    if (moving->mark->level == EDIT_POINT)
        keeps = keeps || goes(moving, edit->data->pieces);
    for (int level = 0; level < EDIT_LEVELS && !keeps; level++) {
        const struct record *record = &edit->records[level];
        bool around = level < (int)moving->mark->level;
        keeps =
            goes(moving, record->attributes.items) || goes(moving, record->spare.items) ||
            goes(moving, record->places) ||
            (around && (goes(moving, record->attributes.index) || goes(moving, record->pieces)));
    }
    return keeps;
}

bool item_free_taken(struct request_edit *edit, const struct item_mark *mark, size_t taken)
{
    struct arena *arena = edit->splice->arena;
    size_t least = arena->used < AMPLE ? HEAVY : ITEM_LIGHT;
    struct moving moving = {.arena = arena, .mark = mark};
    uint8_t small[MOVED];
    if (taken < least || edit->signal == SIGNAL_PROFILES || too_many_around(edit, mark->level) ||
        keeps_memory(&moving, edit))
        return true;
    move_all(&moving, edit);
    if (moving.size > taken / 2)
        return true;
    moving.at = moving.copy = moving.size < sizeof small ? small : malloc(moving.size + 1);
    if (!moving.copy)
        return true; /* it stays where it is */
    moving.phase = COPY;
    move_all(&moving, edit);
    arena_rewind(arena, mark->arena);
    moving.moved = arena_array_raw(arena, moving.size + 1, 1);
    if (moving.moved && moving.size)
        memcpy(moving.moved, moving.copy, moving.size);
    moving.phase = PLACE;
    if (moving.moved)
        move_all(&moving, edit);
    if (moving.copy != small)
        free(moving.copy);
    return moving.moved;
}
