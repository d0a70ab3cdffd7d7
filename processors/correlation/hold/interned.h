/*
 * Byte strings that many held spans share, stored once: the headers of their resources and scopes.
 * Equal bytes give the same pointer, so pointers compare. Thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_INTERNED_H
#define PROCESSORS_CORRELATION_HOLD_INTERNED_H

#include "lib/base/budget.h"
#include "lib/base/view.h"

#include <pthread.h>

struct interned {
    struct interned *chain;
    uint32_t hash;
    uint32_t refs;
    size_t size;
    uint8_t data[];
};

struct interner {
    pthread_mutex_t lock;
    struct interned **buckets;
    size_t bucket_count, count;
    struct budget *budget;
};

void interner_init(struct interner *interner, struct budget *budget);
void interner_release(struct interner *interner); /* all were put back before */

/* Returns the shared copy of these bytes, with a reference for the caller. NULL: no memory. */
struct interned *interner_get(struct interner *interner, struct view bytes);
void interner_put(struct interner *interner, struct interned *interned); /* may be NULL */

static inline struct view interned_view(const struct interned *interned)
{
    return (struct view){interned->data, interned->size};
}

#endif
