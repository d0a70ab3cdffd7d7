#include "wire/signal.h"

#include <string.h>

static const struct {
    const char *name;
    const char *items;
} words[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = {"traces", "spans"},
    [SIGNAL_METRICS] = {"metrics", "data points"},
    [SIGNAL_LOGS] = {"logs", "log records"},
    [SIGNAL_PROFILES] = {"profiles", "profiles"},
};

const char *signal_name(enum signal signal)
{
    return words[signal].name;
}

bool signal_parse(const char *name, enum signal *signal)
{
    for (unsigned i = 0; i < SIGNAL_COUNT; i++)
        if (strcmp(words[i].name, name) == 0) {
            *signal = (enum signal)i;
            return true;
        }
    return false;
}

const char *signal_items(enum signal signal)
{
    return words[signal].items;
}
