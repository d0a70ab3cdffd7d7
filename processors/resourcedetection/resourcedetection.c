/* Adds what is known of where it runs to every resource. */
#include "processors/resourcedetection/detect.h"

#include "lib/base/log.h"
#include "pipeline/batch_pass.h"
#include "pipeline/component.h"

#include <stdio.h>

struct enabled {
    bool enabled;
};

struct detection {
    struct key_list detectors;
    bool override;
    struct key_list hostname_sources;
    struct enabled host_name, os_type, host_arch, host_id;

    struct arena arena;
    struct attributes found;
    bool asks_system;
};

#define ATTRIBUTE(name, value)                                                                     \
    static const struct key name##_keys[] = {                                                      \
        KEY_BOOL(struct enabled, enabled, "enabled", value, "whether it is added"), KEY_END}
ATTRIBUTE(on, "true");
ATTRIBUTE(off, "false");

/* Sections without a struct of their own: their rows are of the whole. */
#define SECTION(key, table, line)                                                                  \
    {                                                                                              \
        .name = key, .type = KEY_TYPE_GROUP, .rows = table, .text = line                           \
    }

static const struct key attribute_keys[] = {
    KEY_GROUP(struct detection, host_name, struct enabled, "host.name", on_keys, "the host"),
    KEY_GROUP(struct detection, os_type, struct enabled, "os.type", on_keys, "linux"),
    KEY_GROUP(struct detection, host_arch, struct enabled, "host.arch", off_keys,
              "the processor's architecture"),
    KEY_GROUP(struct detection, host_id, struct enabled, "host.id", off_keys,
              "the content of /etc/machine-id"),
    KEY_END,
};
static const struct key system_keys[] = {
    KEY_LIST(struct detection, hostname_sources, "hostname_sources", "[dns, os]",
             "dns: the name that /etc/hosts has first; os: the host's own"),
    SECTION("resource_attributes", attribute_keys, "what the detector system adds"),
    KEY_END,
};
static const struct key detection_keys[] = {
    KEY_LIST(struct detection, detectors, "detectors", "[env]",
             "env, system and k8s; the first that finds an attribute counts"),
    KEY_BOOL(struct detection, override, "override", "true",
             "replace attributes that a resource has already"),
    SECTION("system", system_keys, "the detector system"),
    KEY_IGNORED("timeout", "accepted; nothing is asked over the network"),
    KEY_IGNORED("refresh_interval", "accepted; what is found does not change while it runs"),
    KEY_IGNORED("retry", "accepted; nothing is asked over the network"),
    KEY_IGNORED("fail_on_missing_metadata", "accepted; nothing is asked over the network"),
    KEY_END,
};

static void detection_check(const void *instance, struct key_report *report)
{
    const struct detection *self = instance;
    char path[64];
    for (size_t i = 0; i < self->detectors.count; i++) {
        const char *name = self->detectors.items[i];
        snprintf(path, sizeof path, "detectors[%zu]", i);
        if (strcmp(name, "env") != 0 && strcmp(name, "system") != 0 && strcmp(name, "k8s") != 0)
            key_report_add(
                report, path,
                "found %.60s, expected env, system or k8s: detectors that query a "
                "cloud or the Kubernetes API are not supported; set their attributes with "
                "OTEL_RESOURCE_ATTRIBUTES",
                name);
    }
    for (size_t i = 0; i < self->hostname_sources.count; i++) {
        const char *name = self->hostname_sources.items[i];
        snprintf(path, sizeof path, "system.hostname_sources[%zu]", i);
        if (strcmp(name, "dns") != 0 && strcmp(name, "os") != 0)
            key_report_add(report, path, "found %.60s, expected dns or os", name);
    }
}

static bool has_word(const struct key_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], word) == 0)
            return true;
    return false;
}

/* What a detector finds is added to what those before it found; one that fails adds nothing. */
static void detect(struct detection *self, const char *detector, const struct env *env)
{
    struct attributes found;
    char error[200];
    bool good = true;
    attributes_read(&found, VIEW(""), 1, &self->arena);
    if (strcmp(detector, "env") == 0) {
        good = detect_env(&found, error, sizeof error);
    } else if (strcmp(detector, "k8s") == 0) {
        detect_k8s(&found);
    } else {
        struct detect_system wanted = {
            .dns = has_word(&self->hostname_sources, "dns"),
            .os = has_word(&self->hostname_sources, "os"),
            .host_name = self->host_name.enabled,
            .os_type = self->os_type.enabled,
            .host_arch = self->host_arch.enabled,
            .host_id = self->host_id.enabled,
        };
        good = self->asks_system = detect_system(&wanted, &found, error, sizeof error);
    }
    if (!good)
        log_warn("%s: the detector %s found nothing: %s", env->id, detector, error);
    for (size_t i = 0; good && i < found.count; i++) {
        struct value value = value_read(found.items[i].any);
        if (!attributes_find(&self->found, found.items[i].key))
            attributes_set(&self->found, found.items[i].key, &value);
    }
    self->found.failed = self->found.failed || found.failed;
}

static bool detection_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct detection *self = instance;
    arena_init(&self->arena, (size_t)1 << 20);
    attributes_read(&self->found, VIEW(""), 1, &self->arena);
    for (size_t i = 0; i < self->detectors.count; i++)
        detect(self, self->detectors.items[i], env);
    snprintf(error, error_size, "out of memory");
    return !self->found.failed;
}

static enum edit_verdict detection_run(const struct pass_step *step, struct request_edit *at,
                                       enum edit_level level)
{
    const struct detection *self = step->self;
    struct attributes *list = record_attributes(&at->records[level]);
    for (size_t i = 0; i < self->found.count; i++) {
        const struct attribute *item = &self->found.items[i];
        struct attribute *there = attributes_find(list, item->key);
        struct value value = value_read(item->any);
        if (!there)
            attributes_set(list, item->key, &value);
        else if (self->override && !view_eq(there->any, item->any))
            attributes_change(list, there, &value);
    }
    return EDIT_SKIP;
}

static bool detection_step(void *instance, const struct batch *batch, struct pass_step *step)
{
    const struct detection *self = instance;
    (void)batch;
    step->levels = EDIT_BIT(EDIT_RESOURCE);
    step->run = detection_run;
    if (self->asks_system) /* whose attributes are of these conventions */
        step->schema_url = VIEW("https://opentelemetry.io/schemas/1.40.0");
    return true;
}

static void detection_close(void *instance)
{
    struct detection *self = instance;
    arena_release(&self->arena);
}

const struct component processor_resourcedetection = {
    .type = "resourcedetection",
    .alias = "resource_detection",
    .text = "adds what is known of where it runs to every resource",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct detection),
    .keys = detection_keys,
    .check = detection_check,
    .open = detection_open,
    .step = detection_step,
    .close = detection_close,
};
