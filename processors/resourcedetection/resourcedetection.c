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
    uint64_t timeout; /* of detectors that ask over the network, which are not here */
    struct key_list hostname_sources;
    struct enabled host_name, os_type, host_arch, host_id, host_ip, host_mac, host_interface;
    struct enabled os_description, os_name, os_version, os_build_id;
    struct enabled cpu_vendor, cpu_family, cpu_model, cpu_name, cpu_stepping, cpu_cache;

    struct arena arena;
    struct attributes found;
    bool asks_system;
};

#define ATTRIBUTE(name, value)                                                                     \
    static const struct key name##_keys[] = {                                                      \
        KEY_BOOL(struct enabled, enabled, "enabled", value, "whether it is added"), KEY_END}
ATTRIBUTE(on, "true");
ATTRIBUTE(off, "false");

static const struct key attribute_keys[] = {
    KEY_GROUP(struct detection, host_name, struct enabled, "host.name", on_keys, "the host"),
    KEY_GROUP(struct detection, os_type, struct enabled, "os.type", on_keys, "linux"),
    KEY_GROUP(struct detection, host_arch, struct enabled, "host.arch", off_keys,
              "the processor's architecture"),
    KEY_GROUP(struct detection, host_id, struct enabled, "host.id", off_keys,
              "the content of /etc/machine-id"),
    KEY_GROUP(struct detection, host_ip, struct enabled, "host.ip", off_keys,
              "addresses, without those of loopback"),
    KEY_GROUP(struct detection, host_mac, struct enabled, "host.mac", off_keys,
              "link-layer addresses"),
    KEY_GROUP(struct detection, host_interface, struct enabled, "host.interface", off_keys,
              "names of the network interfaces"),
    KEY_GROUP(struct detection, os_description, struct enabled, "os.description", off_keys,
              "the distribution and the kernel"),
    KEY_GROUP(struct detection, os_name, struct enabled, "os.name", off_keys,
              "ID of /etc/os-release"),
    KEY_GROUP(struct detection, os_version, struct enabled, "os.version", off_keys,
              "the distribution's version"),
    KEY_GROUP(struct detection, os_build_id, struct enabled, "os.build.id", off_keys,
              "BUILD_ID of /etc/os-release, or the kernel's release"),
    KEY_GROUP(struct detection, cpu_vendor, struct enabled, "host.cpu.vendor.id", off_keys,
              "from /proc/cpuinfo"),
    KEY_GROUP(struct detection, cpu_family, struct enabled, "host.cpu.family", off_keys,
              "from /proc/cpuinfo"),
    KEY_GROUP(struct detection, cpu_model, struct enabled, "host.cpu.model.id", off_keys,
              "from /proc/cpuinfo"),
    KEY_GROUP(struct detection, cpu_name, struct enabled, "host.cpu.model.name", off_keys,
              "from /proc/cpuinfo"),
    KEY_GROUP(struct detection, cpu_stepping, struct enabled, "host.cpu.stepping", off_keys,
              "from /proc/cpuinfo"),
    KEY_GROUP(struct detection, cpu_cache, struct enabled, "host.cpu.cache.l2.size", off_keys,
              "from /proc/cpuinfo, in KiB"),
    KEY_END,
};
static const struct key system_keys[] = {
    KEY_LIST(struct detection, hostname_sources, "hostname_sources", "[dns, os]",
             "in order: dns, cname (the first name in the host's line of /etc/hosts), lookup "
             "(the first name of its address there), os (the host's own)"),
    KEY_SECTION("resource_attributes", attribute_keys, "what the detector system adds"),
    KEY_END,
};
static const struct key detection_keys[] = {
    KEY_LIST(struct detection, detectors, "detectors", "[env]",
             "env, system and k8s; the first that finds an attribute counts"),
    KEY_BOOL(struct detection, override, "override", "true",
             "replace attributes that a resource has already"),
    KEY_SECTION("system", system_keys, "the detector system"),
    KEY_DURATION(struct detection, timeout, "timeout", "5s", 0,
                 "accepted; nothing is asked over the network"),
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
        if (strcmp(name, "dns") != 0 && strcmp(name, "os") != 0 && strcmp(name, "cname") != 0 &&
            strcmp(name, "lookup") != 0)
            key_report_add(report, path, "found %.60s, expected dns, cname, lookup or os", name);
    }
}

/* Only the detector env can find an attribute of any name. */
static void detection_alters(const void *instance, const struct attribute_of *attribute,
                             alteration_visit_fn *visit, void *ctx)
{
    const struct detection *self = instance;
    char error[200], to[300];
    struct arena arena;
    struct attributes found;
    struct value value;
    bool env = false;
    for (size_t i = 0; i < self->detectors.count; i++)
        env = env || strcmp(self->detectors.items[i], "env") == 0;
    if (!attribute->resource || !env)
        return;
    arena_init(&arena, (size_t)1 << 20);
    attributes_read(&found, VIEW(""), 1, &arena);
    if (detect_env(&found, error, sizeof error) &&
        attributes_get(&found, view_of(attribute->what.key), &value)) {
        snprintf(to, sizeof to, "=%.*s", VIEW_ARG(value.bytes));
        visit(ctx,
              &(struct alteration){.kind = self->override ? ALTERATION_LOSES : ALTERATION_MAY_GIVE,
                                   .path = "override",
                                   .verb = "replaces",
                                   .to = view_of(to),
                                   .instead = "set override: false"});
    }
    arena_release(&arena);
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
            .sources = &self->hostname_sources,
            .host_name = self->host_name.enabled,
            .os_type = self->os_type.enabled,
            .host_arch = self->host_arch.enabled,
            .host_id = self->host_id.enabled,
            .host_ip = self->host_ip.enabled,
            .host_mac = self->host_mac.enabled,
            .host_interface = self->host_interface.enabled,
            .os_description = self->os_description.enabled,
            .os_name = self->os_name.enabled,
            .os_version = self->os_version.enabled,
            .os_build_id = self->os_build_id.enabled,
            .cpu_vendor = self->cpu_vendor.enabled,
            .cpu_family = self->cpu_family.enabled,
            .cpu_model = self->cpu_model.enabled,
            .cpu_name = self->cpu_name.enabled,
            .cpu_stepping = self->cpu_stepping.enabled,
            .cpu_cache = self->cpu_cache.enabled,
        };
        good = self->asks_system = detect_system(&wanted, &found, error, sizeof error);
    }
    if (!good)
        env_warn(env, "the detector %s found nothing: %s", detector, error);
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
    .alters = detection_alters,
    .open = detection_open,
    .step = detection_step,
    .close = detection_close,
};
