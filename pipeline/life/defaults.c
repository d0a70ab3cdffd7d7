/* The configuration in force, for extensions that show it. */
#include "lib/settings/fill.h"
#include "pipeline/life/config_text.h"
#include "pipeline/life/runtime_state.h"

#include <stdio.h>

enum { PATH_SIZE = 512 };

void runtime_config(struct runtime *runtime, struct bytes *out)
{
    pthread_mutex_lock(&runtime->lock);
    config_text(runtime->root, out);
    pthread_mutex_unlock(&runtime->lock);
}

struct defaulting {
    const struct instance *instance;
    runtime_default_fn *visit;
    void *ctx;
};

/* Whether a section has a value at a dotted path. */
static bool is_given(const struct node *section, const char *path)
{
    char name[PATH_SIZE];
    while (section && *path) {
        size_t size = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)size, path);
        section = node_get(section, name);
        path += size + (path[size] == '.');
    }
    return section && section->kind != NODE_NULL;
}

/* Whether the sections around a key are in force: one that is off until it is given is off. */
static bool is_on(const struct defaulting *defaulting, const char *path)
{
    const struct instance *instance = defaulting->instance;
    char outer[PATH_SIZE];
    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        snprintf(outer, sizeof outer, "%.*s", (int)(dot - path), path);
        const struct key *key = keys_find(instance->component->keys, outer);
        if (key && key->flags & KEY_PRESENCE && !is_given(instance->section, outer))
            return false;
    }
    return !strchr(path, '[');
}

static void visit_key(void *ctx, const char *name, const struct key *key, const char *type_words)
{
    const struct defaulting *defaulting = ctx;
    const struct instance *instance = defaulting->instance;
    char path[2 * PATH_SIZE];
    (void)type_words;
    if (!key->fallback || key->type == KEY_TYPE_IGNORED || is_given(instance->section, name) ||
        !is_on(defaulting, name))
        return;
    snprintf(path, sizeof path, "%s.%s", instance->path, name);
    const struct runtime_default found = {path, key->fallback, key->text};
    defaulting->visit(defaulting->ctx, &found);
}

void runtime_defaults(struct runtime *runtime, runtime_default_fn *visit, void *ctx)
{
    const struct instance_list *instances = &runtime->graph.instances;
    pthread_mutex_lock(&runtime->lock);
    for (size_t i = 0; i < instances->count; i++) {
        struct defaulting defaulting = {instances->items[i], visit, ctx};
        if (instances->items[i]->used && instances->items[i]->component->keys)
            keys_visit(instances->items[i]->component->keys, visit_key, &defaulting);
    }
    pthread_mutex_unlock(&runtime->lock);
}
