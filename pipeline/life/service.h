/* The section `service`, without its pipelines. */
#ifndef PIPELINE_LIFE_SERVICE_H
#define PIPELINE_LIFE_SERVICE_H

#include "pipeline/telemetry/settings.h"

struct service_settings {
    uint64_t shutdown_timeout; /* nanoseconds, like all durations */
    uint64_t shutdown_delay;
    struct key_list extensions;
    struct telemetry_settings telemetry;
};

/* Rows over struct service_settings. */
extern const struct key service_keys[];

/* Fills it from the section, NULL if there is none. False: problems were added. */
bool service_fill(struct service_settings *service, const struct node *section,
                  const struct node *place, struct problems *problems);
/* Warns about keys that are given and have no effect. */
void service_warn(const struct node *section, struct problems *warnings);
void service_release(struct service_settings *service);

#endif
