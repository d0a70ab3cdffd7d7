/*
 * Loads files and flags into one resolved tree: YAML (anchors, aliases, merge keys, BOM; duplicate
 * keys are errors), ${env:X}, ${X}, ${env:X:-default}, ${file:path} and $$; several sources are
 * merged left to right (maps merge, lists and scalars replace), --set last. One thread.
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

enum { SETTINGS_NAME = 32 };

/* The name of a SETTINGS_FILE source for messages, without a yaml: source's text, which may contain
 * secrets. out is used if the name is not the source's own text. */
const char *settings_source_name(const struct settings_source *sources, size_t index,
                                 char out[SETTINGS_NAME]);

struct settings; /* owns the tree's memory */

/* Loads and merges the sources. NULL: problems were added. A reference to an unset variable without
 * default becomes a null node marked unset, with a warning. */
struct settings *settings_load(const struct settings_source *sources, size_t count,
                               struct problems *problems);

/* As settings_load, and lists the files read, even on failure. files must be empty and is released
 * by the caller; may be NULL. */
struct settings *settings_load_files(const struct settings_source *sources, size_t count,
                                     struct settings_files *files, struct problems *problems);

/* Logs the warnings, except those that a problem repeats; call it once the log level is set. */
void settings_log_warnings(const struct settings *settings, const struct problems *problems);
const struct node *settings_root(const struct settings *settings);
void settings_free(struct settings *settings); /* may be NULL */

#endif
