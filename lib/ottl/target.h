/* The map that an editor changes. For lib/ottl alone. */
#ifndef LIB_OTTL_TARGET_H
#define LIB_OTTL_TARGET_H

#include "lib/ottl/function.h"

struct target {
    const struct ottl_node *path;
    struct attributes *list;
    struct attributes own; /* where the path is a value inside */
};

/* Opens the map that the first argument names. False: the run has failed. */
bool target_open(struct target *target, struct ottl_run *run, const struct ottl_node *call);

/* Writes the changes. NIL, for callers to return; the run may have failed. */
struct ottl_value target_close(struct target *target, struct ottl_run *run);

#endif
