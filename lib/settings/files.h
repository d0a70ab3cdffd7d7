/* The files that a configuration was read from: its sources and those of ${file:...}. One thread.
 */
#ifndef LIB_SETTINGS_FILES_H
#define LIB_SETTINGS_FILES_H

#include <stddef.h>

struct settings_files {
    char **paths;
    size_t count;
};

/* Adds a path, even if the file does not exist. files may be NULL. */
void settings_files_add(struct settings_files *files, const char *path);
void settings_files_release(struct settings_files *files);

#endif
