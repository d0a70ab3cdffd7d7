/* The running graph, in rows. */
#include "pipeline/life/runtime.h"

#include "pipeline/life/runtime_state.h"

static void join(const struct instance_list *list, struct bytes *out)
{
    bytes_clear(out);
    for (size_t i = 0; i < list->count; i++)
        bytes_printf(out, "%s%s", i ? ", " : "", list->items[i]->id);
    bytes_append(out, "", 1);
}

static void visit_pipeline(const struct pipeline *pipeline, struct bytes text[COMPONENT_EXTENSION],
                           runtime_visit_fn *visit, void *ctx)
{
    struct runtime_row row = {.name = pipeline->name};
    for (int kind = 0; kind < COMPONENT_EXTENSION; kind++) {
        join(&pipeline->stages[kind], &text[kind]);
        row.parts[kind] = text[kind].size ? (const char *)text[kind].data : "";
    }
    visit(ctx, &row);
}

void runtime_rows(struct runtime *runtime, runtime_visit_fn *visit, void *ctx)
{
    static const char *const kinds[COMPONENT_KINDS] = {[COMPONENT_RECEIVER] = "receiver",
                                                       [COMPONENT_PROCESSOR] = "processor",
                                                       [COMPONENT_EXPORTER] = "exporter",
                                                       [COMPONENT_EXTENSION] = "extension"};
    enum { TEXT_MAX = 1 << 16 };
    struct bytes text[COMPONENT_EXTENSION];
    const struct graph *graph = &runtime->graph;
    for (int kind = 0; kind < COMPONENT_EXTENSION; kind++)
        bytes_init(&text[kind], TEXT_MAX, NULL);
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < graph->pipeline_count; i++)
        visit_pipeline(&graph->pipelines[i], text, visit, ctx);
    for (size_t i = 0; i < graph->instances.count; i++) {
        const struct instance *instance = graph->instances.items[i];
        const struct runtime_row row = {instance->id, kinds[instance->component->kind], {0}};
        if (instance->used)
            visit(ctx, &row);
    }
    pthread_mutex_unlock(&runtime->lock);
    for (int kind = 0; kind < COMPONENT_EXTENSION; kind++)
        bytes_release(&text[kind]);
}
