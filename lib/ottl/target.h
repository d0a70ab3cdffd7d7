/* The map that an editor changes. For lib/ottl alone. */
#ifndef LIB_OTTL_TARGET_H
#define LIB_OTTL_TARGET_H

#include "lib/ottl/function.h"

struct target {
    const struct ottl_node *path;
    struct attributes *list;
    struct attributes own; /* where the path is a value inside */
};

/* The same where it is inside a value, and where it may have to be written. */
bool target_open_value(struct target *target, struct ottl_run *run, const struct ottl_node *call);
struct ottl_value target_close_value(struct target *target, struct ottl_run *run);

/* Opens the map that the first argument names. False: the run has failed. */
static inline bool target_open(struct target *target, struct ottl_run *run,
                               const struct ottl_node *call)
{
    target->path = call->items[0];
    target->list = ottl_path_attributes(target->path, run, call->seeks);
    return target->list || target_open_value(target, run, call);
}

/* Writes the changes. NIL, for callers to return; the run may have failed. */
static inline struct ottl_value target_close(struct target *target, struct ottl_run *run)
{
    if (target->list == &target->own || target->list->failed)
        return target_close_value(target, run);
    target->list->partial = false;
    return ottl_nil();
}

#endif
