/*
 * Held spans by the id that a sample would name them by: the one that their attribute names, else
 * their own. Both byte orders of an id find the same spans, and several spans may have one id. A
 * hash table whose chains stand in the spans, 8 to 16 bytes a span beside them. Not thread-safe.
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
    uint64_t seed;         /* so that nobody can choose ids that collide */
    struct budget *budget; /* borrowed */
};

void held_ids_init(struct held_ids *ids, uint64_t seed, struct budget *budget);
void held_ids_release(struct held_ids *ids);

/* False: there is no memory, not even for the first spans. */
bool held_ids_add(struct held_ids *ids, struct held *held);

void held_ids_remove(struct held_ids *ids, struct held *held);

/* The first span of an id, and the next behind one; NULL: none. */
struct held *held_ids_first(const struct held_ids *ids, uint64_t id);
struct held *held_ids_next(const struct held *held);

/* Says that the id will be asked for soon, so that memory is on its way by then. */
void held_ids_expect(const struct held_ids *ids, uint64_t id);

/* A span that is inside stands at another address now. */
void held_ids_moved(struct held_ids *ids, struct held *held);

#endif
