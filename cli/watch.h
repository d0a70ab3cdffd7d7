/* Whether the files of a configuration have changed, seen by size, times and inode. One thread. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "lib/settings/load.h"

#include <stdbool.h>
#include <stdint.h>

struct watch {
    uint64_t taken; /* the files when they were read */
    uint64_t seen;  /* at the last look */
};

/* The files are about to be read, or just were. */
void watch_take(struct watch *watch, const struct settings_files *files);

/* Whether they still are as they were when they were taken. */
bool watch_same(const struct watch *watch, const struct settings_files *files);

/* True where files are not as they were when they were taken, and are as at the last look: nobody
 * is writing them just now. */
bool watch_changed(struct watch *watch, const struct settings_files *files);

#endif
