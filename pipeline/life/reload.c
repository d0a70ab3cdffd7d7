/*
 * Replaces one configuration by another while data flow. The new graph is planned and wired beside
 * the old one, instances that are the same move over, and its new parts are opened; nothing has
 * changed until then. New receivers already have their sockets, and their clients wait. Then, with
 * the gate closed, the old processors hand on what they hold and the new outlets and intakes take
 * effect. What is left of the old graph retires.
 */
#include "pipeline/life/runtime.h"

#include "pipeline/graph/overflow.h"
#include "pipeline/life/plan.h"
#include "pipeline/life/runtime_state.h"
#include "pipeline/telemetry/logs.h"

#include "lib/base/announce.h"
#include "lib/base/log.h"
#include "lib/base/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_SIZE = 900 };

struct reload {
    struct runtime *runtime;
    const struct node *root;
    struct service_settings service;
    struct retirement *retirement; /* its graph: first the new one, then what is removed */
    struct graph *next;
    struct telemetry *telemetry; /* to be used; NULL: the present one stays */
    struct problems *problems;
};

static bool in(const struct graph *graph, const struct instance *instance)
{
    return instance_list_has(&graph->instances, instance);
}

/* ---- what stays ---- */

static bool may_hold(const struct component *processor)
{
    return processor->consume && processor->close && !processor->step;
}

/* What a processor holds has passed those before it and none behind it. So it stays only where that
 * will be the same. */
static bool keeps_place(const struct reload *reload, struct instance *old)
{
    enum graph_place place = graph_place(&reload->runtime->graph, reload->next, old->id);
    return place == PLACE_KEPT ||
           (place == PLACE_PASSED && !may_hold(old->component) && backlog_is_empty(&old->backlog));
}

static bool stays(const struct reload *reload, struct instance *old, const struct instance *fresh)
{
    if (old->component != fresh->component || !node_equal(old->section, fresh->section) ||
        plan_auth_changes(reload->root, reload->next, old))
        return false;
    switch (old->component->kind) {
    case COMPONENT_RECEIVER:
        return graph_signals(&reload->runtime->graph, old) == graph_signals(reload->next, fresh);
    case COMPONENT_PROCESSOR:
        return keeps_place(reload, old);
    case COMPONENT_EXPORTER:
    case COMPONENT_EXTENSION:
    case COMPONENT_KINDS:
        break;
    }
    return true;
}

static void reload_replace(struct instance_list *list, const struct instance *fresh,
                           struct instance *old)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == fresh)
            list->items[i] = old;
}

/* Replaces the planned instance by the old one. */
static void reload_keep(struct graph *next, struct instance *fresh, struct instance *old)
{
    reload_replace(&next->instances, fresh, old);
    reload_replace(&next->extensions, fresh, old);
    for (size_t i = 0; i < next->pipeline_count; i++)
        for (int kind = 0; kind < COMPONENT_EXTENSION; kind++)
            reload_replace(&next->pipelines[i].stages[kind], fresh, old);
    instance_free(fresh);
}

static void count_on(struct instance *fresh, struct meter *meter)
{
    meter_unref(fresh->meter);
    fresh->meter = meter_ref(meter);
    fresh->env.meter = fresh->meter;
}

/* Under an id that an earlier reload removed, what was lost then counts too. */
static void count_on_lost(struct runtime *runtime, struct instance *fresh)
{
    pthread_mutex_lock(&runtime->lock);
    struct meter *meter = retired_meter(&runtime->retired, fresh->component->kind, fresh->id);
    if (meter)
        count_on(fresh, meter);
    pthread_mutex_unlock(&runtime->lock);
}

static void pair_kind(struct reload *reload, bool extensions)
{
    struct instance_list *list = &reload->next->instances;
    for (size_t i = 0; i < list->count; i++) {
        struct instance *fresh = list->items[i];
        struct instance *old =
            graph_find(&reload->runtime->graph, fresh->component->kind, fresh->id);
        if (fresh->used && (!old || !old->used)) {
            count_on_lost(reload->runtime, fresh);
            if (old)
                count_on_lost(reload->runtime, old);
        }
        if (!fresh->used || !old || extensions != (fresh->component->kind == COMPONENT_EXTENSION))
            continue;
        if (stays(reload, old, fresh))
            reload_keep(reload->next, fresh, old);
        else
            count_on(fresh, old->meter);
    }
}

/* Extensions first: an instance that names an authenticator stays only if that one does. */
static void pair(struct reload *reload)
{
    pair_kind(reload, true);
    pair_kind(reload, false);
    plan_auth(reload->root, reload->next, reload->problems);
}

static bool refuse_fixed(const struct reload *reload, const struct graph *graph,
                         const struct graph *other)
{
    bool refused = false;
    for (size_t i = 0; i < graph->instances.count; i++) {
        const struct instance *instance = graph->instances.items[i];
        if (!instance->component->fixed || !instance->used || in(other, instance))
            continue;
        problems_add(reload->problems, NULL, NULL, "%s: changing it needs a restart",
                     instance->path);
        refused = true;
    }
    return refused;
}

/* ---- opening ---- */

/* Calls visit for each instance in use of a kind that is in graph but not in `but`. */
static void each_alone(const struct graph *graph, const struct graph *but, enum component_kind kind,
                       void (*visit)(struct instance *instance))
{
    for (size_t i = 0; i < graph->instances.count; i++) {
        struct instance *instance = graph->instances.items[i];
        if (instance->used && instance->component->kind == kind && !(but && in(but, instance)))
            visit(instance);
    }
}

static void set_modes(struct instance *receiver, enum gate_mode mode)
{
    for (int s = 0; s < SIGNAL_COUNT; s++)
        if (receiver->env.intakes[s])
            receiver->env.intakes[s]->mode = mode;
}

static void install_waiting(struct instance *receiver)
{
    graph_install(receiver);
    set_modes(receiver, GATE_WAITS);
}

static void open_intakes(struct instance *receiver)
{
    set_modes(receiver, GATE_OPEN);
}

static void shut_intakes(struct instance *receiver)
{
    set_modes(receiver, GATE_SHUT);
}

static void yield_sockets(struct instance *instance)
{
    instance->env.yields = true;
}

static void keep_sockets(struct instance *instance)
{
    instance->env.yields = false;
}

/* Makes fresh intakes for receivers that leave one graph and serve their clients through
 * another. */
static bool wire_leaving(struct graph *graph, const struct graph *from)
{
    for (size_t i = 0; i < from->instances.count; i++) {
        struct instance *receiver = from->instances.items[i];
        if (receiver->component->kind == COMPONENT_RECEIVER && receiver->used &&
            !in(graph, receiver) && !graph_wire_leaving(graph, from, receiver))
            return false;
    }
    return true;
}

static bool wire(struct reload *reload)
{
    struct runtime *runtime = reload->runtime;
    bool wired =
        runtime_prepare(runtime, reload->next) && wire_leaving(reload->next, &runtime->graph);
    for (struct retirement *at = runtime->retired.first; wired && at; at = at->next)
        wired = wire_leaving(reload->next, &at->graph);
    if (!wired)
        problems_add(reload->problems, NULL, NULL, "out of memory");
    return wired;
}

static const struct node *telemetry_section(const struct node *root)
{
    return node_get(node_get(root, "service"), "telemetry");
}

/* Opens beside the present one, whose sockets it may take over. */
static bool open_telemetry(struct reload *reload)
{
    struct runtime *runtime = reload->runtime;
    const struct node *now = telemetry_section(runtime->root);
    const struct node *then = telemetry_section(reload->root);
    if (now == then || (now && then && node_equal(now, then)))
        return true;
    if (!telemetry_logs_open(&reload->service.telemetry, node_get(reload->root, "service"),
                             reload->problems))
        return false;
    telemetry_yield(runtime->telemetry, true);
    reload->telemetry =
        runtime_open_telemetry(runtime, &reload->service, reload->root, reload->problems);
    if (!reload->telemetry)
        telemetry_yield(runtime->telemetry, false);
    return reload->telemetry;
}

/* After the change, when nothing waits for it any longer. */
static void change_telemetry(struct reload *reload)
{
    struct runtime *runtime = reload->runtime;
    struct telemetry *before = runtime->telemetry;
    if (!reload->telemetry)
        return;
    runtime->telemetry = reload->telemetry;
    metric_set_level((enum metric_level)runtime->service.telemetry.metrics.level);
    telemetry_close(before);
}

static bool open_new(struct reload *reload)
{
    const struct graph *old = &reload->runtime->graph;
    each_alone(reload->next, old, COMPONENT_RECEIVER, install_waiting);
    each_alone(old, reload->next, COMPONENT_RECEIVER, yield_sockets);
    each_alone(old, reload->next, COMPONENT_EXTENSION, yield_sockets);
    bool opened = open_telemetry(reload);
    opened = runtime_open(reload->runtime, reload->next, reload->problems) && opened;
    if (!opened) {
        if (reload->telemetry)
            telemetry_yield(reload->runtime->telemetry, false);
        telemetry_close(reload->telemetry);
        reload->telemetry = NULL;
        each_alone(old, reload->next, COMPONENT_RECEIVER, keep_sockets);
        each_alone(old, reload->next, COMPONENT_EXTENSION, keep_sockets);
    }
    return opened;
}

/* ---- the change, behind the closed gate ---- */

static void take_all(struct instance *exporter)
{
    sender_take_all(exporter->sender, true);
}

static void take_some(struct instance *exporter)
{
    sender_take_all(exporter->sender, false);
}

static void hand_queues_on(const struct reload *reload)
{
    const struct graph *old = &reload->runtime->graph;
    for (size_t i = 0; i < old->instances.count; i++) {
        struct instance *exporter = old->instances.items[i], *successor;
        if (!exporter->sender || in(reload->next, exporter))
            continue;
        successor = graph_find(reload->next, COMPONENT_EXPORTER, exporter->id);
        if (successor)
            sender_hand_over(exporter->sender, successor->sender);
    }
}

/* What a processor counted in fields of its own goes on under its id. */
static void hand_counts_on(const struct reload *reload)
{
    const struct graph *old = &reload->runtime->graph;
    for (size_t i = 0; i < old->instances.count; i++) {
        const struct instance *from = old->instances.items[i], *to;
        if (from->component->kind != COMPONENT_PROCESSOR || !from->used || in(reload->next, from))
            continue;
        to = graph_find(reload->next, COMPONENT_PROCESSOR, from->id);
        if (!to || !to->used || to->component != from->component)
            continue;
        metrics_carry_fields(from->component->metrics, from->self, to->self);
        if (from->component->inherit)
            from->component->inherit(to->self, from->self);
    }
}

static void take_sections_over(const struct reload *reload)
{
    for (size_t i = 0; i < reload->next->instances.count; i++) {
        struct instance *instance = reload->next->instances.items[i];
        const char *section = plan_section(instance->component->kind);
        instance->section = node_get(node_get(reload->root, section), instance->id);
    }
}

static void swap_graphs(struct reload *reload)
{
    struct runtime *runtime = reload->runtime;
    struct graph old = runtime->graph;
    struct service_settings service = runtime->service;
    runtime->graph = *reload->next;
    *reload->next = old;
    runtime->service = reload->service;
    reload->service = service;
    runtime->root = reload->root;
}

static void take_waiters(const struct graph *graph, struct sender_waiters *waiters)
{
    for (size_t i = 0; i < graph->instances.count; i++)
        if (graph->instances.items[i]->sender)
            sender_take_waiters(graph->instances.items[i]->sender, waiters);
}

static void put_in_force(struct reload *reload)
{
    struct runtime *runtime = reload->runtime;
    struct sender_waiters waiters = {0};
    gate_close(&runtime->gate);
    ticker_pause(runtime->ticker);
    pthread_mutex_lock(&runtime->lock);
    take_waiters(&runtime->graph, &waiters);
    each_alone(&runtime->graph, NULL, COMPONENT_EXPORTER, take_all);
    runtime_close_processors(&runtime->graph, reload->next);
    each_alone(&runtime->graph, NULL, COMPONENT_EXPORTER, take_some);
    hand_queues_on(reload);
    hand_counts_on(reload);
    graph_move_outlets(&runtime->graph, reload->next);
    for (struct retirement *at = runtime->retired.first; at; at = at->next)
        each_alone(&at->graph, NULL, COMPONENT_RECEIVER, graph_install);
    each_alone(&runtime->graph, NULL, COMPONENT_RECEIVER, graph_install);
    each_alone(reload->next, &runtime->graph, COMPONENT_RECEIVER, open_intakes);
    take_sections_over(reload);
    swap_graphs(reload);
    runtime_set_budget(runtime);
    pthread_mutex_unlock(&runtime->lock);
    ticker_resume(runtime->ticker);
    gate_open(&runtime->gate);
    overflow_offer_again(&runtime->gate, &waiters);
}

/* Drops the intakes made for a graph that is not used. */
static void drop_fresh(struct runtime *runtime)
{
    each_alone(&runtime->graph, NULL, COMPONENT_RECEIVER, graph_drop_fresh);
    for (struct retirement *at = runtime->retired.first; at; at = at->next)
        each_alone(&at->graph, NULL, COMPONENT_RECEIVER, graph_drop_fresh);
}

/* Undoes a failed reload: receivers that were open serve their clients through the present
 * pipelines. */
static void put_back(struct reload *reload)
{
    struct runtime *runtime = reload->runtime;
    drop_fresh(runtime);
    bool wired = wire_leaving(&runtime->graph, reload->next);
    gate_close(&runtime->gate);
    each_alone(reload->next, &runtime->graph, COMPONENT_RECEIVER,
               wired ? graph_install : shut_intakes);
    gate_open(&runtime->gate);
}

/* Removes from the list the instances that another graph owns. */
static void reload_forget(struct graph *graph, const struct graph *other)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->instances.count; i++)
        if (!in(other, graph->instances.items[i]))
            graph->instances.items[count++] = graph->instances.items[i];
    graph->instances.count = count;
}

/* ---- logging ---- */

static void append_change(struct bytes *line, const char *what, const struct instance *instance)
{
    bytes_printf(line, "%s%s %s", line->size ? ", " : "", instance->path, what);
}

/* Why one with the same section was replaced. */
static const char *reason_of(const struct reload *reload, const struct instance *fresh)
{
    if (fresh->component->kind == COMPONENT_RECEIVER)
        return "replaced because its signals changed";
    if (fresh->component->kind != COMPONENT_PROCESSOR)
        return "replaced";
    return graph_place(reload->next, &reload->runtime->graph, fresh->id) == PLACE_LEFT
               ? "replaced because it left a pipeline"
               : "replaced because another processor moved past it";
}

static const char *change_of(const struct reload *reload, const struct instance *fresh)
{
    const struct instance *old = graph_find(reload->next, fresh->component->kind, fresh->id);
    return !old                                        ? "added"
           : !node_equal(old->section, fresh->section) ? "changed"
                                                       : reason_of(reload, fresh);
}

static void reload_log(const struct reload *reload)
{
    const struct graph *now = &reload->runtime->graph, *before = reload->next;
    struct bytes line;
    bytes_init(&line, LINE_MAX_SIZE, NULL);
    for (size_t i = 0; i < now->instances.count; i++) {
        const struct instance *instance = now->instances.items[i];
        if (instance->used && !in(before, instance))
            append_change(&line, change_of(reload, instance), instance);
    }
    for (size_t i = 0; i < before->instances.count; i++) {
        const struct instance *instance = before->instances.items[i];
        if (instance->used && !graph_find(now, instance->component->kind, instance->id))
            append_change(&line, "removed", instance);
    }
    if (line.size)
        log_info("reloaded: %.*s", (int)line.size, (const char *)line.data);
    else
        log_info("reloaded: the service section has changed");
    bytes_release(&line);
}

/* ---- the whole reload ---- */

static bool reload_prepare(struct reload *reload)
{
    const struct graph *old = &reload->runtime->graph;
    if (!plan_read(reload->root, reload->next, &reload->service, reload->problems))
        return false;
    runtime_warn_budget(reload->next, reload->problems);
    pair(reload);
    bool refused = refuse_fixed(reload, old, reload->next);
    return !(refuse_fixed(reload, reload->next, old) || refused) && wire(reload);
}

/* Frees a graph that never took effect. */
static void discard(struct reload *reload)
{
    drop_fresh(reload->runtime);
    reload_forget(reload->next, &reload->runtime->graph);
    graph_release(reload->next);
    free(reload->retirement);
    reload->retirement = NULL;
}

static enum reload_result reload_run(struct reload *reload)
{
    struct runtime *runtime = reload->runtime;
    if (!reload_prepare(reload)) {
        discard(reload);
        return RELOAD_FAILED;
    }
    announce_hold();
    bool opened = open_new(reload);
    if (opened)
        put_in_force(reload);
    announce_release(opened);
    if (opened) {
        change_telemetry(reload);
        reload_log(reload);
    } else {
        put_back(reload);
    }
    reload_forget(reload->next, &runtime->graph);
    return opened ? RELOAD_DONE : RELOAD_FAILED;
}

/* The problems as one text; those for which there is no room are in the log. */
static void join_problems(const struct problems *problems, char *out, size_t size)
{
    char text[2048] = "";
    size_t at = 0, told = 0, room = size - sizeof "; and 1000000 more in the log";
    for (; told < problems->count; told++) {
        const char *line = problems->lines[told];
        if (told && at + strlen(line) + 2 > room)
            break;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.1000s", told ? "; " : "", line);
    }
    if (at > room)
        at = room;
    if (told < problems->count)
        snprintf(text + at, sizeof text - at, "; and %zu more in the log", problems->count - told);
    redact_copy(text, out, size);
}

static enum reload_result counted(struct runtime *runtime, enum reload_result result,
                                  const struct problems *problems)
{
    struct runtime_refusal refused = {0};
    if (result == RELOAD_FAILED) {
        refused.at = clock_wall(runtime->clock);
        join_problems(problems, refused.error, sizeof refused.error);
    }
    atomic_fetch_add(&runtime->reloads[result], 1);
    pthread_mutex_lock(&runtime->lock);
    runtime->refused = refused;
    pthread_mutex_unlock(&runtime->lock);
    return result;
}

struct runtime_refusal runtime_refused_reload(struct runtime *runtime)
{
    pthread_mutex_lock(&runtime->lock);
    struct runtime_refusal refused = runtime->refused;
    pthread_mutex_unlock(&runtime->lock);
    return refused;
}

enum reload_result runtime_reload(struct runtime *runtime, const struct settings *settings,
                                  struct problems *problems)
{
    struct reload reload = {.runtime = runtime, .problems = problems};
    if (!settings)
        return counted(runtime, RELOAD_FAILED, problems);
    reload.root = settings_root(settings);
    if (node_equal(runtime->root, reload.root))
        return counted(runtime, RELOAD_SAME, problems);
    reload.retirement = calloc(1, sizeof *reload.retirement);
    if (!reload.retirement) {
        problems_add(problems, NULL, NULL, "out of memory");
        return counted(runtime, RELOAD_FAILED, problems);
    }
    reload.next = &reload.retirement->graph;
    retired_hold(&runtime->retired);
    enum reload_result result = reload_run(&reload);
    retired_let_go(&runtime->retired);
    if (reload.retirement)
        retired_begin(runtime, reload.retirement, runtime->service.shutdown_timeout);
    service_release(&reload.service);
    return counted(runtime, result, problems);
}
