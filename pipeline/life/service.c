#include "pipeline/life/service.h"

#include <stdio.h>
#include <string.h>

const struct key service_keys[] = {
    KEY_DURATION(struct service_settings, shutdown_timeout, "shutdown_timeout", "8s", 0,
                 "how long queues may drain at the end"),
    KEY_DURATION(struct service_settings, shutdown_delay, "shutdown_delay", "0s", 0,
                 "from a stop signal until the stop begins; everything is still accepted"),
    KEY_LIST(struct service_settings, extensions, "extensions", NULL, "extensions in use"),
    KEY_GROUP(struct service_settings, telemetry, struct telemetry_settings, "telemetry",
              telemetry_keys, "the process's own logs and metrics"),
    KEY_IGNORED("pipelines", "by name: receivers, processors, exporters"),
    KEY_END,
};

static void service_check(const void *config, struct key_report *report)
{
    const struct service_settings *service = config;
    telemetry_check(&service->telemetry, report);
}

/* Keys of `telemetry` without effect, and the value that asks for nothing. */
static const struct {
    const char *path, *harmless, *what;
} unheeded[] = {
    {"logs.development", "false", "there is no such mode"},
    {"logs.processors", NULL, "the log goes only to output_paths"},
    {"resource.detectors", NULL, "only `resource` itself is used"},
    {"resource.detection/development", NULL, "only `resource` itself is used"},
    {"metrics.views", NULL, "only the level decides what is measured"},
    {"traces", "none", "there are no traces of the process itself"},
};

static bool is_word(const struct node *node, const char *word)
{
    return node && node->kind == NODE_SCALAR && node->text && strcmp(node->text, word) == 0;
}

/* Also accepts the word in a list of one, or as the level of a map. */
static bool is_harmless(const struct node *node, const char *word)
{
    bool empty = node->kind != NODE_SCALAR && node->count == 0;
    if (node->kind == NODE_NULL || empty)
        return true;
    if (!word)
        return false;
    bool one = node->kind == NODE_LIST && node->count == 1 && is_word(node->items[0], word);
    return is_word(node, word) || one ||
           (node->kind == NODE_MAP && is_word(node_get(node, "level"), word));
}

/* Returns the node at a dotted path; NULL: not given. */
static const struct node *node_at(const struct node *node, const char *path)
{
    char word[32];
    while (node && *path) {
        size_t n = strcspn(path, ".");
        snprintf(word, sizeof word, "%.*s", (int)n, path);
        node = node_get(node, word);
        path += n + (path[n] == '.');
    }
    return node;
}

void service_warn(const struct node *section, struct problems *warnings)
{
    const struct node *telemetry = node_get(section, "telemetry");
    char path[64];
    for (size_t i = 0; i < sizeof unheeded / sizeof *unheeded; i++) {
        const struct node *node = node_at(telemetry, unheeded[i].path);
        if (!node || is_harmless(node, unheeded[i].harmless))
            continue;
        snprintf(path, sizeof path, "service.telemetry.%s", unheeded[i].path);
        problems_add(warnings, node, path, "has no effect: %s", unheeded[i].what);
    }
}

bool service_fill(struct service_settings *service, const struct node *section,
                  const struct node *place, struct problems *problems)
{
    const struct node *metrics = node_get(node_get(section, "telemetry"), "metrics");
    service->telemetry.metrics.readers_given = node_get(metrics, "readers");
    /* A faulty key has its default, so that the rest can be checked. */
    bool filled = keys_fill(service_keys, section, place, "service", service, problems);
    return keys_check(service_check, service, section, place, "service", problems) && filled;
}

void service_release(struct service_settings *service)
{
    keys_release(service_keys, service);
}
