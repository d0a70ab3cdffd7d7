/* The section `service` but for its pipelines. */
#ifndef PIPELINE_LIFE_SERVICE_H
#define PIPELINE_LIFE_SERVICE_H

#include "pipeline/telemetry/settings.h"

struct service_settings {
    uint64_t shutdown_timeout; /* nanoseconds, as all durations */
    uint64_t shutdown_delay;
    struct key_list extensions;
    struct telemetry_settings telemetry;
};

/* Fills from the section, NULL for none. False: problems were added. */
bool service_fill(struct service_settings *service, const struct node *section,
                  const struct node *place, struct problems *problems);
/* Tells of keys that are given and have no effect. */
void service_warn(const struct node *section, struct problems *warnings);
void service_release(struct service_settings *service);

#endif
