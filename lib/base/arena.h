/* Memory that lives and dies together, with a cap: what a decoder may use for one input. */
#ifndef LIB_BASE_ARENA_H
#define LIB_BASE_ARENA_H

#include "lib/base/view.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    size_t used;  /* bytes handed out, rounding included */
    size_t cap;   /* allocations past it fail */
    bool starved; /* one failed because the system had no memory; until the next init */
};

/* An empty arena that hands out at most cap bytes; allocates nothing. */
void arena_init(struct arena *arena, size_t cap);

/* size bytes, zeroed, aligned for any type; NULL past the cap or without memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* count * size with the overflow checked. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* The same without the zeros. */
void *arena_array_raw(struct arena *arena, size_t count, size_t size);

/* A copy that ends in NUL (not counted in a view's size). */
char *arena_text(struct arena *arena, struct view view);

/* Frees everything; the arena can be used again. Legal twice. */
void arena_release(struct arena *arena);

#endif
