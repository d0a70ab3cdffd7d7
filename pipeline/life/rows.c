/* The running graph, in rows. */
#include "pipeline/life/rows.h"

#include "lib/base/redact.h"
#include "pipeline/life/runtime_state.h"

#include <stdio.h>

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

void runtime_row_places(const struct runtime_row *row, place_visit_fn *visit, void *ctx)
{
    if (row->instance && row->instance->component->places)
        row->instance->component->places(row->instance->self, visit, ctx);
}

bool runtime_row_url(const struct runtime_row *row, int signal, char *out, size_t size)
{
    const struct instance *instance = row->instance;
    const char *url = instance && instance->component->url && instance->opened
                          ? instance->component->url(instance->self, (enum signal)signal)
                          : NULL;
    if (url)
        redact_copy(url, out, size);
    return url;
}

bool runtime_row_concern(const struct runtime_row *row, struct bytes *out)
{
    const struct instance *instance = row->instance;
    return instance && instance->component->concern && instance->opened &&
           !atomic_load(&instance->closed) && instance->component->concern(instance->self, out);
}

bool runtime_row_delivery(const struct runtime_row *row, struct runtime_delivery *out)
{
    if (!row->instance || !row->instance->sender)
        return false;
    const struct sender_state state = sender_state(row->instance->sender);
    *out = (struct runtime_delivery){.failing_since = state.delivery.failing_since,
                                     .recovered = state.delivery.recovered,
                                     .failed = state.delivery.failed,
                                     .again = state.delivery.again,
                                     .succeeded = state.delivery.succeeded,
                                     .drops = state.delivery.drops,
                                     .slow_ns = state.delivery.slow_ns,
                                     .oldest_ns = state.oldest_ns,
                                     .retry_ns = state.retry_ns};
    snprintf(out->error, sizeof out->error, "%s", state.delivery.error);
    return true;
}

bool runtime_row_pressure(const struct runtime_row *row, struct admission_pressure *out)
{
    struct admission *admission = row->instance ? row->instance->meter->admission : NULL;
    if (admission)
        *out = admission_pressure(admission);
    return admission && out->since;
}

uint64_t runtime_row_last_refusal(const struct runtime_row *row, enum cause cause)
{
    const struct admission *admission = row->instance ? row->instance->meter->admission : NULL;
    return admission ? admission_last_refusal(admission, cause) : 0;
}

struct outcome runtime_row_last_outcome(const struct runtime_row *row, enum cause cause)
{
    struct admission *admission = row->instance ? row->instance->meter->admission : NULL;
    return admission ? admission_last_outcome(admission, cause) : (struct outcome){.cause = cause};
}

uint64_t runtime_row_last_drop(const struct runtime_row *row, enum cause cause)
{
    return row->instance ? meter_last_drop(row->instance->meter, cause) : 0;
}

void runtime_rows(struct runtime *runtime, runtime_visit_fn *visit, void *ctx)
{
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
        const struct runtime_row row = {instance->id,
                                        component_kind_name(instance->component->kind),
                                        {0},
                                        instance,
                                        graph_signals(graph, instance)};
        if (instance->used)
            visit(ctx, &row);
    }
    pthread_mutex_unlock(&runtime->lock);
    for (int kind = 0; kind < COMPONENT_EXTENSION; kind++)
        bytes_release(&text[kind]);
}
