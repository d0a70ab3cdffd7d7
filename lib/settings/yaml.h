/* Parses YAML into a tree with positions; the only user of the YAML library. Aliases become copies,
 * merge keys are merged, duplicate keys are problems. One thread. */
#ifndef LIB_SETTINGS_YAML_H
#define LIB_SETTINGS_YAML_H

#include "lib/base/arena.h"
#include "lib/settings/node.h"
#include "lib/settings/problems.h"

/* Returns the root; a null node for empty text. Nodes refer to file, which must live as long as the
 * arena. NULL: a problem was added. */
struct node *yaml_parse(struct arena *arena, struct view text, const char *file,
                        struct problems *problems);

#endif
