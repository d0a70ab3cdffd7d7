/* What can be reported about a valid plan. */
#include "pipeline/life/runtime.h"

#include "lib/base/log.h"
#include "lib/settings/fill.h"
#include "pipeline/life/plan.h"
#include "pipeline/life/runtime_state.h"

static void rehearse_instance(struct runtime *runtime, struct instance *instance,
                              struct problems *problems)
{
    const struct component *component = instance->component;
    instance->env.clock = runtime->clock;
    instance->env.budget = &runtime->budget;
    if (component->opens_quietly) {
        instance_open(instance, problems);
        instance_close(instance);
    } else if (component->rehearse) {
        keys_check(component->rehearse, instance->self, instance->section, instance->section,
                   instance->path, problems);
    }
}

bool runtime_rehearse(struct runtime *runtime, struct problems *problems)
{
    const struct instance_list *instances = &runtime->graph.instances;
    size_t before = problems->count;
    for (size_t i = 0; i < instances->count; i++)
        if (instances->items[i]->used)
            rehearse_instance(runtime, instances->items[i], problems);
    return problems->count == before;
}

static const char *where_it_belongs(enum component_kind kind)
{
    return kind == COMPONENT_EXTENSION ? "is not in service.extensions, so it does nothing"
                                       : "is in no pipeline, so it does nothing";
}

static void warn_of_instances(const struct instance_list *instances, struct problems *warnings)
{
    for (size_t i = 0; i < instances->count; i++) {
        const struct instance *instance = instances->items[i];
        if (instance->used)
            keys_warn_idle(instance->component->keys, instance->section, instance->path, warnings);
        else
            problems_add(warnings, instance->section, instance->path, "%s",
                         where_it_belongs(instance->component->kind));
    }
}

void runtime_log_warnings(const struct runtime *runtime)
{
    struct problems warnings = {0};
    service_warn(node_get(runtime->root, "service"), &warnings);
    plan_places_warn(&runtime->graph, &warnings);
    warn_of_instances(&runtime->graph.instances, &warnings);
    for (size_t i = 0; warnings.lines && i < warnings.count; i++)
        if (warnings.lines[i])
            log_warn("%s", warnings.lines[i]);
    problems_release(&warnings);
}
