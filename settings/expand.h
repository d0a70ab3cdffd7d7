/*
 * ${env:X}, ${X}, ${env:X:-default}, ${file:path}, ${yaml:text}, nested ones, and $$ for a dollar,
 * in every value of a tree. Alone in a scalar, what comes is parsed as YAML for its type; within
 * other text it is a string. A line break at the end of a file is dropped where it is a scalar.
 * One thread.
 */
#ifndef SETTINGS_EXPAND_H
#define SETTINGS_EXPAND_H

#include "base/arena.h"
#include "settings/files.h"
#include "settings/node.h"
#include "settings/problems.h"

struct expansion {
    struct arena *arena;
    struct problems *problems;    /* faults */
    struct problems *warnings;    /* variables that are not set */
    struct settings_files *files; /* gets the paths of ${file:...}; NULL: not wanted */
};

/* Expands in place. False: a problem was added; the others are looked for all the same. */
bool expand_tree(const struct expansion *expansion, struct node *root);

#endif
