/* Metrics of the process as a whole: its resource attributes, and what the system counts. */
#ifndef PIPELINE_TELEMETRY_PROCESS_H
#define PIPELINE_TELEMETRY_PROCESS_H

#include "lib/metrics/page.h"
#include "lib/settings/key.h"

struct process_resource {
    struct process_attribute {
        char *name; /* "service.name" */
        char *value;
    } * attributes;
    size_t count;
};

/* service.name, service.version and service.instance.id (a random UUID, one a process), then those
 * given; one given with an empty value is left out. False: no memory; nothing needs to be
 * released. */
bool process_resource_init(struct process_resource *resource, const struct key_map *given);
void process_resource_release(struct process_resource *resource);

/* Adds otelcol_process_* and target_info. Any thread. */
void process_measure(const struct process_resource *resource, struct metrics *metrics);

/* Wall-clock time of the start, ns. */
uint64_t process_started(void);

#endif
