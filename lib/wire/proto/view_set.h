/*
 * Runs of bytes numbered in the order in which they come, equal ones alike: the way to build a
 * table of unique entries. Memory comes from an arena. Looking up is bounded: bytes made so that
 * their hashes meet are numbered anew instead of being searched for. One thread.
 */
#ifndef LIB_WIRE_PROTO_VIEW_SET_H
#define LIB_WIRE_PROTO_VIEW_SET_H

#include "lib/base/arena.h"

struct view_set {
    struct arena *arena;
    struct view *entries;
    size_t count, room;
    uint32_t *slots; /* 1 past the index; 0: free */
    size_t slot_count;
};

void view_set_init(struct view_set *set, struct arena *arena);

/* The number of these bytes, from 0; copied into the arena where they are new. UINT32_MAX: no
 * room. */
uint32_t view_set_add(struct view_set *set, struct view bytes);

#endif
