/* A JSON text as a tree, for `top`. Everything lives in an arena; strings are made fit for a
 * terminal. */
#ifndef CLI_TOP_VALUE_H
#define CLI_TOP_VALUE_H

#include "lib/base/arena.h"

struct top_value {
    const char *key;                /* in an object; else NULL */
    const char *text;               /* of a string: without control characters; "" for others */
    double number;                  /* of a number, or of a string that is one */
    struct top_value *first, *next; /* members or elements; the next one beside it */
};

/* NULL: not JSON, or the arena has no room. */
const struct top_value *top_value_read(struct view json, struct arena *arena);

/* A member; an empty value where there is none, so that calls can be nested. May be NULL. */
const struct top_value *top_value_get(const struct top_value *object, const char *key);

#endif
