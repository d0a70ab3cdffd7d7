#include "pipeline/graph/graph.h"

#include "pipeline/delivery/sender_wait.h"
#include "pipeline/pace.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static void free_intake(struct intake *intake)
{
    if (intake) {
        free(intake->heads);
        free(intake->queues);
        free(intake);
    }
}

static void link_outlets(struct pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->stages[COMPONENT_PROCESSOR].count; i++)
        pipeline->outlets[i]->next = pipeline->outlets[i + 1];
}

/* Whether a processor of the pipeline keeps the data for later. */
static bool is_taken_over(const struct pipeline *pipeline)
{
    const struct instance_list *processors = &pipeline->stages[COMPONENT_PROCESSOR];
    bool taken_over = false;
    for (size_t i = 0; i < processors->count; i++)
        taken_over |= processors->items[i]->component->takes_over & SIGNAL_BIT(pipeline->signal);
    return taken_over;
}

static bool make_outlets(struct pipeline *pipeline)
{
    const struct instance_list *processors = &pipeline->stages[COMPONENT_PROCESSOR];
    const struct instance_list *exporters = &pipeline->stages[COMPONENT_EXPORTER];
    pipeline->outlets = calloc(processors->count + 1, sizeof(struct outlet *));
    for (size_t i = 0; pipeline->outlets && i <= processors->count; i++) {
        pipeline->outlets[i] = calloc(1, sizeof **pipeline->outlets);
        if (!pipeline->outlets[i] || !(pipeline->outlets[i]->pace = pace_new()))
            return false;
    }
    struct sender **branches =
        pipeline->outlets ? calloc(exporters->count, sizeof(struct sender *)) : NULL;
    if (!branches)
        return false;
    for (size_t i = 0; i < processors->count; i++) {
        pipeline->outlets[i]->processor = processors->items[i];
        pipeline->outlets[i + 1]->producer = processors->items[i]->meter;
    }
    link_outlets(pipeline);
    pipeline->outlets[0]->taken_over = is_taken_over(pipeline);
    struct outlet *end = pipeline->outlets[processors->count];
    end->branches = branches;
    end->branch_count = exporters->count;
    for (size_t i = 0; i < exporters->count; i++)
        branches[i] = exporters->items[i]->sender;
    return true;
}

static bool pipeline_holds(const struct pipeline *pipeline)
{
    const struct instance_list *processors = &pipeline->stages[COMPONENT_PROCESSOR];
    bool holds = pipeline->outlets[0]->taken_over;
    for (size_t i = 0; i < processors->count; i++)
        holds |= processors->items[i]->component->holds & SIGNAL_BIT(pipeline->signal);
    return holds;
}

static bool add_queue(struct intake *intake, struct sender *sender, bool taken_over)
{
    for (size_t i = 0; i < intake->queue_count; i++)
        if (intake->queues[i].sender == sender) {
            intake->queues[i].pipelines++;
            intake->waits |= sender_waits(sender) && !taken_over;
            return true;
        }
    struct intake_queue *queues =
        realloc(intake->queues, (intake->queue_count + 1) * sizeof *queues);
    if (!queues)
        return false;
    size_t at = intake->queue_count++;
    intake->queues = queues;
    for (; at && sender_blocks(queues[at - 1].sender) && !sender_blocks(sender); at--)
        queues[at] = queues[at - 1];
    queues[at] = (struct intake_queue){sender, 1};
    intake->waits |= sender_waits(sender) && !taken_over;
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
    heads[intake->head_count++] = pipeline->outlets[0];
    intake->holds |= pipeline_holds(pipeline);
    const struct outlet *end = pipeline->outlets[pipeline->stages[COMPONENT_PROCESSOR].count];
    for (size_t i = 0; i < end->branch_count; i++)
        if (!add_queue(intake, end->branches[i], pipeline->outlets[0]->taken_over))
            return false;
    return true;
}

/* Returns the fresh intake of a signal, making it if there is none. NULL: no memory. */
static struct intake *fresh_intake(struct instance *receiver, enum signal signal,
                                   struct budget *budget, struct gate *gate)
{
    struct intake **intake = &receiver->fresh[signal];
    if (!*intake)
        *intake = calloc(1, sizeof **intake);
    if (*intake) {
        (*intake)->budget = budget;
        (*intake)->receiver = receiver->id;
        (*intake)->gate = gate;
    }
    return *intake;
}

static bool graph_attach(struct instance *receiver, struct pipeline *pipeline,
                         struct budget *budget, struct gate *gate)
{
    struct intake *intake = fresh_intake(receiver, pipeline->signal, budget, gate);
    return intake && add_head(intake, pipeline);
}

bool graph_wire(struct graph *graph, struct budget *budget, struct gate *gate)
{
    for (size_t i = 0; i < graph->pipeline_count; i++) {
        struct pipeline *pipeline = &graph->pipelines[i];
        const struct instance_list *receivers = &pipeline->stages[COMPONENT_RECEIVER];
        if (!make_outlets(pipeline))
            return false;
        for (size_t r = 0; r < receivers->count; r++)
            if (!graph_attach(receivers->items[r], pipeline, budget, gate))
                return false;
    }
    return true;
}

struct instance *graph_find(const struct graph *graph, enum component_kind kind, const char *id)
{
    for (size_t i = 0; i < graph->instances.count; i++) {
        struct instance *instance = graph->instances.items[i];
        if (instance->used && instance->component->kind == kind && strcmp(instance->id, id) == 0)
            return instance;
    }
    return NULL;
}

unsigned graph_signals(const struct graph *graph, const struct instance *instance)
{
    unsigned signals = 0;
    if (instance->component->kind == COMPONENT_EXTENSION)
        return 0;
    for (size_t i = 0; i < graph->pipeline_count; i++)
        if (instance_list_has(&graph->pipelines[i].stages[instance->component->kind], instance))
            signals |= SIGNAL_BIT(graph->pipelines[i].signal);
    return signals;
}

struct pipeline *graph_pipeline(const struct graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->pipeline_count; i++)
        if (strcmp(graph->pipelines[i].name, name) == 0)
            return &graph->pipelines[i];
    return NULL;
}

/* The only pipeline of a signal whose name the other graph does not have; NULL: none or several. */
static struct pipeline *only_here(const struct graph *graph, const struct graph *other,
                                  enum signal signal)
{
    struct pipeline *found = NULL;
    for (size_t i = 0; i < graph->pipeline_count; i++) {
        struct pipeline *pipeline = &graph->pipelines[i];
        if (pipeline->signal != signal || graph_pipeline(other, pipeline->name))
            continue;
        if (found)
            return NULL;
        found = pipeline;
    }
    return found;
}

struct pipeline *graph_counterpart(const struct graph *of, const struct pipeline *pipeline,
                                   const struct graph *in)
{
    struct pipeline *same = graph_pipeline(in, pipeline->name);
    return !same && only_here(of, in, pipeline->signal) == pipeline
               ? only_here(in, of, pipeline->signal)
               : same;
}

/* Returns the place of a processor in a pipeline; SIZE_MAX: it has none of that id. */
static size_t place_in(const struct pipeline *pipeline, const char *id)
{
    const struct instance_list *processors = &pipeline->stages[COMPONENT_PROCESSOR];
    for (size_t i = 0; i < processors->count; i++)
        if (strcmp(processors->items[i]->id, id) == 0)
            return i;
    return SIZE_MAX;
}

/* Both pipelines have the processor. */
static bool is_passed(const struct pipeline *before, const struct pipeline *now, const char *id)
{
    const struct instance_list *processors = &before->stages[COMPONENT_PROCESSOR];
    size_t old = place_in(before, id), new = place_in(now, id);
    for (size_t i = 0; i < processors->count; i++) {
        size_t place = place_in(now, processors->items[i]->id);
        if (place != SIZE_MAX && (i < old) != (place < new))
            return true;
    }
    return false;
}

enum graph_place graph_place(const struct graph *from, const struct graph *to, const char *id)
{
    enum graph_place place = PLACE_KEPT;
    for (size_t i = 0; i < from->pipeline_count; i++) {
        const struct pipeline *pipeline = &from->pipelines[i], *now;
        if (place_in(pipeline, id) == SIZE_MAX)
            continue;
        now = graph_counterpart(from, pipeline, to);
        if (!now || place_in(now, id) == SIZE_MAX)
            return PLACE_LEFT;
        if (is_passed(pipeline, now, id))
            place = PLACE_PASSED;
    }
    return place;
}

static bool feeds(const struct graph *from, const struct instance *receiver,
                  const struct instance *successor, const struct pipeline *pipeline)
{
    if (successor)
        return instance_list_has(&pipeline->stages[COMPONENT_RECEIVER], successor);
    const struct pipeline *before = graph_pipeline(from, pipeline->name);
    return before && instance_list_has(&before->stages[COMPONENT_RECEIVER], receiver);
}

bool graph_wire_leaving(struct graph *graph, const struct graph *from, struct instance *receiver)
{
    const struct instance *successor = graph_find(graph, COMPONENT_RECEIVER, receiver->id);
    for (int s = 0; s < SIGNAL_COUNT; s++) {
        const struct intake *has = receiver->env.intakes[s];
        struct intake *intake =
            has ? fresh_intake(receiver, (enum signal)s, has->budget, has->gate) : NULL;
        if (has && !intake)
            return false;
        for (size_t i = 0; has && i < graph->pipeline_count; i++) {
            struct pipeline *pipeline = &graph->pipelines[i];
            if (pipeline->signal == (enum signal)s && feeds(from, receiver, successor, pipeline) &&
                !add_head(intake, pipeline))
                return false;
        }
        if (!has)
            continue;
        intake->journal = has->journal;
        intake->mode = intake->head_count ? GATE_OPEN : GATE_SHUT;
    }
    return true;
}

/* Swaps all members that are under the gate. */
static void swap_contents(struct intake *a, struct intake *b)
{
    enum { FROM = offsetof(struct intake, mode), SIZE = sizeof(struct intake) - FROM };
    char before[SIZE];
    memcpy(before, (const char *)a + FROM, SIZE);
    memcpy((char *)a + FROM, (const char *)b + FROM, SIZE);
    memcpy((char *)b + FROM, before, SIZE);
}

void graph_install(struct instance *receiver)
{
    for (int s = 0; s < SIGNAL_COUNT; s++) {
        struct intake **intake = &receiver->env.intakes[s], *fresh = receiver->fresh[s];
        receiver->fresh[s] = NULL;
        if (fresh && *intake) {
            swap_contents(*intake, fresh);
            free_intake(fresh);
        } else if (fresh) {
            *intake = fresh;
        }
    }
}

void graph_drop_fresh(struct instance *receiver)
{
    for (int s = 0; s < SIGNAL_COUNT; s++) {
        free_intake(receiver->fresh[s]);
        receiver->fresh[s] = NULL;
    }
}

/* Swaps an outlet's contents and address with the old one downstream of the same processor. */
static void move_outlet(struct pipeline *from, struct pipeline *to, size_t position)
{
    const struct instance_list *before = &from->stages[COMPONENT_PROCESSOR];
    const struct instance *processor = to->stages[COMPONENT_PROCESSOR].items[position];
    for (size_t i = 0; i < before->count; i++)
        if (before->items[i] == processor) {
            struct outlet **old = &from->outlets[i + 1], **new = &to->outlets[position + 1];
            struct outlet contents = **old, *address = *old;
            **old = **new;
            **new = contents;
            *old = *new;
            *new = address;
        }
}

void graph_move_outlets(struct graph *from, struct graph *to)
{
    for (size_t p = 0; p < to->pipeline_count; p++) {
        struct pipeline *pipeline = &to->pipelines[p];
        struct pipeline *before = graph_counterpart(to, pipeline, from);
        for (size_t i = 0; before && i < pipeline->stages[COMPONENT_PROCESSOR].count; i++)
            move_outlet(before, pipeline, i);
        link_outlets(pipeline);
    }
}

/* Whether some pipeline has a processor that is not in order yet before this one. */
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

static void release_pipeline(struct pipeline *pipeline)
{
    size_t processors = pipeline->stages[COMPONENT_PROCESSOR].count;
    for (size_t i = 0; pipeline->outlets && i <= processors; i++) {
        struct outlet *outlet = pipeline->outlets[i];
        if (outlet) {
            pace_unref(outlet->pace);
            free(outlet->branches);
        }
        free(outlet);
    }
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
        for (int s = 0; s < SIGNAL_COUNT; s++) {
            free_intake(instance->env.intakes[s]);
            free_intake(instance->fresh[s]);
        }
        sender_free(instance->sender);
        instance_free(instance);
    }
    free(graph->pipelines);
    free(graph->instances.items);
    free(graph->extensions.items);
    *graph = (struct graph){0};
}

enum metadata_of instance_metadata(const struct instance *receiver)
{
    const struct component *component = receiver->component;
    return component->metadata ? component->metadata(receiver->self) : METADATA_OF_NONE;
}

static bool give_metadata(const struct instance_list *receivers)
{
    for (size_t i = 0; i < receivers->count; i++) {
        if (instance_metadata(receivers->items[i]) != METADATA_OF_ALL)
            return false;
    }
    return true;
}

/* Signals of which all that comes to a processor has metadata. */
static unsigned metadata_signals(const struct graph *graph, const struct instance *processor)
{
    unsigned some = 0, without = 0;
    for (size_t i = 0; i < graph->pipeline_count; i++) {
        const struct pipeline *pipeline = &graph->pipelines[i];
        if (!instance_list_has(&pipeline->stages[COMPONENT_PROCESSOR], processor))
            continue;
        some |= SIGNAL_BIT(pipeline->signal);
        if (!give_metadata(&pipeline->stages[COMPONENT_RECEIVER]))
            without |= SIGNAL_BIT(pipeline->signal);
    }
    return some & ~without;
}

/* Whether behind it, in a pipeline of traces, a processor wants them whole. */
static bool whole_traces_behind(const struct pipeline *pipeline, const struct instance *processor)
{
    const struct instance_list *stage = &pipeline->stages[COMPONENT_PROCESSOR];
    bool behind = false;
    for (size_t i = 0; pipeline->signal == SIGNAL_TRACES && i < stage->count; i++) {
        const struct instance *each = stage->items[i];
        const struct component *component = each->component;
        if (behind && component->wants_traces && component->wants_traces(each->self))
            return true;
        behind = behind || each == processor;
    }
    return false;
}

static bool whole_traces(const struct graph *graph, const struct instance *processor)
{
    for (size_t i = 0; i < graph->pipeline_count; i++)
        if (whole_traces_behind(&graph->pipelines[i], processor))
            return true;
    return false;
}

void graph_set_env(struct graph *graph)
{
    for (size_t i = 0; i < graph->instances.count; i++) {
        struct instance *instance = graph->instances.items[i];
        instance->env.metadata_signals = metadata_signals(graph, instance);
        instance->env.whole_traces = whole_traces(graph, instance);
    }
}
