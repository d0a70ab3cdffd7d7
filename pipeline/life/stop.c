/*
 * The order of a stop: receivers, then processors, which hand on what they hold, then the queues
 * until the deadline, then exporters, and extensions last.
 */
#include "pipeline/life/runtime.h"

#include "lib/base/thread.h"
#include "pipeline/life/runtime_state.h"

#include <inttypes.h>
#include <stdlib.h>

#define POLL_NS     (20 * NS_PER_MS)
#define HURRY_NS    (600 * NS_PER_MS) /* time left for a stop once it is hurried */
#define OVERTIME_NS (2 * NS_PER_S)    /* past the deadline, for connections and threads to end */

static void close_instance(struct runtime *runtime, struct instance *instance)
{
    (void)runtime;
    instance_close(instance);
}

static void hasten(struct runtime *runtime, struct instance *exporter)
{
    (void)runtime;
    if (exporter->sender)
        sender_hasten(exporter->sender);
}

static void take_all(struct runtime *runtime, struct instance *exporter)
{
    (void)runtime;
    if (exporter->sender)
        sender_take_all(exporter->sender, true);
}

static void close_exporter(struct runtime *runtime, struct instance *exporter)
{
    if (exporter->sender)
        sender_join(exporter->sender);
    pthread_mutex_lock(&runtime->lock);
    sender_free(exporter->sender);
    exporter->sender = NULL;
    pthread_mutex_unlock(&runtime->lock);
    instance_close(exporter);
}

static void abort_exporter(struct runtime *runtime, struct instance *exporter)
{
    (void)runtime;
    if (exporter->sender)
        sender_abort(exporter->sender);
}

static void close_processor(struct instance *instance, const struct graph *but)
{
    if (instance->used && instance->component->kind == COMPONENT_PROCESSOR &&
        !(but && instance_list_has(&but->instances, instance)))
        instance_close(instance);
}

void runtime_close_processors(const struct graph *graph, const struct graph *but)
{
    struct instance_list order = {0};
    graph_processors_in_order(graph, &order);
    for (size_t i = 0; i < order.count; i++)
        close_processor(order.items[i], but);
    free(order.items);
    /* Those that could not be listed for lack of memory. */
    for (size_t i = 0; i < graph->instances.count; i++)
        close_processor(graph->instances.items[i], but);
}

/* Processors hand on what they hold while the queues deliver, until then. */
static void set_stop_by(struct runtime *runtime, uint64_t mono_ns)
{
    const struct instance_list *instances = &runtime->graph.instances;
    for (size_t i = 0; i < instances->count; i++)
        if (instances->items[i]->component->kind == COMPONENT_PROCESSOR)
            atomic_store(&instances->items[i]->env.stop_by, mono_ns);
}

static bool all_empty(struct runtime *runtime)
{
    const struct instance_list *instances = &runtime->graph.instances;
    uint64_t until = clock_mono(&clock_system) + POLL_NS;
    for (size_t i = 0; i < instances->count; i++) {
        struct sender *sender = instances->items[i]->sender;
        if (sender && !sender_wait_empty(sender, until))
            return false;
    }
    return true;
}

static void drain(struct runtime *runtime, uint64_t deadline)
{
    while (!all_empty(runtime) && !runtime->hurried && clock_mono(runtime->clock) < deadline)
        if (!ticker_threaded(runtime->ticker))
            ticker_step(runtime->ticker);
}

static void flush_refusals(struct runtime *runtime, struct instance *receiver)
{
    (void)runtime;
    if (receiver->meter->admission)
        admission_flush(receiver->meter->admission);
}

void runtime_close_all(struct runtime *runtime, uint64_t deadline)
{
    runtime_each(runtime, COMPONENT_EXPORTER, hasten);
    replay_stop(runtime->replay);
    runtime->replay = NULL;
    runtime_each(runtime, COMPONENT_RECEIVER, close_instance);
    runtime_each(runtime, COMPONENT_RECEIVER, flush_refusals);
    retired_hurry(&runtime->retired);
    if (runtime->journal)
        journal_flush(runtime->journal);
    runtime_each(runtime, COMPONENT_EXPORTER, take_all);
    set_stop_by(runtime, deadline);
    if (runtime->hurried)
        set_stop_by(runtime, 1);
    runtime_close_processors(&runtime->graph, NULL);
    atomic_store(&runtime->handed_on, true);
    retired_finish(&runtime->retired);
    drain(runtime, deadline);
    runtime_each(runtime, COMPONENT_EXPORTER, abort_exporter);
    runtime_each(runtime, COMPONENT_EXPORTER, close_exporter);
    runtime_each(runtime, COMPONENT_EXTENSION, close_instance);
    runtime->journal = NULL;
    ticker_stop(runtime->ticker); /* meters have an entry in it until they are freed */
}

/* A stop runs on its own thread, so that nothing that blocks in it delays the exit. */
struct stop_run {
    struct runtime *runtime;
    uint64_t deadline;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done; /* under lock */
};

static void *stop_loop(void *ctx)
{
    struct stop_run *run = ctx;
    runtime_close_all(run->runtime, run->deadline);
    pthread_mutex_lock(&run->lock);
    run->done = true;
    pthread_cond_broadcast(&run->ended);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* False: something in the stop still blocks when all time is up. */
static bool await(struct stop_run *run, uint64_t until, const volatile int *hurry)
{
    struct runtime *runtime = run->runtime;
    pthread_mutex_lock(&run->lock);
    for (;;) {
        uint64_t now = clock_mono(&clock_system);
        if (hurry && *hurry && !runtime->hurried) {
            runtime->hurried = true;
            set_stop_by(runtime, 1);
            until = now + HURRY_NS;
        }
        if (run->done || now >= until)
            break;
        thread_cond_wait_until(&run->ended, &run->lock, now + POLL_NS);
    }
    bool done = run->done;
    pthread_mutex_unlock(&run->lock);
    return done;
}

static bool stop_in_time(struct runtime *runtime, const volatile int *hurry)
{
    uint64_t timeout = runtime->service.shutdown_timeout;
    struct stop_run *run = calloc(1, sizeof *run);
    pthread_t thread;
    uint64_t deadline = clock_mono(runtime->clock) + timeout;
    uint64_t until = clock_mono(&clock_system) + timeout + OVERTIME_NS;
    if (run) {
        *run = (struct stop_run){.runtime = runtime, .deadline = deadline};
        pthread_mutex_init(&run->lock, NULL);
        thread_cond_init(&run->ended);
    }
    if (!run || !thread_start(&thread, "stop", stop_loop, run)) {
        runtime_close_all(runtime, deadline);
        free(run);
        return true;
    }
    if (!await(run, until, hurry)) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&run->lock);
    pthread_cond_destroy(&run->ended);
    free(run);
    return true;
}

static uint64_t report_signal(const struct meter *meter, enum signal signal, struct bytes *report)
{
    uint64_t dropped = meter_get(meter, METER_DROPPED, signal);
    if (dropped == 0)
        return 0;
    bytes_printf(report, "%s: %" PRIu64 " %s acknowledged but not delivered", meter->id, dropped,
                 signal_items(signal, dropped));
    for (int cause = 0; cause < CAUSE_COUNT; cause++) {
        uint64_t n = atomic_load(&meter->dropped_by_cause[cause][signal]);
        if (n)
            bytes_printf(report, ", %" PRIu64 " %s", n, cause_name((enum cause)cause));
    }
    bytes_printf(report, "\n");
    return dropped;
}

static uint64_t report_meter(const struct meter *meter, struct bytes *report)
{
    uint64_t lost = 0;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        lost += report_signal(meter, (enum signal)signal, report);
    return lost;
}

static uint64_t report_losses(struct runtime *runtime, struct bytes *report)
{
    const struct instance_list *instances = &runtime->graph.instances;
    uint64_t lost = 0;
    for (size_t i = 0; i < instances->count; i++) {
        struct instance *instance = instances->items[i];
        enum component_kind kind = instance->component->kind;
        if (kind == COMPONENT_PROCESSOR || kind == COMPONENT_EXPORTER ||
            kind == COMPONENT_EXTENSION)
            lost += report_meter(instance->meter, report);
    }
    for (size_t i = 0; i < runtime->retired.meter_count; i++) {
        const struct retired_meter *gone = &runtime->retired.meters[i];
        if (retired_counts(runtime, gone))
            lost += report_meter(gone->meter, report);
    }
    return lost;
}

/* If the stop was cut short: reports what its thread was still working on. */
static uint64_t report_pending(struct runtime *runtime, struct bytes *report)
{
    const struct instance_list *instances = &runtime->graph.instances;
    uint64_t lost = 0;
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < instances->count; i++) {
        struct instance *instance = instances->items[i];
        uint64_t pending = instance->sender ? sender_pending(instance->sender) : 0;
        if (pending)
            bytes_printf(report, "%s: %" PRIu64 " items still in flight\n", instance->id, pending);
        lost += pending;
    }
    pthread_mutex_unlock(&runtime->lock);
    return lost;
}

uint64_t runtime_stop(struct runtime *runtime, const volatile int *hurry, struct bytes *report)
{
    pthread_mutex_lock(&runtime->lock);
    bool running = runtime->phase == RUNTIME_READY;
    if (running)
        runtime->phase = RUNTIME_STOPPING;
    pthread_mutex_unlock(&runtime->lock);
    if (!running)
        return 0;
    runtime->abandoned = !stop_in_time(runtime, hurry);
    uint64_t lost = report_losses(runtime, report);
    if (runtime->abandoned)
        lost += report_pending(runtime, report);
    if (runtime->abandoned && !atomic_load(&runtime->handed_on)) {
        bytes_printf(report, "processors had not handed on all that they held\n");
        lost += !lost; /* how much is not known */
    }
    runtime->phase = RUNTIME_STOPPED;
    return lost;
}
