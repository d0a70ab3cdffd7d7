/*
 * A sieve for the keys of attributes that somebody looks for, so that the others need not be read:
 * it passes all that were added, and by chance a few more. Pure.
 */
#ifndef LIB_WIRE_VALUE_KEY_SIEVE_H
#define LIB_WIRE_VALUE_KEY_SIEVE_H

#include "lib/base/view.h"

struct key_sieve {
    uint32_t bits[8]; /* by the key's size, and in it by its last byte */
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
    return (uint8_t)(size << 5 | last % 32);
}

static inline bool key_sieve_takes(const struct key_sieve *sieve, size_t size, uint8_t last)
{
    return sieve->bits[size % 8] >> last % 32 & 1;
}

static inline bool key_sieve_passes(const struct key_sieve *sieve, struct view key)
{
    return sieve->all || key_sieve_takes(sieve, key.size, key_last(key));
}

static inline void key_sieve_add(struct key_sieve *sieve, struct view key)
{
    sieve->bits[key.size % 8] |= UINT32_C(1) << key_last(key) % 32;
}

/* Passes what the other passes too. */
static inline void key_sieve_join(struct key_sieve *sieve, const struct key_sieve *other)
{
    for (size_t i = 0; i < 8; i++)
        sieve->bits[i] |= other->bits[i];
    sieve->all = sieve->all || other->all;
}

#endif
