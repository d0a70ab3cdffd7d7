/* Detects changes of a configuration's files by size, times and inode. One thread. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "lib/settings/load.h"

#include <stdbool.h>
#include <stdint.h>

struct watch {
    uint64_t taken; /* state of the files when they were read */
    uint64_t seen;  /* at the last look */
};

/* Notes the files' state; called just before they are read, or just after. */
void watch_take(struct watch *watch, const struct settings_files *files);

/* Whether the files are unchanged since they were taken. */
bool watch_same(const struct watch *watch, const struct settings_files *files);

/* True if the files changed since they were taken, but not since the last look: nobody is writing
 * them now. */
bool watch_changed(struct watch *watch, const struct settings_files *files);

#endif
