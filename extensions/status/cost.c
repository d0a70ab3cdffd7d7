/* GET /api/cost: CPU time by route; and the same as metrics. */
#include "extensions/status/status.h"

static const struct metric cpu_row =
    METRIC_ROW("spanlink_cpu_seconds", METRIC_COUNTER, METRIC_BASIC, "s",
               "CPU time of profile samples by the service and name of the span that they were "
               "taken in.");

const struct metric status_metrics[] = {
    METRIC_FIELD(struct status, kept_bytes, "spanlink_status_kept_bytes", METRIC_GAUGE,
                 METRIC_BASIC, "By", "Bytes of the traces and profiles that are kept."),
    METRIC_FIELD(struct status, kept_evicted, "spanlink_status_evicted", METRIC_COUNTER,
                 METRIC_NORMAL, "{blocks}", "Blocks of them that gave way to newer ones."),
    METRIC_FIELD(struct status, kept_skipped, "spanlink_status_skipped", METRIC_COUNTER,
                 METRIC_NORMAL, "{requests}",
                 "Requests that were not kept, since that would have cost too much CPU time."),
    METRIC_END,
};

static double in_seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

void status_measure(void *instance, struct metrics *metrics)
{
    struct status *self = instance;
    struct known *known = &self->known;
    status_lock(self);
    for (size_t i = 1; i < known->route_count; i++) {
        const struct known_route *route = &known->routes[i];
        if (route->metered)
            metrics_add(metrics, &cpu_row, in_seconds(route->cpu_ns - route->metered_from),
                        METRIC_LABELS({"service", names_get(&known->names,
                                                            known->services[route->service]->name)},
                                      {"span_name", names_get(&known->names, route->name)}));
    }
    if (known->metered_others)
        metrics_add(
            metrics, &cpu_row, in_seconds(known->metered_others),
            METRIC_LABELS({"service", VIEW(NAME_OTHERS)}, {"span_name", VIEW(NAME_OTHERS)}));
    status_unlock(self);
}
