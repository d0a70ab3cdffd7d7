#include "pipeline/life/runtime.h"

#include "lib/base/log.h"
#include "pipeline/graph/overflow.h"
#include "pipeline/life/explained.h"
#include "pipeline/life/plan.h"
#include "pipeline/life/rows.h"
#include "pipeline/life/runtime_state.h"
#include "pipeline/memory_limit.h"
#include "pipeline/telemetry/logs.h"

#include <inttypes.h>
#include <stdlib.h>

/* RESERVE_SHARE: of the memory budget, kept for merging, editing and sending accepted data.
 * LEAST_ROOM: bytes that new data must have for the smallest requests, with their connections. */
enum { RESERVE_SHARE = 16, LEAST_ROOM = 256 << 10 };

/* Until the log says that notes are still being read. */
#define RECALL_LONG (3 * NS_PER_S)

/* Returns the smallest limit that the instances in use ask for, else the default. */
static size_t budget_limit(const struct graph *graph)
{
    size_t total = 0, least = 0;
    for (size_t i = 0; i < graph->instances.count; i++) {
        const struct instance *instance = graph->instances.items[i];
        if (!instance->used || !instance->component->memory_limit)
            continue;
        total = total ? total : memory_limit_total();
        size_t limit = instance->component->memory_limit(instance->self, total);
        if (limit && (!least || limit < least))
            least = limit;
    }
    return least ? least : memory_limit_default(memory_limit_cgroup(""));
}

void runtime_set_budget(struct runtime *runtime)
{
    size_t limit = budget_limit(&runtime->graph);
    runtime->budget.limit = limit;
    runtime->budget.reserve = limit / RESERVE_SHARE;
}

/* Whether new data would have room in a budget of so many bytes. */
static bool leaves_room(size_t limit, size_t charges)
{
    return limit - limit / RESERVE_SHARE - limit / 32 >= charges + LEAST_ROOM;
}

void runtime_warn_budget(const struct graph *graph, struct problems *problems)
{
    size_t limit = budget_limit(graph), charges = 0, least = limit >> 20;
    const struct instance *by = NULL;
    for (size_t i = 0; i < graph->instances.count; i++) {
        const struct instance *instance = graph->instances.items[i];
        if (!instance->used)
            continue;
        charges += instance->component->charges;
        if (instance->component->memory_limit)
            by = instance;
    }
    if (charges == 0 || leaves_room(limit, charges))
        return;
    while (!leaves_room(least << 20, charges))
        least++;
    problems_warn(problems, true, by ? by->section : NULL, by ? by->path : NULL,
                  "every request would be refused: of the memory budget of %.1f MiB, %.1f MiB are "
                  "used before any data; a limit_mib of %zu is the least that works",
                  (double)limit / (1 << 20), (double)charges / (1 << 20), least);
}

struct runtime *runtime_plan(const struct settings *settings, const struct clock *clock,
                             struct problems *problems)
{
    struct runtime *runtime = calloc(1, sizeof *runtime);
    if (!runtime) {
        problems_add(problems, NULL, NULL, "out of memory");
        return NULL;
    }
    runtime->clock = clock;
    pthread_mutex_init(&runtime->lock, NULL);
    gate_init(&runtime->gate);
    watch_init(&runtime->watch);
    retired_init(&runtime->retired, runtime);
    runtime->root = settings_root(settings);
    if (!plan_read(runtime->root, &runtime->graph, &runtime->service, problems)) {
        runtime_free(runtime);
        return NULL;
    }
    budget_init(&runtime->budget, 0);
    runtime_set_budget(runtime);
    runtime_warn_budget(&runtime->graph, problems);
    return runtime;
}

void runtime_each(struct runtime *runtime, enum component_kind kind,
                  void (*visit)(struct runtime *runtime, struct instance *instance))
{
    const struct instance_list *list =
        kind == COMPONENT_EXTENSION ? &runtime->graph.extensions : &runtime->graph.instances;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->used && list->items[i]->component->kind == kind)
            visit(runtime, list->items[i]);
}

/* An instance that already has one is left alone: others read it. */
static void give_journal(struct runtime *runtime, struct instance *instance)
{
    if (instance->env.journal != runtime->journal)
        instance->env.journal = runtime->journal;
    for (int s = 0; s < SIGNAL_COUNT; s++) {
        struct intake *intake = instance->env.intakes[s], *fresh = instance->fresh[s];
        if (intake && intake->journal != runtime->journal)
            intake->journal = runtime->journal;
        if (fresh)
            fresh->journal = runtime->journal;
    }
}

bool runtime_prepare(struct runtime *runtime, struct graph *graph)
{
    struct instance_list *instances = &graph->instances;
    for (size_t i = 0; i < instances->count; i++) {
        struct instance *instance = instances->items[i];
        if (instance->env.runtime)
            continue;
        instance->env.by_reload = runtime->phase != RUNTIME_PLANNED;
        instance->env.clock = runtime->clock;
        instance->env.budget = &runtime->budget;
        instance->env.runtime = runtime;
        instance->env.ticker = runtime->ticker;
        instance->env.watch = &runtime->watch;
        if (instance->used && instance->component->kind == COMPONENT_RECEIVER &&
            !meter_admits(instance->meter, runtime->clock, runtime->ticker))
            return false;
        if (!instance->used || instance->component->kind != COMPONENT_EXPORTER)
            continue;
        instance->sender = sender_new(instance->component, instance->self, &instance->env);
        if (!instance->sender)
            return false;
        sender_on_room(instance->sender, overflow_serve, &runtime->gate);
    }
    graph_set_env(graph);
    bool wired = graph_wire(graph, &runtime->budget, &runtime->gate);
    for (size_t i = 0; i < instances->count; i++)
        give_journal(runtime, instances->items[i]);
    return wired;
}

static void install(struct runtime *runtime, struct instance *receiver)
{
    (void)runtime;
    graph_install(receiver);
}

static bool life_runtime_prepare(struct runtime *runtime)
{
    runtime->ticker = ticker_new(runtime->clock);
    if (!runtime->ticker || !runtime_prepare(runtime, &runtime->graph))
        return false;
    runtime_each(runtime, COMPONENT_RECEIVER, install);
    return true;
}

static bool open_kind(const struct graph *graph, enum component_kind kind,
                      struct problems *problems)
{
    const struct instance_list *list =
        kind == COMPONENT_EXTENSION ? &graph->extensions : &graph->instances;
    bool opened = true;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->used && !list->items[i]->opened &&
            list->items[i]->component->kind == kind)
            opened = instance_open(list->items[i], problems) && opened;
    return opened;
}

static void find_journal(struct runtime *runtime, struct instance *extension)
{
    if (extension->component->journal && !runtime->journal)
        runtime->journal = extension->component->journal(extension->self);
}

/* Notes that an instance gets back. */
struct recalling {
    struct runtime *runtime;
    const struct instance *instance;
    uint64_t tell_at; /* mono: when to log that it takes long */
};

static bool recall(void *ctx, struct view note)
{
    struct recalling *recalling = ctx;
    struct runtime *runtime = recalling->runtime;
    const struct instance *instance = recalling->instance;
    instance->component->recall(instance->self, note);
    if (clock_mono(&clock_system) >= recalling->tell_at) {
        env_info(&instance->env, "still reading what it noted before the restart, from the "
                                 "journal; receivers open once that is done");
        recalling->tell_at = TIME_NEVER;
    }
    runtime->interrupted = runtime->interrupts && runtime->interrupts();
    return !runtime->interrupted;
}

static void recall_notes(struct runtime *runtime, struct instance *processor)
{
    struct recalling recalling = {runtime, processor, clock_mono(&clock_system) + RECALL_LONG};
    if (runtime->journal && processor->component->recall && !runtime->interrupted)
        journal_recall(runtime->journal, view_of(processor->id), recall, &recalling);
}

void runtime_interrupt(struct runtime *runtime, bool (*interrupts)(void))
{
    runtime->interrupts = interrupts;
}

/* What follows at a start when all components of a kind are open. */
static void opened_kind(struct runtime *runtime, enum component_kind kind)
{
    if (kind == COMPONENT_EXTENSION) {
        runtime_each(runtime, COMPONENT_EXTENSION, find_journal);
        runtime_each(runtime, COMPONENT_PROCESSOR, give_journal);
        runtime_each(runtime, COMPONENT_RECEIVER, give_journal);
    } else if (kind == COMPONENT_PROCESSOR) {
        runtime_each(runtime, COMPONENT_PROCESSOR, recall_notes);
    }
}

bool runtime_open(struct runtime *runtime, const struct graph *graph, struct problems *problems)
{
    static const enum component_kind order[] = {COMPONENT_EXTENSION, COMPONENT_EXPORTER,
                                                COMPONENT_PROCESSOR, COMPONENT_RECEIVER};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (runtime->interrupted || !open_kind(graph, order[i], problems))
            return false;
        else if (runtime->phase == RUNTIME_PLANNED)
            opened_kind(runtime, order[i]);
    return true;
}

static bool open_all(struct runtime *runtime, struct problems *problems)
{
    if (!runtime_open(runtime, &runtime->graph, problems))
        return false;
    bool started = ticker_start(runtime->ticker);
    if (started && runtime->journal) {
        runtime->replay =
            replay_start(&runtime->graph, &runtime->gate, runtime->journal, &runtime->budget);
        started = runtime->replay != NULL;
    }
    if (!started)
        problems_add(problems, NULL, NULL, "cannot start a thread");
    return started;
}

struct telemetry *runtime_open_telemetry(struct runtime *runtime,
                                         const struct service_settings *service,
                                         const struct node *root, struct problems *problems)
{
    const struct telemetry_options options = {
        .settings = &service->telemetry,
        .section = node_get(root, "service"),
        .measure = runtime_measure,
        .ctx = runtime,
        .has_default = runtime->clock == &clock_system,
    };
    return telemetry_open(&options, problems);
}

static bool open_telemetry(struct runtime *runtime, struct problems *problems)
{
    metric_set_level((enum metric_level)runtime->service.telemetry.metrics.level);
    if (!telemetry_logs_open(&runtime->service.telemetry, node_get(runtime->root, "service"),
                             problems))
        return false;
    runtime->telemetry =
        runtime_open_telemetry(runtime, &runtime->service, runtime->root, problems);
    return runtime->telemetry;
}

static uint64_t settle(void *ctx, uint64_t mono_ns)
{
    return budget_settle(ctx, mono_ns);
}

static void settle_again(void *ctx)
{
    struct runtime *runtime = ctx;
    ticker_at(runtime->ticker, &runtime->settling, clock_mono(&clock_system) + NS_PER_S);
}

/* From now on, resident memory is measured, and returned to the system after a burst. */
static void watch_memory(struct runtime *runtime)
{
    struct budget *budget = &runtime->budget;
    budget_watch(budget);
    if (!budget->idle || !ticker_threaded(runtime->ticker))
        return;
    runtime->settling = (struct ticker_entry){.tick = settle, .ctx = budget};
    ticker_add(runtime->ticker, &runtime->settling);
    budget->loaded_ctx = runtime;
    budget->loaded = settle_again;
    ticker_at(runtime->ticker, &runtime->settling, 0);
}

bool runtime_start(struct runtime *runtime, struct problems *problems)
{
    bool prepared = life_runtime_prepare(runtime);
    if (!prepared)
        problems_add(problems, NULL, NULL, "out of memory");
    bool telling = prepared && open_telemetry(runtime, problems);
    if (!prepared || !open_all(runtime, problems) || !telling) {
        runtime_close_all(runtime, 0);
        if (!runtime->interrupted)
            plan_places_taken(&runtime->graph, problems);
        return false;
    }
    log_debug("memory budget: %zu MiB", runtime->budget.limit >> 20);
    runtime->phase = RUNTIME_READY;
    watch_memory(runtime);
    return true;
}

bool runtime_ready(const struct runtime *runtime)
{
    return runtime->phase == RUNTIME_READY && !runtime->leaving;
}

uint64_t runtime_leave(struct runtime *runtime)
{
    runtime->leaving = true;
    return runtime->service.shutdown_delay;
}

static bool instance_trouble(const struct instance *instance, struct bytes *out)
{
    struct bytes text;
    bytes_init(&text, 1024, NULL);
    bool asks = instance->used && instance->component->trouble && instance->opened &&
                !atomic_load(&instance->closed);
    bool trouble = asks && instance->component->trouble(instance->self, &text);
    if (trouble)
        bytes_printf(out, "%s%s: %.*s", out->size ? "; " : "", instance->id,
                     VIEW_ARG(bytes_view(&text)));
    bytes_release(&text);
    return trouble;
}

bool runtime_trouble(struct runtime *runtime, struct bytes *out)
{
    struct bytes text;
    bytes_init(&text, 1024, NULL);
    pthread_mutex_lock(&runtime->lock);
    bool ready = runtime->phase == RUNTIME_READY;
    bool trouble = ready && runtime->journal && journal_trouble(runtime->journal, &text);
    if (trouble)
        bytes_printf(out, "journal: %.*s", VIEW_ARG(bytes_view(&text)));
    for (size_t i = 0; ready && i < runtime->graph.instances.count; i++)
        trouble |= instance_trouble(runtime->graph.instances.items[i], out);
    pthread_mutex_unlock(&runtime->lock);
    bytes_release(&text);
    return trouble;
}

void runtime_damaged(struct runtime *runtime, struct bytes *out)
{
    struct bytes text;
    bytes_init(&text, 1024, NULL);
    pthread_mutex_lock(&runtime->lock);
    if (runtime->phase == RUNTIME_READY && runtime->journal &&
        journal_damage(runtime->journal, &text))
        bytes_printf(out, "%s%.*s", out->size ? "; " : "", VIEW_ARG(bytes_view(&text)));
    pthread_mutex_unlock(&runtime->lock);
    bytes_release(&text);
}

uint64_t runtime_failures(struct runtime *runtime)
{
    const struct instance_list *instances = &runtime->graph.instances;
    uint64_t failures = 0;
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < instances->count; i++) {
        const struct instance *instance = instances->items[i];
        if (!instance->used || instance->component->kind != COMPONENT_EXPORTER)
            continue;
        for (int signal = 0; signal < SIGNAL_COUNT; signal++)
            failures += meter_get(instance->meter, METER_RETRIES, (enum signal)signal) +
                        meter_get(instance->meter, METER_LOST, (enum signal)signal);
    }
    pthread_mutex_unlock(&runtime->lock);
    return failures;
}

static void explain_instance(struct instance *instance, struct bytes *out)
{
    struct bytes text;
    bytes_init(&text, out->max - out->size, NULL);
    meter_explain(instance->meter, &text);
    if (instance->sender)
        sender_explain(instance->sender, &text);
    if (instance->component->explain)
        instance->component->explain(instance->self, &text);
    explained_append(bytes_view(&text), instance->id, out);
    bytes_release(&text);
}

static void explain_log(struct bytes *out)
{
    struct bytes text;
    bytes_init(&text, 1024, NULL);
    uint64_t dropped = log_dropped();
    if (log_trouble(&text))
        bytes_printf(out, "%.*s\n", VIEW_ARG(bytes_view(&text)));
    else if (dropped)
        bytes_printf(out,
                     "log: %" PRIu64
                     " lines were dropped, because it was not read or could not be written\n",
                     dropped);
    bytes_release(&text);
}

static void explain_removed(struct runtime *runtime, struct bytes *out)
{
    struct bytes text;
    bytes_init(&text, 4096, NULL);
    runtime_removed(runtime, &text);
    runtime_damaged(runtime, &text);
    if (text.size)
        bytes_printf(out, "%.*s\n", VIEW_ARG(bytes_view(&text)));
    bytes_release(&text);
}

void runtime_explain(struct runtime *runtime, struct bytes *out)
{
    const struct instance_list *instances = &runtime->graph.instances;
    pthread_mutex_lock(&runtime->lock);
    bytes_printf(out, "memory: %zu of %zu bytes, %zu beside them", budget_used(&runtime->budget),
                 runtime->budget.limit, atomic_load(&runtime->budget.beyond));
    uint64_t gave_way = atomic_load(&runtime->budget.gave_way);
    if (gave_way)
        bytes_printf(out, "; %" PRIu64 " bodies that stalled, or were slow or large, gave way",
                     gave_way);
    bytes_printf(out, "\n");
    explain_log(out);
    if (runtime->phase != RUNTIME_READY)
        bytes_printf(out, "%s\n", runtime->phase == RUNTIME_PLANNED ? "starting" : "stopping");
    for (size_t i = 0; runtime->phase == RUNTIME_READY && i < instances->count; i++)
        if (instances->items[i]->used)
            explain_instance(instances->items[i], out);
    pthread_mutex_unlock(&runtime->lock);
    explain_removed(runtime, out);
}

void runtime_set_log(const struct runtime *runtime)
{
    telemetry_logs_set(&runtime->service.telemetry);
}

void runtime_reopen_log(const struct runtime *runtime)
{
    telemetry_logs_reopen(&runtime->service.telemetry);
}

void runtime_free(struct runtime *runtime)
{
    if (!runtime || runtime->abandoned)
        return;
    telemetry_close(runtime->telemetry);
    graph_release(&runtime->graph);
    service_release(&runtime->service);
    retired_release(&runtime->retired);
    runtime->budget.loaded = NULL;
    ticker_free(runtime->ticker);
    gate_release(&runtime->gate);
    watch_release(&runtime->watch);
    pthread_mutex_destroy(&runtime->lock);
    free(runtime);
}
