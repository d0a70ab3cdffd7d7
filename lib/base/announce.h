/* Log lines that say what a component serves, such as the address that it listens on. They can wait
 * until it is certain that it will. On the thread that opens components. */
#ifndef LIB_BASE_ANNOUNCE_H
#define LIB_BASE_ANNOUNCE_H

#include "lib/base/log.h"

#include <stdbool.h>

/* Writes a line at info, or keeps it between announce_hold and announce_release. */
void announce(const struct log_source *source, const char *text);

void announce_hold(void);
/* Writes what was kept, or drops it. */
void announce_release(bool write);

#endif
