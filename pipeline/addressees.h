/*
 * The exporters that an earlier process gave all of a request, so that they are not given it
 * again. Refcounted and immutable; any thread.
 */
#ifndef PIPELINE_ADDRESSEES_H
#define PIPELINE_ADDRESSEES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDRESSEES_MAX = 32 };

struct addressees {
    _Atomic unsigned refs;
    size_t count;
    uint64_t keys[]; /* exporter_key() of each, in order */
};

/* The key of an exporter by its id: the same in every process, never 0. */
uint64_t exporter_key(const char *id);

/* Copies the keys, which are in order. NULL: none, or no memory. */
struct addressees *addressees_new(const uint64_t *keys, size_t count);
struct addressees *addressees_ref(struct addressees *addressees); /* may be NULL */
void addressees_unref(struct addressees *addressees);             /* may be NULL */

/* NULL: the empty set. */
bool addressees_has(const struct addressees *addressees, uint64_t key);
bool addressees_same(const struct addressees *a, const struct addressees *b);

#endif
