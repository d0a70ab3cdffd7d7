/*
 * Numbers byte strings in order of first appearance, to build a table of unique entries. Memory
 * comes from an arena. Probing is bounded: crafted hash collisions may get a new number each time
 * instead of a long search. One thread.
 */
#ifndef LIB_WIRE_PROTO_VIEW_SET_H
#define LIB_WIRE_PROTO_VIEW_SET_H

#include "lib/base/arena.h"

struct view_set {
    struct arena *arena;
    struct view *entries;
    size_t count, room;
    uint32_t *slots; /* index + 1; 0: free */
    size_t slot_count;
};

void view_set_init(struct view_set *set, struct arena *arena);

/* Returns the number of these bytes, from 0; new ones are copied into the arena. UINT32_MAX: no
 * room. */
uint32_t view_set_add(struct view_set *set, struct view bytes);

#endif
