#include "pipeline/addressees.h"

#include "lib/base/murmur3.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

uint64_t exporter_key(const char *id)
{
    uint64_t halves[2];
    murmur3_128(view_of(id), halves);
    return halves[0] ? halves[0] : 1;
}

struct addressees *addressees_new(const uint64_t *keys, size_t count)
{
    struct addressees *addressees =
        count ? malloc(sizeof *addressees + count * sizeof addressees->keys[0]) : NULL;
    if (!addressees)
        return NULL;
    atomic_init(&addressees->refs, 1);
    addressees->count = count;
    memcpy(addressees->keys, keys, count * sizeof addressees->keys[0]);
    return addressees;
}

struct addressees *addressees_ref(struct addressees *addressees)
{
    if (addressees)
        atomic_fetch_add_explicit(&addressees->refs, 1, memory_order_relaxed);
    return addressees;
}

void addressees_unref(struct addressees *addressees)
{
    if (addressees && atomic_fetch_sub_explicit(&addressees->refs, 1, memory_order_acq_rel) == 1)
        free(addressees);
}

bool addressees_has(const struct addressees *addressees, uint64_t key)
{
    for (size_t i = 0; addressees && i < addressees->count; i++)
        if (addressees->keys[i] == key)
            return true;
    return false;
}

bool addressees_same(const struct addressees *a, const struct addressees *b)
{
    return a == b || (a && b && a->count == b->count &&
                      memcmp(a->keys, b->keys, a->count * sizeof a->keys[0]) == 0);
}
