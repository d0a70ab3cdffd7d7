/* Warns of processors that spoil what one in front of them relies on (pipeline/reliance.h). */
#include "pipeline/life/plan.h"

#include <stdio.h>

struct order {
    const struct graph *graph;
    const struct pipeline *pipeline;
    const struct instance *relier;
    const struct instance *processor; /* behind it */
    const struct reliance *reliance;
    struct problems *problems;
};

static void visit_alterations(const struct instance *processor, enum signal signal,
                              const struct reliance *reliance, alteration_visit_fn *visit,
                              void *ctx)
{
    struct attribute_of attribute = reliance->of;
    attribute.signal = signal;
    if (processor->component->alters)
        processor->component->alters(processor->self, &attribute, visit, ctx);
}

/* The number of the first processor behind one; 0 where the pipeline does not name that. */
static size_t first_behind(const struct pipeline *pipeline, const struct instance *relier)
{
    const struct instance_list *list = &pipeline->stages[COMPONENT_PROCESSOR];
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == relier)
            return i + 1;
    return 0;
}

/* ---- the same of the partner's signal ---- */

struct sought {
    struct view to;
    bool found;
};

static void compare(void *ctx, const struct alteration *alteration)
{
    struct sought *sought = ctx;
    if (sought->to.size && view_eq(alteration->to, sought->to))
        sought->found = true;
}

static bool alters_alike(const struct order *order, const struct pipeline *pipeline,
                         const struct alteration *alteration)
{
    const struct instance_list *list = &pipeline->stages[COMPONENT_PROCESSOR];
    struct sought sought = {alteration->to, false};
    for (size_t i = first_behind(pipeline, order->relier); i < list->count; i++)
        visit_alterations(list->items[i], pipeline->signal, order->reliance, compare, &sought);
    return sought.found;
}

static bool is_partner(const struct order *order, const struct pipeline *pipeline)
{
    unsigned bit = SIGNAL_BIT(order->reliance->partner);
    return pipeline->signal == order->reliance->partner &&
           (first_behind(pipeline, order->relier) > 0 ||
            !(graph_signals(order->graph, order->relier) & bit));
}

/* A receiver of data that processors cannot alter, since only OTLP has records that they edit. */
static const struct instance *unalterable(const struct pipeline *pipeline)
{
    const struct instance_list *list = &pipeline->stages[COMPONENT_RECEIVER];
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->component->encodings & ~BATCH_BIT(BATCH_OTLP))
            return list->items[i];
    return NULL;
}

/* What of the partner's signal is not altered alike; both NULL: nothing, or there is no such
 * pipeline, of which any is false then. */
struct partners {
    bool any;
    const struct pipeline *lacking;
    const struct instance *receiver;
};

static struct partners partners_of(const struct order *order, const struct alteration *alteration)
{
    struct partners partners = {0};
    for (size_t i = 0; i < order->graph->pipeline_count; i++) {
        const struct pipeline *pipeline = &order->graph->pipelines[i];
        if (!is_partner(order, pipeline))
            continue;
        partners.any = true;
        if (!partners.lacking && !alters_alike(order, pipeline, alteration))
            partners.lacking = pipeline;
        if (!partners.receiver)
            partners.receiver = unalterable(pipeline);
    }
    return partners;
}

/* ---- the sentence ---- */

static void write_advice(const struct order *order, const struct alteration *alteration,
                         const struct partners *partners, char *out, size_t size)
{
    const struct reliance *reliance = order->reliance;
    if (alteration->instead)
        snprintf(out, size, "%s", alteration->instead);
    else if (reliance->partner == SIGNAL_COUNT ||
             !(order->processor->component->signals & SIGNAL_BIT(reliance->partner)))
        snprintf(out, size, "put it in front of %s", order->relier->id);
    else if (partners->receiver)
        snprintf(out, size,
                 "%s, since processors change no %s but OTLP and receiver %s takes others too",
                 reliance->otherwise, signal_name(reliance->partner), partners->receiver->id);
    else if (partners->lacking)
        snprintf(out, size, "make the same change behind %s in pipeline %s", order->relier->id,
                 partners->lacking->name);
    else
        snprintf(out, size, "%s", reliance->otherwise);
}

static void warn(void *ctx, const struct alteration *alteration)
{
    const struct order *order = ctx;
    const struct instance *processor = order->processor;
    struct partners partners = {0};
    char path[512], advice[512];
    if (order->reliance->partner != SIGNAL_COUNT)
        partners = partners_of(order, alteration);
    if (partners.any && !partners.lacking && !partners.receiver)
        return;
    write_advice(order, alteration, &partners, advice, sizeof advice);
    snprintf(path, sizeof path, "%.300s.%.200s", processor->path, alteration->path);
    problems_warn(order->problems, false, node_nearest(processor->section, alteration->path), path,
                  "%s %s behind %s in pipeline %s, %s: %s", alteration->verb,
                  order->reliance->of.key, order->relier->id, order->pipeline->name,
                  order->reliance->consequence, advice);
}

/* ---- pipelines ---- */

/* Whether it was behind the relier in an earlier pipeline of the signal. */
static bool was_seen(const struct order *order)
{
    for (const struct pipeline *at = order->graph->pipelines; at < order->pipeline; at++) {
        const struct instance_list *list = &at->stages[COMPONENT_PROCESSOR];
        size_t first = first_behind(at, order->relier);
        for (size_t i = first; first && at->signal == order->pipeline->signal && i < list->count;
             i++)
            if (list->items[i] == order->processor)
                return true;
    }
    return false;
}

static void check_behind(struct order *order, size_t first)
{
    const struct instance_list *list = &order->pipeline->stages[COMPONENT_PROCESSOR];
    const struct reliance *reliance = list->items[first - 1]->component->relies;
    order->relier = list->items[first - 1];
    for (size_t i = first; i < list->count; i++) {
        order->processor = list->items[i];
        if (was_seen(order))
            continue;
        for (order->reliance = reliance; order->reliance->of.key; order->reliance++)
            if (order->reliance->of.signal == order->pipeline->signal)
                visit_alterations(list->items[i], order->pipeline->signal, order->reliance, warn,
                                  order);
    }
}

void plan_order(const struct graph *graph, struct problems *problems)
{
    struct order order = {.graph = graph, .problems = problems};
    for (size_t i = 0; i < graph->pipeline_count; i++) {
        order.pipeline = &graph->pipelines[i];
        const struct instance_list *list = &order.pipeline->stages[COMPONENT_PROCESSOR];
        for (size_t k = 0; k < list->count; k++)
            if (list->items[k]->component->relies)
                check_behind(&order, k + 1);
    }
}
