#include "pipeline/component.h"

#include "journal/journal.h"
#include "pipeline/instance.h"

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

void env_tick_at(const struct env *env, uint64_t mono_ns)
{
    struct instance *instance = env->instance;
    if (env->ticker && instance)
        ticker_at(env->ticker, &instance->tick, mono_ns);
}

void env_note(const struct env *env, struct view content, uint64_t keep_ns)
{
    if (env->journal)
        journal_note(env->journal, view_of(env->id), content, keep_ns);
}

unsigned component_takes(const struct component *exporter)
{
    bool otlp = exporter->encodings & BATCH_BIT(BATCH_OTLP);
    return exporter->encodings | (otlp ? BATCH_BIT(BATCH_PPROF) : 0);
}
