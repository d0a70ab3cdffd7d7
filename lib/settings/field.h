/* One value of a tree into one field of an instance. One thread. */
#ifndef LIB_SETTINGS_FIELD_H
#define LIB_SETTINGS_FIELD_H

#include "lib/settings/key.h"
#include "lib/settings/node.h"
#include "lib/settings/problems.h"

struct field {
    const struct key *key;
    void *at;                /* the field itself */
    const struct node *node; /* the value; never NULL */
    const char *path;
    struct problems *problems;
};

/* Sets any type but GROUP and GROUPS. A fault is added to problems and the field keeps what it has.
 */
void field_set(const struct field *field);

/* Adds "found X, expected Y" for a value; a secret one is not shown. */
void field_expected(const struct field *field, const char *expected);

#endif
