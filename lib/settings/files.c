#include "lib/settings/files.h"

#include <stdlib.h>
#include <string.h>

void settings_files_add(struct settings_files *files, const char *path)
{
    if (!files)
        return;
    char *copy = strdup(path);
    char **paths = copy ? realloc(files->paths, (files->count + 1) * sizeof(char *)) : NULL;
    if (!paths) {
        free(copy);
        return;
    }
    files->paths = paths;
    paths[files->count++] = copy;
}

void settings_files_release(struct settings_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct settings_files){0};
}
