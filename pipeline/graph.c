#include "pipeline/graph.h"

#include <stdlib.h>

bool instance_list_add(struct instance_list *list, struct instance *instance)
{
    struct instance **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items)
        return false;
    list->items = items;
    items[list->count++] = instance;
    return true;
}

bool instance_list_has(const struct instance_list *list, const struct instance *instance)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == instance)
            return true;
    return false;
}

static bool make_outlets(struct pipeline *pipeline)
{
    const struct instance_list *processors = &pipeline->stages[COMPONENT_PROCESSOR];
    const struct instance_list *exporters = &pipeline->stages[COMPONENT_EXPORTER];
    pipeline->outlets = calloc(processors->count + 1, sizeof *pipeline->outlets);
    struct sender **branches = calloc(exporters->count, sizeof(struct sender *));
    if (!pipeline->outlets || !branches) {
        free(branches);
        return false;
    }
    for (size_t i = 0; i < processors->count; i++) {
        pipeline->outlets[i].processor = processors->items[i];
        pipeline->outlets[i].next = &pipeline->outlets[i + 1];
    }
    struct outlet *end = &pipeline->outlets[processors->count];
    end->branches = branches;
    end->branch_count = exporters->count;
    for (size_t i = 0; i < exporters->count; i++)
        branches[i] = exporters->items[i]->sender;
    return true;
}

static bool add_queue(struct intake *intake, struct sender *sender)
{
    for (size_t i = 0; i < intake->queue_count; i++)
        if (intake->queues[i].sender == sender) {
            intake->queues[i].places++;
            return true;
        }
    struct intake_queue *queues =
        realloc(intake->queues, (intake->queue_count + 1) * sizeof *queues);
    if (!queues)
        return false;
    intake->queues = queues;
    queues[intake->queue_count++] = (struct intake_queue){sender, 1};
    intake->waits |= sender_waits(sender);
    intake->encodings |= sender_takes(sender);
    return true;
}

static bool add_head(struct intake *intake, struct pipeline *pipeline)
{
    struct outlet **heads =
        realloc(intake->heads, (intake->head_count + 1) * sizeof(struct outlet *));
    if (!heads)
        return false;
    intake->heads = heads;
    heads[intake->head_count++] = &pipeline->outlets[0];
    const struct outlet *end = &pipeline->outlets[pipeline->stages[COMPONENT_PROCESSOR].count];
    for (size_t i = 0; i < end->branch_count; i++)
        if (!add_queue(intake, end->branches[i]))
            return false;
    return true;
}

static bool attach(struct instance *receiver, struct pipeline *pipeline, struct budget *budget)
{
    struct intake **intake = &receiver->env.intakes[pipeline->signal];
    if (!*intake) {
        *intake = calloc(1, sizeof **intake);
        if (!*intake)
            return false;
        (*intake)->budget = budget;
        (*intake)->receiver = receiver->id;
    }
    return add_head(*intake, pipeline);
}

bool graph_wire(struct graph *graph, struct budget *budget)
{
    for (size_t i = 0; i < graph->pipeline_count; i++) {
        struct pipeline *pipeline = &graph->pipelines[i];
        const struct instance_list *receivers = &pipeline->stages[COMPONENT_RECEIVER];
        if (!make_outlets(pipeline))
            return false;
        for (size_t r = 0; r < receivers->count; r++)
            if (!attach(receivers->items[r], pipeline, budget))
                return false;
    }
    return true;
}

/* Whether some pipeline has one of the processors, not in order yet, before this one. */
static bool has_earlier(const struct graph *graph, const struct instance_list *order,
                        const struct instance *processor)
{
    for (size_t p = 0; p < graph->pipeline_count; p++) {
        const struct instance_list *list = &graph->pipelines[p].stages[COMPONENT_PROCESSOR];
        if (!instance_list_has(list, processor))
            continue;
        for (size_t i = 0; list->items[i] != processor; i++)
            if (!instance_list_has(order, list->items[i]))
                return true;
    }
    return false;
}

static struct instance *next_processor(const struct graph *graph, const struct instance_list *order)
{
    struct instance *any = NULL;
    for (size_t i = 0; i < graph->instances.count; i++) {
        struct instance *instance = graph->instances.items[i];
        if (instance->component->kind != COMPONENT_PROCESSOR || !instance->used ||
            instance_list_has(order, instance))
            continue;
        if (!has_earlier(graph, order, instance))
            return instance;
        any = any ? any : instance;
    }
    return any;
}

bool graph_processors_in_order(const struct graph *graph, struct instance_list *order)
{
    struct instance *processor;
    while ((processor = next_processor(graph, order)))
        if (!instance_list_add(order, processor))
            return false;
    return true;
}

static void free_intake(struct intake *intake)
{
    if (intake) {
        free(intake->heads);
        free(intake->queues);
        free(intake);
    }
}

static void release_pipeline(struct pipeline *pipeline)
{
    if (pipeline->outlets)
        free(pipeline->outlets[pipeline->stages[COMPONENT_PROCESSOR].count].branches);
    free(pipeline->outlets);
    for (int kind = 0; kind < COMPONENT_EXTENSION; kind++)
        free(pipeline->stages[kind].items);
    free(pipeline->name);
}

void graph_release(struct graph *graph)
{
    for (size_t i = 0; i < graph->pipeline_count; i++)
        release_pipeline(&graph->pipelines[i]);
    for (size_t i = 0; i < graph->instances.count; i++) {
        struct instance *instance = graph->instances.items[i];
        for (int s = 0; s < SIGNAL_COUNT; s++)
            free_intake(instance->env.intakes[s]);
        sender_free(instance->sender);
        instance_free(instance);
    }
    free(graph->pipelines);
    free(graph->instances.items);
    free(graph->extensions.items);
    *graph = (struct graph){0};
}
