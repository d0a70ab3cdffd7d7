/* Sets one field of a configuration struct from one value of the tree. One thread. */
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

/* Sets a field of any type except GROUP and GROUPS. On an error a problem is added and the field is
 * unchanged. */
void field_set(const struct field *field);

/* Adds the problem that the variable of an unset value is not set. may_be_empty: says how to let it
 * be. */
void field_unset(const struct field *field, bool may_be_empty);

/* Frees what it holds; it is then as not given. */
void key_value_release(struct key_value *value);

#endif
