#include "lib/wire/otlp/signal.h"

#include <string.h>

static const struct {
    const char *name;
    const char *item;
    const char *items;
} words[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] = {"traces", "span", "spans"},
    [SIGNAL_METRICS] = {"metrics", "data point", "data points"},
    [SIGNAL_LOGS] = {"logs", "log record", "log records"},
    [SIGNAL_PROFILES] = {"profiles", "profile", "profiles"},
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

const char *signal_items(enum signal signal, uint64_t count)
{
    return count == 1 ? words[signal].item : words[signal].items;
}
