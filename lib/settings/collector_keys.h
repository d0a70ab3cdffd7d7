/* Keys that the Collector has somewhere, for errors that say so. Pure. */
#ifndef LIB_SETTINGS_COLLECTOR_KEYS_H
#define LIB_SETTINGS_COLLECTOR_KEYS_H

#include <stdbool.h>

bool collector_key_known(const char *name);

#endif
