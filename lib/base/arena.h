/* Bump allocator with a cap. Holds the data made from one input, such as a decoded message, freed
 * all at once. */
#ifndef LIB_BASE_ARENA_H
#define LIB_BASE_ARENA_H

#include "lib/base/view.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used;  /* bytes handed out, rounding included */
    size_t cap;   /* allocations beyond it fail */
    bool starved; /* malloc failed for an allocation below the cap; stays set until the next init */
};

/* An empty arena that hands out at most cap bytes; allocates nothing. */
void arena_init(struct arena *arena, size_t cap);

/* Returns size zeroed bytes, aligned for any type. NULL: beyond the cap, or out of memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* As arena_alloc(count * size), but NULL where the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* As arena_array, but the memory is not zeroed. */
void *arena_array_raw(struct arena *arena, size_t count, size_t size);

/* Copies the view and appends a NUL. */
char *arena_text(struct arena *arena, struct view view);

/* Frees everything; the arena can be used again. May be called repeatedly. */
void arena_release(struct arena *arena);

#endif
