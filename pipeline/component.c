#include "pipeline/component.h"

#include "pipeline/batch_pass.h"

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

enum verdict component_consume(const struct component *processor, void *self, struct batch *batch,
                               struct outlet *next)
{
    struct pass_step step = {.self = self};
    if (batch->encoding == BATCH_OTLP && processor->step && processor->step(self, batch, &step))
        return batch_pass(batch, &step, next);
    /* Only OTLP has records that can be edited. */
    return processor->consume ? processor->consume(self, batch, next) : outlet_push(next, batch);
}
