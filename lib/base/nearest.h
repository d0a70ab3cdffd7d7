/* The name that was meant by a misspelt one, for "did you mean". */
#ifndef LIB_BASE_NEAREST_H
#define LIB_BASE_NEAREST_H

#include "lib/base/view.h"

struct nearest {
    struct view name; /* the misspelt one */
    const char *best; /* the nearest offered so far; NULL: none is near */
    unsigned within;  /* how many changes may lead to a better one */
};

struct nearest nearest_begin(struct view name);

/* Considers a candidate, which stays the caller's. Case does not count. */
void nearest_offer(struct nearest *nearest, const char *candidate);

/* Puts ", did you mean endpoint?", or nothing. */
void nearest_hint(const struct nearest *nearest, char hint[120]);

/* The nearest entry of a NULL-terminated list, which may be NULL itself; NULL: none is near. */
const char *nearest_word(const char *word, const char *const *list);

#endif
