/* Metrics of the process and all its components. */
#include "lib/base/log.h"
#include "pipeline/life/runtime_state.h"
#include "pipeline/telemetry/instances.h"
#include "pipeline/telemetry/process.h"

enum { USED, LIMIT, THRESHOLD, RESERVE, BEYOND, GAVE_WAY, READY, RELOADS, LOG_DROPPED };

static const struct metric rows[] = {
    [USED] = METRIC_ROW("spanlink_memory_used_bytes", METRIC_GAUGE, METRIC_BASIC, "By",
                        "Bytes of the memory budget that are in use."),
    [LIMIT] = METRIC_ROW("spanlink_memory_limit_bytes", METRIC_GAUGE, METRIC_BASIC, "By",
                         "Bytes of the memory budget."),
    [THRESHOLD] = METRIC_ROW("spanlink_memory_threshold_bytes", METRIC_GAUGE, METRIC_NORMAL, "By",
                             "Bytes in use and beyond, above which new requests are refused."),
    [RESERVE] = METRIC_ROW("spanlink_memory_reserve_bytes", METRIC_GAUGE, METRIC_NORMAL, "By",
                           "Bytes of the memory budget reserved for work on accepted data."),
    [BEYOND] = METRIC_ROW("spanlink_memory_beyond_bytes", METRIC_GAUGE, METRIC_NORMAL, "By",
                          "Bytes resident beyond what is idle and in use; they count too."),
    [GAVE_WAY] = METRIC_ROW("spanlink_bodies_gave_way", METRIC_COUNTER, METRIC_NORMAL, "{requests}",
                            "Stalled, slow or large bodies that gave way to others."),
    [READY] = METRIC_ROW("spanlink_ready", METRIC_GAUGE, METRIC_BASIC, "1",
                         "1 from a complete start until a stop begins, else 0."),
    [RELOADS] = METRIC_ROW("spanlink_reloads", METRIC_COUNTER, METRIC_BASIC, "{reloads}",
                           "Reloads of the configuration, by result."),
    [LOG_DROPPED] = METRIC_ROW("spanlink_log_dropped_lines", METRIC_COUNTER, METRIC_BASIC,
                               "{lines}", "Lines of the log that its reader did not take."),
};

static void measure_process(struct runtime *runtime, struct metrics *metrics)
{
    static const char *const results[] = {
        [RELOAD_DONE] = "done", [RELOAD_SAME] = "same", [RELOAD_FAILED] = "failed"};
    struct budget *budget = &runtime->budget;
    metrics_add(metrics, &rows[USED], (double)budget_used(budget), NO_LABELS);
    metrics_add(metrics, &rows[LIMIT], (double)atomic_load(&budget->limit), NO_LABELS);
    metrics_add(metrics, &rows[THRESHOLD], (double)budget_threshold(budget), NO_LABELS);
    metrics_add(metrics, &rows[RESERVE], (double)atomic_load(&budget->reserve), NO_LABELS);
    metrics_add(metrics, &rows[BEYOND], (double)atomic_load(&budget->beyond), NO_LABELS);
    metrics_add(metrics, &rows[GAVE_WAY], (double)atomic_load(&budget->gave_way), NO_LABELS);
    metrics_add(metrics, &rows[READY], runtime_ready(runtime), NO_LABELS);
    metrics_add(metrics, &rows[LOG_DROPPED], (double)log_dropped(), NO_LABELS);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        metrics_add(metrics, &rows[RELOADS], (double)atomic_load(&runtime->reloads[i]),
                    METRIC_LABELS({"result", view_of(results[i])}));
}

static void measure_own(const struct instance *instance, struct metrics *metrics)
{
    metrics_scope(metrics, component_kind_name(instance->component->kind), instance->id);
    metrics_add_fields(metrics, instance->component->metrics, instance->self);
    if (instance->component->measure)
        instance->component->measure(instance->self, metrics);
    metrics_scope(metrics, NULL, NULL);
}

uint64_t runtime_began(void)
{
    return process_started();
}

void runtime_figures(struct runtime *runtime, struct metrics *metrics)
{
    static const struct process_resource nothing;
    process_measure(&nothing, metrics);
    runtime_measure(runtime, metrics);
}

/* The data path never takes runtime->lock: a reload, a stop and health checks wait for it. */
void runtime_measure(void *ctx, struct metrics *metrics)
{
    struct runtime *runtime = ctx;
    const struct instance_list *instances = &runtime->graph.instances;
    measure_process(runtime, metrics);
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < instances->count; i++) {
        const struct instance *instance = instances->items[i];
        if (!instance->used)
            continue;
        instance_measure(instance, &runtime->graph, metrics);
        if (runtime->phase == RUNTIME_READY && instance->opened)
            measure_own(instance, metrics);
    }
    for (size_t i = 0; i < runtime->retired.meter_count; i++) {
        const struct retired_meter *gone = &runtime->retired.meters[i];
        if (retired_counts(runtime, gone))
            instance_measure_gone(gone->kind, gone->meter, metrics);
    }
    pthread_mutex_unlock(&runtime->lock);
}
