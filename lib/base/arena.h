/* Bump allocator with a cap. Holds the data made from one input, such as a decoded message, freed
 * all at once. */
#ifndef LIB_BASE_ARENA_H
#define LIB_BASE_ARENA_H

#include "lib/base/budget.h"
#include "lib/base/view.h"

struct arena_block;

/* How an arena takes memory: budget_take, budget_take_spare or budget_use. */
typedef bool arena_charge_fn(struct budget *budget, size_t n);

struct arena {
    struct arena_block *blocks;
    size_t used;      /* bytes handed out, rounding included */
    size_t cap;       /* allocations beyond it fail */
    bool starved;     /* no memory for an allocation below the cap; stays set until the next init */
    size_t lacked;    /* bytes of that allocation */
    bool full;        /* an allocation failed for either reason; stays set until the next init */
    struct arena *of; /* a scratch arena's: becomes full and starved with it; NULL: none */
    struct budget *budget; /* NULL: nothing is charged */
    arena_charge_fn *charge;
    size_t taken, covered, charged; /* bytes of all blocks; of those, not charged; and charged */
};

/* An empty arena that hands out at most cap bytes; allocates nothing. */
void arena_init(struct arena *arena, size_t cap);

/* What work on a request may take besides what is charged: too little to be worth it. */
enum { ARENA_SMALL = 64 << 10 };

/* What the arena takes from now on beyond `covered` bytes is charged to the budget by `charge`,
 * until arena_release; no room there counts as no memory. For an arena whose size an input of few
 * bytes can make large. A NULL budget changes nothing. Call it before the first allocation. */
void arena_charge(struct arena *arena, struct budget *budget, arena_charge_fn *charge,
                  size_t covered);

/* An empty arena for scratch data, with the room that is left in another and charged like it. */
void arena_init_scratch(struct arena *scratch, struct arena *arena);

/* Returns size zeroed bytes, aligned for any type. NULL: beyond the cap, or out of memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* As arena_alloc(count * size), but NULL where the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* As arena_array, but the memory is not zeroed. */
void *arena_array_raw(struct arena *arena, size_t count, size_t size);

/* A place to which an arena can be rewound, which frees all that was handed out since. */
struct arena_mark {
    const struct arena_block *block;
    size_t block_used, used;
};
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, struct arena_mark mark);

/* Whether a place is in what was handed out since. */
bool arena_has_since(const struct arena *arena, struct arena_mark mark, const void *at);

/* Copies the view and appends a NUL. */
char *arena_text(struct arena *arena, struct view view);

/* Frees everything; the arena can be used again. May be called repeatedly. */
void arena_release(struct arena *arena);

#endif
