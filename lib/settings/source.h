/* Sources of configuration text: files and the environment. One thread. */
#ifndef LIB_SETTINGS_SOURCE_H
#define LIB_SETTINGS_SOURCE_H

#include "lib/base/arena.h"

enum source_scheme {
    SOURCE_NONE, /* no scheme: a path or a variable's name */
    SOURCE_FILE,
    SOURCE_ENV,
    SOURCE_YAML,
    SOURCE_UNKNOWN
};

/* Parses the scheme of "file:x", "env:X" or "yaml:x"; *rest is what follows it. */
enum source_scheme source_scheme(const char *text, const char **rest);

/* Reads a file of at most 1 MiB, or a pipe whose writer is never silent for 10 s. data NULL: error
 * is a sentence. */
struct view source_read_file(struct arena *arena, const char *path, char *error, size_t error_size);

/* Whether name is a valid variable name. */
bool source_env_name(struct view name);

#endif
