/* Keys of the Collector, for error messages about keys that only it supports. Pure. */
#ifndef LIB_SETTINGS_COLLECTOR_KEYS_H
#define LIB_SETTINGS_COLLECTOR_KEYS_H

#include <stdbool.h>

/* Whether the Collector has a key of this name in components of the path's kind: the path is the
 * key's, as in error messages. */
bool collector_key_known(const char *path, const char *name);

/* What an error message says of a Collector key that has another form or none in spanlink's
 * component of the path's type: a static clause such as "is the old form: use ..."; NULL: nothing
 * is known. */
const char *collector_key_fate(const char *path);

/* What to use instead of a Collector key or value: a clause for an error message; NULL: no advice.
 * path ends like "exporters::x.sending_queue.storage". */
const char *collector_key_advice(const char *path);

#endif
