/*
 * Expands ${env:X}, ${X}, ${env:X:-default}, ${file:path} and ${yaml:text}, also nested, and $$ for
 * a dollar sign, in every value of a tree. If a reference is the whole scalar, its value is parsed
 * as YAML and gets that type; inside other text it is a string. A file's trailing line break is
 * dropped if its content is a scalar. One thread.
 */
#ifndef LIB_SETTINGS_EXPAND_H
#define LIB_SETTINGS_EXPAND_H

#include "lib/base/arena.h"
#include "lib/settings/files.h"
#include "lib/settings/node.h"
#include "lib/settings/problems.h"

struct expansion {
    struct arena *arena;
    struct problems *problems;    /* faults */
    struct problems *warnings;    /* variables that are not set */
    struct settings_files *files; /* collects the paths of ${file:...}; may be NULL */
};

/* Expands in place. False: problems were added; expansion does not stop at the first one. */
bool expand_tree(const struct expansion *expansion, struct node *root);

#endif
