/*
 * A sieve for the keys of attributes that somebody looks for, so that the others need not be read:
 * it passes all that were added, and by chance a few more. Pure.
 */
#ifndef LIB_WIRE_VALUE_KEY_SIEVE_H
#define LIB_WIRE_VALUE_KEY_SIEVE_H

#include "lib/base/view.h"

struct key_sieve {
    uint32_t bits[8]; /* by key_mark */
    bool all;         /* passes every key */
};

/* The last byte of a key; 0: it is empty. */
static inline uint8_t key_last(struct view key)
{
    return key.size ? key.data[key.size - 1] : 0;
}

/* What most keys of one record differ in: their last byte and their size. */
static inline uint8_t key_mark(size_t size, uint8_t last)
{
    return (uint8_t)(8 * size + last);
}

static inline uint8_t key_mark_of(struct view key)
{
    return key_mark(key.size, key_last(key));
}

static inline void key_sieve_add(struct key_sieve *sieve, struct view key)
{
    const uint8_t mark = key_mark_of(key);
    sieve->bits[mark / 32] |= UINT32_C(1) << mark % 32;
}

static inline bool key_sieve_passes(const struct key_sieve *sieve, struct view key)
{
    const uint8_t mark = key_mark_of(key);
    return sieve->all || (sieve->bits[mark / 32] >> mark % 32 & 1);
}

/* Passes what the other passes too. */
static inline void key_sieve_join(struct key_sieve *sieve, const struct key_sieve *other)
{
    for (size_t i = 0; i < 8; i++)
        sieve->bits[i] |= other->bits[i];
    sieve->all = sieve->all || other->all;
}

/* A sieve that is looked into often: what passes falls into a cell, with what has its mark. */
enum { KEY_CELLS = 32 };

struct key_cells {
    uint8_t of[256]; /* by key_mark: from 1 on; 0: it does not pass */
    unsigned count; /* cells in use, below KEY_CELLS; where there are more marks, they share some */
};

/* Of a sieve that does not pass every key. */
static inline void key_cells_make(struct key_cells *cells, const struct key_sieve *sieve)
{
    unsigned marks = 0;
    memset(cells->of, 0, sizeof cells->of);
    for (unsigned word = 0; word < 8; word++)
        for (uint32_t bits = sieve->bits[word]; bits; bits &= bits - 1)
            cells->of[32 * word + (unsigned)__builtin_ctz(bits)] =
                (uint8_t)(marks++ % (KEY_CELLS - 1) + 1);
    cells->count = marks < KEY_CELLS - 1 ? marks : KEY_CELLS - 1;
}

#endif
