#include "cli/watch.h"

#include <string.h>
#include <sys/stat.h>

/* FNV-1a */
static uint64_t watch_mix(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t watch_look(const struct settings_files *files)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < files->count; i++) {
        struct stat status;
        bool there = stat(files->paths[i], &status) == 0;
        hash = watch_mix(hash, files->paths[i], strlen(files->paths[i]) + 1);
        hash = watch_mix(hash, &there, sizeof there);
        if (!there)
            continue;
        hash = watch_mix(hash, &status.st_dev, sizeof status.st_dev);
        hash = watch_mix(hash, &status.st_ino, sizeof status.st_ino);
        hash = watch_mix(hash, &status.st_size, sizeof status.st_size);
        hash = watch_mix(hash, &status.st_mtim, sizeof status.st_mtim);
    }
    return hash;
}

void watch_take(struct watch *watch, const struct settings_files *files)
{
    watch->taken = watch->seen = watch_look(files);
}

bool watch_same(const struct watch *watch, const struct settings_files *files)
{
    return watch_look(files) == watch->taken;
}

bool watch_changed(struct watch *watch, const struct settings_files *files)
{
    uint64_t now = watch_look(files);
    bool changed = now != watch->taken && now == watch->seen;
    watch->seen = now;
    return changed;
}
