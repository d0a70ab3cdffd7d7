#include "pipeline/component.h"

#include <string.h>

const struct component *component_find(enum component_kind kind, const char *type)
{
    for (const struct component *const *at = component_table; *at; at++) {
        const struct component *component = *at;
        if (component->kind == kind && (strcmp(component->type, type) == 0 ||
                                        (component->alias && strcmp(component->alias, type) == 0)))
            return component;
    }
    return NULL;
}

unsigned component_takes(const struct component *exporter)
{
    bool otlp = exporter->encodings & BATCH_BIT(BATCH_OTLP);
    return exporter->encodings | (otlp ? BATCH_BIT(BATCH_PPROF) : 0);
}
