/* Warns of processors that spoil what another one relies on (pipeline/reliance.h). */
#include "pipeline/life/plan.h"

#include <stdio.h>

struct order {
    const struct graph *graph;
    const struct pipeline *pipeline;
    const struct instance *relier;
    bool behind; /* the processors of interest are behind it; else in front of it */
    const struct instance *processor;
    const struct reliance *reliance;
    struct problems *problems;
    size_t visited, given; /* in front: alterations so far, those up to the last that gives it */
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

/* Which of a pipeline's processors are of interest. */
struct side {
    size_t from, to;
};

/* All where the pipeline does not name the one that relies. */
static struct side side_of(const struct pipeline *pipeline, const struct instance *relier,
                           bool behind)
{
    const struct instance_list *list = &pipeline->stages[COMPONENT_PROCESSOR];
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == relier)
            return behind ? (struct side){i + 1, list->count} : (struct side){0, i};
    return (struct side){0, list->count};
}

static bool names(const struct pipeline *pipeline, const struct instance *processor)
{
    const struct instance_list *list = &pipeline->stages[COMPONENT_PROCESSOR];
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == processor)
            return true;
    return false;
}

/* ---- the same of the partner's signal ---- */

struct sought {
    struct view to;
    bool found;
};

static void compare(void *ctx, const struct alteration *alteration)
{
    struct sought *sought = ctx;
    if (alteration->kind != ALTERATION_MAY_GIVE && sought->to.size &&
        view_eq(alteration->to, sought->to))
        sought->found = true;
}

static bool alters_alike(const struct order *order, const struct pipeline *pipeline,
                         const struct alteration *alteration)
{
    const struct instance_list *list = &pipeline->stages[COMPONENT_PROCESSOR];
    struct sought sought = {alteration->to, false};
    struct side side = side_of(pipeline, order->relier, order->behind);
    for (size_t i = side.from; i < side.to; i++)
        visit_alterations(list->items[i], pipeline->signal, order->reliance, compare, &sought);
    return sought.found;
}

static bool is_partner(const struct order *order, const struct pipeline *pipeline)
{
    unsigned bit = SIGNAL_BIT(order->reliance->partner);
    return pipeline->signal == order->reliance->partner &&
           (names(pipeline, order->relier) || !(graph_signals(order->graph, order->relier) & bit));
}

/* A receiver of data that processors cannot alter, since only OTLP has records that they edit. Only
 * profiles have other forms. */
static const struct instance *unalterable(const struct pipeline *pipeline)
{
    const struct instance_list *list = &pipeline->stages[COMPONENT_RECEIVER];
    for (size_t i = 0; pipeline->signal == SIGNAL_PROFILES && i < list->count; i++)
        if (list->items[i]->component->encodings & ~BATCH_BIT(BATCH_OTLP))
            return list->items[i];
    return NULL;
}

/* Whether data come that processors alter. Receivers of profiles alone are for other forms, though
 * they may take OTLP too. */
static bool is_alterable(const struct pipeline *pipeline)
{
    const struct instance_list *list = &pipeline->stages[COMPONENT_RECEIVER];
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->component->signals & ~SIGNAL_BIT(SIGNAL_PROFILES))
            return true;
    return false;
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
    else if (!order->behind)
        snprintf(out, size, "leave %s as it is", reliance->of.what.key);
    else if (reliance->partner == SIGNAL_COUNT ||
             !(order->processor->component->signals & SIGNAL_BIT(reliance->partner)))
        snprintf(out, size, "put it in front of %s", order->relier->id);
    else if (partners->receiver)
        snprintf(out, size,
                 "%s, since processors change no %s but OTLP and receiver %s takes others too",
                 reliance->otherwise, signal_name(SIGNAL_PROFILES), partners->receiver->id);
    else if (partners->lacking)
        snprintf(out, size, "make the same change behind %s in pipeline %s", order->relier->id,
                 partners->lacking->name);
    else
        snprintf(out, size, "%s", reliance->otherwise);
}

/* What happens. A text that all get may be the one that the partner has. */
static void write_consequence(const struct order *order, const struct alteration *alteration,
                              char *out, size_t size)
{
    const struct reliance *reliance = order->reliance;
    struct view to = alteration->to;
    if (!order->behind && to.size && to.data[0] == '=')
        snprintf(out, size, "%s, unless both are named %.*s", reliance->in_front, (int)to.size - 1,
                 (const char *)to.data + 1);
    else
        snprintf(out, size, "%s", order->behind ? reliance->behind : reliance->in_front);
}

static void warn(const struct order *order, const struct alteration *alteration)
{
    const struct instance *processor = order->processor;
    struct partners partners = {0};
    char path[512], consequence[512], advice[512];
    if (order->reliance->partner != SIGNAL_COUNT)
        partners = partners_of(order, alteration);
    if (partners.any && !partners.lacking && (!partners.receiver || !order->behind))
        return;
    if (!partners.receiver)
        partners.receiver = unalterable(order->pipeline);
    write_advice(order, alteration, &partners, advice, sizeof advice);
    write_consequence(order, alteration, consequence, sizeof consequence);
    snprintf(path, sizeof path, "%.300s.%.200s", processor->path, alteration->path);
    problems_warn(order->problems, false, node_nearest(processor->section, alteration->path), path,
                  "%s %s %s %s in pipeline %s, %s: %s", alteration->verb,
                  order->reliance->of.what.key, order->behind ? "behind" : "in front of",
                  order->relier->id, order->pipeline->name, consequence, advice);
}

/* ---- pipelines ---- */

/* Whether it was on this side of the relier in an earlier pipeline of the signal. */
static bool was_seen(const struct order *order)
{
    for (const struct pipeline *at = order->graph->pipelines; at < order->pipeline; at++) {
        const struct instance_list *list = &at->stages[COMPONENT_PROCESSOR];
        struct side side = side_of(at, order->relier, order->behind);
        bool counts = at->signal == order->pipeline->signal && names(at, order->relier);
        for (size_t i = side.from; counts && i < side.to; i++)
            if (list->items[i] == order->processor)
                return true;
    }
    return false;
}

static void warn_of_any(void *ctx, const struct alteration *alteration)
{
    const struct order *order = ctx;
    if (alteration->kind != ALTERATION_MAY_GIVE)
        warn(order, alteration);
}

static void note_given(void *ctx, const struct alteration *alteration)
{
    struct order *order = ctx;
    order->visited++;
    if (alteration->kind != ALTERATION_LOSES)
        order->given = order->visited;
}

/* What is given another value further on may be lost: it counts as one that was chosen. */
static void warn_of_loss(void *ctx, const struct alteration *alteration)
{
    struct order *order = ctx;
    if (++order->visited > order->given && !was_seen(order))
        warn(order, alteration);
}

static void visit_side(struct order *order, alteration_visit_fn *visit)
{
    const struct instance_list *list = &order->pipeline->stages[COMPONENT_PROCESSOR];
    struct side side = side_of(order->pipeline, order->relier, order->behind);
    order->visited = 0;
    for (size_t i = side.from; i < side.to; i++) {
        order->processor = list->items[i];
        if (visit != warn_of_any || !was_seen(order))
            visit_alterations(list->items[i], order->pipeline->signal, order->reliance, visit,
                              order);
    }
}

static void check(struct order *order)
{
    order->behind = true;
    visit_side(order, warn_of_any);
    order->behind = false;
    order->given = 0;
    if (!order->reliance->in_front)
        return;
    visit_side(order, note_given);
    visit_side(order, warn_of_loss);
}

/* What treats the spans of a trace by what became of its root must come behind the one that decides
 * that. */
static void warn_of_early(const struct order *order, size_t at)
{
    const struct instance_list *list = &order->pipeline->stages[COMPONENT_PROCESSOR];
    for (size_t i = 0; i < at; i++) {
        const struct instance *each = list->items[i];
        if (each->component->wants_traces && each->component->wants_traces(each->self))
            problems_warn(order->problems, false, each->section, each->path,
                          "is in front of %s in pipeline %s, which decides what is linked: put it "
                          "behind",
                          list->items[at]->id, order->pipeline->name);
    }
}

static void check_pipeline(struct order *order)
{
    const struct instance_list *list = &order->pipeline->stages[COMPONENT_PROCESSOR];
    for (size_t i = 0; is_alterable(order->pipeline) && i < list->count; i++) {
        const struct reliance *reliance = list->items[i]->component->relies;
        order->relier = list->items[i];
        if (reliance && order->pipeline->signal == SIGNAL_TRACES)
            warn_of_early(order, i);
        for (order->reliance = reliance; reliance && order->reliance->of.what.key;
             order->reliance++)
            if (order->reliance->of.signal == order->pipeline->signal)
                check(order);
    }
}

void plan_order(const struct graph *graph, struct problems *problems)
{
    struct order order = {.graph = graph, .problems = problems};
    for (size_t i = 0; i < graph->pipeline_count; i++) {
        order.pipeline = &graph->pipelines[i];
        check_pipeline(&order);
    }
}
