/* A part of the tree as JSON. */
#ifndef LIB_SETTINGS_NODE_JSON_H
#define LIB_SETTINGS_NODE_JSON_H

#include "lib/base/bytes.h"
#include "lib/settings/node.h"

/* Appends the node; plain scalars have the type that YAML gives them. What exceeds the limit of out
 * is left out. */
void node_json(const struct node *node, struct bytes *out);

#endif
