/* Asks the backends of a plan that is not started. */
#include "pipeline/life/runtime.h"

#include "lib/settings/fill.h"
#include "pipeline/life/runtime_state.h"

#include <stdio.h>

static bool has_signal(const struct graph *graph, const struct instance *instance,
                       enum signal signal)
{
    for (size_t i = 0; i < graph->pipeline_count; i++)
        if (graph->pipelines[i].signal == signal &&
            instance_list_has(&graph->pipelines[i].stages[instance->component->kind], instance))
            return true;
    return false;
}

static void probe(const struct instance *instance, enum signal signal, struct problems *problems,
                  FILE *out)
{
    bool receives = instance->component->kind == COMPONENT_RECEIVER;
    struct probe_result result;
    char path[512];
    bool good = instance->component->probe(instance->self, signal, &result);
    snprintf(path, sizeof path, "%.300s.%.200s", instance->path, result.key);
    const struct node *node = node_nearest(instance->section, result.key);
    if (!good) {
        problems_add(problems, node ? node : instance->section, path, "%s %s %s: %s",
                     signal_name(signal), receives ? "from" : "to", result.where, result.text);
        return;
    }
    if (*result.found)
        fprintf(out, "%s: %s %s\n", instance->path, signal_name(signal), result.found);
    else
        fprintf(out, "%s: %s %s %s\n", instance->path, signal_name(signal),
                receives ? "can be read from" : "are accepted by", result.where);
    if (*result.text)
        fprintf(out, "%s: warning: %s\n", instance->path, result.text);
}

/* Authenticators are extensions that open only files. */
static void open_quiet(struct runtime *runtime, struct instance *instance, enum component_kind kind,
                       struct problems *problems)
{
    const struct component *component = instance->component;
    bool wanted =
        kind == COMPONENT_EXPORTER ? component->probe != NULL : component->authenticator != NULL;
    instance->env.clock = runtime->clock;
    instance->env.budget = &runtime->budget;
    if (instance->used && component->kind == kind && wanted)
        instance_open(instance, problems);
}

static void each(struct runtime *runtime, enum component_kind kind, struct problems *problems)
{
    const struct instance_list *instances = &runtime->graph.instances;
    for (size_t i = 0; i < instances->count; i++)
        open_quiet(runtime, instances->items[i], kind, problems);
}

bool runtime_check(struct runtime *runtime, struct problems *problems, FILE *out)
{
    const struct instance_list *instances = &runtime->graph.instances;
    size_t before = problems->count;
    each(runtime, COMPONENT_EXTENSION, problems);
    each(runtime, COMPONENT_EXPORTER, problems);
    bool opened = problems->count == before;
    for (size_t i = 0; opened && i < instances->count; i++) {
        const struct instance *instance = instances->items[i];
        if (!instance->used)
            continue;
        if (!instance->component->probe && instance->component->kind == COMPONENT_EXPORTER)
            fprintf(out, "%s: has no backend\n", instance->path);
        for (int s = 0; instance->component->probe && s < SIGNAL_COUNT; s++)
            if (has_signal(&runtime->graph, instance, (enum signal)s))
                probe(instance, (enum signal)s, problems, out);
    }
    const struct telemetry_options telemetry = {.settings = &runtime->service.telemetry,
                                                .section = node_get(runtime->root, "service")};
    if (opened)
        telemetry_probe(&telemetry, problems, out);
    for (size_t i = instances->count; i-- > 0;)
        instance_close(instances->items[i]);
    return problems->count == before;
}
