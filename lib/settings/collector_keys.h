/* Keys that the Collector has somewhere, for errors that say so. Pure. */
#ifndef LIB_SETTINGS_COLLECTOR_KEYS_H
#define LIB_SETTINGS_COLLECTOR_KEYS_H

#include <stdbool.h>

bool collector_key_known(const char *name);

/* What to do instead of a key, or of a value that it has there: a sentence's part; NULL: nothing is
 * known. path ends as "exporters::x.sending_queue.storage" does. */
const char *collector_key_way(const char *path);

#endif
