/* The only user of the YAML library: a text into a tree with positions. Anchors and aliases become
 * copies, merge keys are merged, keys given twice are problems. One thread. */
#ifndef LIB_SETTINGS_YAML_H
#define LIB_SETTINGS_YAML_H

#include "lib/base/arena.h"
#include "lib/settings/node.h"
#include "lib/settings/problems.h"

/* The root; a null node for an empty text. file (borrowed as long as the arena) is named by the
 * nodes. NULL: a problem was added. */
struct node *yaml_parse(struct arena *arena, struct view text, const char *file,
                        struct problems *problems);

#endif
