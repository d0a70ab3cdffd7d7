/*
 * ${env:X}, ${X}, ${env:X:-default}, ${file:path}, ${yaml:text}, nested ones, and $$ for a dollar,
 * in every value of a tree. Alone in a scalar, what comes is parsed as YAML for its type; within
 * other text it is a string. A line break at the end of a file is dropped where it is a scalar.
 * One thread.
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
    struct settings_files *files; /* gets the paths of ${file:...}; NULL: not wanted */
};

/* Expands in place. False: a problem was added; the others are looked for all the same. */
bool expand_tree(const struct expansion *expansion, struct node *root);

#endif
