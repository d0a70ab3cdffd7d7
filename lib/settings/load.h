/*
 * From files and flags to one resolved tree: YAML (anchors, aliases, merge keys, BOM; duplicate
 * keys are errors), ${env:X}, ${X}, ${env:X:-default}, ${file:path}, $$, several sources merged
 * left to right (maps merge, lists and scalars replace), --set last. The only user of the YAML
 * library. One thread.
 */
#ifndef LIB_SETTINGS_LOAD_H
#define LIB_SETTINGS_LOAD_H

#include "lib/settings/files.h"
#include "lib/settings/node.h"
#include "lib/settings/problems.h"

enum settings_origin {
    SETTINGS_FILE, /* text: path, or file:PATH, env:NAME, yaml:TEXT */
    SETTINGS_SET   /* text: a.b.c=value */
};

struct settings_source {
    enum settings_origin origin;
    const char *text;
};

struct settings; /* owns the tree's memory */

/* NULL: problems were added. Unset variables without default become null nodes marked unset, and
 * each is a warning. */
struct settings *settings_load(const struct settings_source *sources, size_t count,
                               struct problems *problems);

/* The same, and names the files, also where problems were added. files: empty before; NULL: not
 * wanted; released by the caller. */
struct settings *settings_load_files(const struct settings_source *sources, size_t count,
                                     struct settings_files *files, struct problems *problems);

/* Writes the warnings to the log, once its level is known, except those that a problem repeats. */
void settings_log_warnings(const struct settings *settings, const struct problems *problems);
const struct node *settings_root(const struct settings *settings);
void settings_free(struct settings *settings); /* NULL is legal */

#endif
