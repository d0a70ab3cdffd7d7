/* Construction of trees: nodes in an arena, copied, merged, grown. Every function returns NULL or
 * false only if the arena is full or the tree would be too deep. One thread. */
#ifndef LIB_SETTINGS_TREE_H
#define LIB_SETTINGS_TREE_H

#include "lib/base/arena.h"
#include "lib/settings/node.h"

enum {
    TREE_DEPTH_MAX = 100,
    TREE_ITEMS_MAX = 5000,  /* in one map or list */
    TREE_TEXT_MAX = 1 << 20 /* bytes of one source */
};

/* A deep copy. */
struct node *tree_copy(struct arena *arena, const struct node *node);

/* Appends to a map or list. *room is the number of items that fit before the array has to grow. */
bool tree_append(struct arena *arena, struct node *parent, struct node *item, size_t *room);

/* Merges the map over into the map base: maps merge, everything else is replaced. Shares over's
 * nodes. */
bool tree_merge(struct arena *arena, struct node *base, const struct node *over);

/* Wraps value in one map per step of "a<separator>b<separator>c"; returns the outermost map. */
struct node *tree_wrap(struct arena *arena, const char *path, const char *separator,
                       struct node *value);

/* Depth of the deepest branch; 1 for a scalar. */
unsigned tree_depth(const struct node *node);

#endif
