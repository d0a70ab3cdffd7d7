/*
 * Finds held spans by the id that a sample would have: the one in their attribute, else their own.
 * Both byte orders of an id find the same spans, and several spans may have one id. A hash table
 * whose chains run through the spans; it takes 8 to 16 bytes a span besides. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_HELD_IDS_H
#define PROCESSORS_CORRELATION_HOLD_HELD_IDS_H

#include "lib/base/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held;

struct held_ids {
    struct held **buckets;
    size_t capacity, count;
    uint64_t seed;         /* random, so that nobody can choose ids that collide */
    struct budget *budget; /* borrowed */
};

void held_ids_init(struct held_ids *ids, uint64_t seed, struct budget *budget);
void held_ids_release(struct held_ids *ids);

/* False: no memory, not even for the first spans. */
bool held_ids_add(struct held_ids *ids, struct held *held);

void held_ids_remove(struct held_ids *ids, struct held *held);

/* Return the first span with an id, and the next one after a span; NULL: none. */
struct held *held_ids_first(const struct held_ids *ids, uint64_t id);
struct held *held_ids_next(const struct held *held);

/* Prefetches the id's bucket: it will be looked up soon. */
void held_ids_prefetch(const struct held_ids *ids, uint64_t id);

/* Tells the table that a span in it has a new address. */
void held_ids_moved(struct held_ids *ids, struct held *held);

#endif
