/* SipHash-2-4 of 128 bits (Aumasson and Bernstein, 2012), with a key that no sender knows: bytes
 * with one sum are the same, and nobody can make others. Sums may be added up, to the sum of a set
 * whose order does not count. */
#ifndef LIB_BASE_SIPHASH_H
#define LIB_BASE_SIPHASH_H

#include "lib/base/view.h"

struct siphash_key {
    uint64_t halves[2];
};

struct siphash_sum {
    uint64_t halves[2];
};

/* A key by chance. Any thread. */
struct siphash_key siphash_key_new(void);

/* The sum of eight bytes, the lowest of `first` in front, and then the others. Pure. */
struct siphash_sum siphash(const struct siphash_key *key, uint64_t first, struct view bytes);

/* Its bytes, to be summed up in turn. */
static inline struct view siphash_view(const struct siphash_sum *sum)
{
    return (struct view){(const uint8_t *)sum, sizeof *sum};
}

static inline struct siphash_sum siphash_plus(struct siphash_sum a, struct siphash_sum b)
{
    return (struct siphash_sum){{a.halves[0] + b.halves[0], a.halves[1] + b.halves[1]}};
}

static inline struct siphash_sum siphash_minus(struct siphash_sum a, struct siphash_sum b)
{
    return (struct siphash_sum){{a.halves[0] - b.halves[0], a.halves[1] - b.halves[1]}};
}

static inline bool siphash_eq(struct siphash_sum a, struct siphash_sum b)
{
    return a.halves[0] == b.halves[0] && a.halves[1] == b.halves[1];
}

#endif
