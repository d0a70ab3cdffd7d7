/* Trees while they are being made: nodes in an arena, copied, merged, grown. Each function answers
 * NULL or false only where the arena has no room or the tree would be too deep. One thread. */
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

/* Appends to a map or list. *room is how many items fit before the array has to grow. */
bool tree_append(struct arena *arena, struct node *parent, struct node *item, size_t *room);

/* Lays over on base, both maps: maps merge, all else is replaced. Nodes of over are taken. */
bool tree_merge(struct arena *arena, struct node *base, const struct node *over);

/* Wraps value in one map a step of "a<separator>b<separator>c"; the map without key is returned. */
struct node *tree_wrap(struct arena *arena, const char *path, const char *separator,
                       struct node *value);

/* Levels of the deepest branch; a scalar has 1. */
unsigned tree_depth(const struct node *node);

#endif
