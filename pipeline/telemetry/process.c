#include "pipeline/telemetry/process.h"

#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/net/tls/tls_expiry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

enum { UUID_TEXT = 37 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char instance_id[UUID_TEXT];
static uint64_t started_wall, started_mono;

/* RFC 9562, section 5.4: version 4. */
static void process_begin(void)
{
    uint8_t b[16] = {0};
    if (getrandom(b, sizeof b, GRND_NONBLOCK) != sizeof b)
        memcpy(b, &(uint64_t){clock_wall(&clock_system)}, sizeof(uint64_t));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    char *at = instance_id;
    for (size_t i = 0; i < sizeof b; i++)
        at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
    started_wall = clock_wall(&clock_system);
    started_mono = clock_mono(&clock_system);
}

uint64_t process_started(void)
{
    pthread_once(&once, process_begin);
    return started_wall;
}

/* ---- the resource ---- */

static struct process_attribute *process_find(const struct process_resource *resource,
                                              const char *name)
{
    for (size_t i = 0; i < resource->count; i++)
        if (strcmp(resource->attributes[i].name, name) == 0)
            return &resource->attributes[i];
    return NULL;
}

static bool process_set(struct process_resource *resource, const char *name, const char *value)
{
    struct process_attribute *attribute = process_find(resource, name);
    if (!attribute) {
        attribute = &resource->attributes[resource->count++];
        attribute->name = strdup(name);
    }
    free(attribute->value);
    attribute->value = strdup(value);
    return attribute->name && attribute->value;
}

bool process_resource_init(struct process_resource *resource, const struct key_map *given)
{
    pthread_once(&once, process_begin);
    resource->count = 0;
    resource->attributes = calloc(given->count + 3, sizeof *resource->attributes);
    bool done = resource->attributes && process_set(resource, "service.name", "spanlink") &&
                process_set(resource, "service.version", SPANLINK_VERSION) &&
                process_set(resource, "service.instance.id", instance_id);
    for (size_t i = 0; done && i < given->count; i++)
        done = process_set(resource, given->pairs[i].name, given->pairs[i].value);
    if (!done)
        process_resource_release(resource);
    return done;
}

void process_resource_release(struct process_resource *resource)
{
    for (size_t i = 0; i < resource->count; i++) {
        free(resource->attributes[i].name);
        free(resource->attributes[i].value);
    }
    free(resource->attributes);
    *resource = (struct process_resource){0};
}

/* ---- figures ---- */

enum { UPTIME, CPU, RSS, TARGET, CERTIFICATE };

static const struct metric rows[] = {
    [UPTIME] = METRIC_ROW("otelcol_process_uptime", METRIC_COUNTER, METRIC_BASIC, "s",
                          "Uptime of the process, seconds."),
    [CPU] = METRIC_ROW("otelcol_process_cpu_seconds", METRIC_COUNTER, METRIC_BASIC, "s",
                       "CPU time of the process, user and system, seconds."),
    [RSS] = METRIC_ROW("otelcol_process_memory_rss", METRIC_GAUGE, METRIC_BASIC, "By",
                       "Resident memory of the process, bytes."),
    [CERTIFICATE] = METRIC_ROW("spanlink_certificate_days_left", METRIC_GAUGE, METRIC_BASIC, "d",
                               "Days until the first certificate of a source expires."),
    [TARGET] = METRIC_ROW("target_info", METRIC_GAUGE, METRIC_BASIC, "1",
                          "Resource attributes of the process."),
};

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void process_add_target(const struct process_resource *resource, struct metrics *metrics)
{
    struct metric_label *labels = calloc(resource->count + 1, sizeof *labels);
    if (!labels) {
        metrics->failed = true;
        return;
    }
    for (size_t i = 0; i < resource->count; i++)
        labels[i] = (struct metric_label){resource->attributes[i].name,
                                          view_of(resource->attributes[i].value)};
    metrics_add(metrics, &rows[TARGET], 1, labels);
    free(labels);
}

static void add_certificate(void *ctx, const struct tls_expiry *expiry)
{
    struct metrics *metrics = ctx;
    double left = (double)expiry->ends - (double)clock_wall(&clock_system) / 1e9;
    metrics_add(metrics, &rows[CERTIFICATE], left / 86400,
                METRIC_LABELS({"component", view_of(expiry->id)}, {"key", view_of(expiry->key)},
                              {"source", view_of(expiry->source)}));
}

void process_measure(const struct process_resource *resource, struct metrics *metrics)
{
    struct rusage usage;
    uint64_t up = clock_mono(&clock_system) - started_mono;
    metrics_scope(metrics, NULL, NULL);
    metrics_add(metrics, &rows[UPTIME], (double)up / 1e9, NO_LABELS);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        metrics_add(metrics, &rows[CPU], seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime),
                    NO_LABELS);
    metrics_add(metrics, &rows[RSS], (double)heap_resident(), NO_LABELS);
    process_add_target(resource, metrics);
    tls_expiry_each(add_certificate, metrics);
}
