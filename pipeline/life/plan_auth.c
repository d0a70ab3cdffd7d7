/* Finds the authenticators that `auth` sections name. */
#include "pipeline/life/plan.h"

#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 512 };

/* Position of a walk in an instance's configuration. */
struct spot {
    const struct node *root;
    const struct graph *graph;
    const struct instance *instance;
    struct problems *problems;
    const char *path; /* below the instance; "" at its top */
    void (*visit)(const struct spot *spot, struct auth_settings *auth, unsigned role);
    bool *changed; /* of has_another */
};

static void path_below(const struct spot *spot, const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%.400s%s%.100s", spot->path, *spot->path ? "." : "", name);
}

static const struct instance *in_use(const struct graph *graph, const char *id)
{
    for (size_t i = 0; i < graph->extensions.count; i++)
        if (strcmp(graph->extensions.items[i]->id, id) == 0)
            return graph->extensions.items[i];
    return NULL;
}

/* Says why an id cannot be used; NULL: *by is its authenticator. */
static const char *plan_auth_find(const struct spot *spot, const char *id, unsigned role,
                                  const struct authenticator **by)
{
    const struct instance *extension = in_use(spot->graph, id);
    if (!extension && node_get(node_get(spot->root, "extensions"), id))
        return "which is not in service.extensions";
    if (!extension)
        return "which is not configured";
    if (!extension->component->authenticator)
        return "which is not an authenticator";
    *by = extension->component->authenticator(extension->self);
    if ((role & KEY_AUTH_SERVER) && !(*by)->look)
        return "which provides credentials but does not check them";
    if ((role & KEY_AUTH_CLIENT) && !(*by)->give)
        return "which checks credentials but does not provide them";
    return NULL;
}

/* Whether the extension's own entry is at fault, which has already been reported. */
static bool is_faulty(const struct spot *spot, const char *id)
{
    const struct instance_list *instances = &spot->graph->instances;
    for (size_t i = 0; i < instances->count; i++)
        if (instances->items[i]->component->kind == COMPONENT_EXTENSION &&
            strcmp(instances->items[i]->id, id) == 0)
            return false;
    return node_get(node_get(spot->root, "extensions"), id);
}

static void resolve(const struct spot *spot, struct auth_settings *auth, unsigned role)
{
    char below[PATH_SIZE], full[2 * PATH_SIZE];
    if (!auth->on || !auth->authenticator || !*auth->authenticator)
        return;
    const char *why = plan_auth_find(spot, auth->authenticator, role, &auth->by);
    if (!why)
        return;
    auth->by = NULL;
    if (is_faulty(spot, auth->authenticator))
        return;
    path_below(spot, "authenticator", below);
    snprintf(full, sizeof full, "%s.%s", spot->instance->path, below);
    problems_add(spot->problems, node_nearest(spot->instance->section, below), full,
                 "references extension \"%s\" %s", auth->authenticator, why);
}

/* Whether the id names another authenticator in this graph. */
static void has_another(const struct spot *spot, struct auth_settings *auth, unsigned role)
{
    const struct authenticator *by = NULL;
    if (auth->by && (plan_auth_find(spot, auth->authenticator, role, &by) || by != auth->by))
        *spot->changed = true;
}

static void plan_auth_walk(const struct spot *spot, const struct key *rows, char *config);

static void walk_group(const struct spot *spot, const struct key *key, char *config)
{
    char path[PATH_SIZE];
    struct spot inner = *spot;
    char *group = config + key->offset;
    inner.path = path;
    path_below(spot, key->name, path);
    if (key->flags & (KEY_AUTH_SERVER | KEY_AUTH_CLIENT))
        spot->visit(&inner, (struct auth_settings *)(void *)group, key->flags);
    else if (!(key->flags & KEY_PRESENCE) || *(bool *)(void *)(config + key->present))
        plan_auth_walk(&inner, key->rows, group);
}

static void walk_groups(const struct spot *spot, const struct key *key, char *config)
{
    char path[PATH_SIZE], item[PATH_SIZE];
    struct spot inner = *spot;
    const struct key_groups *groups = (void *)(config + key->offset);
    inner.path = path;
    for (size_t i = 0; i < groups->count; i++) {
        snprintf(item, sizeof item, "%.64s[%zu]", key->name, i);
        path_below(spot, item, path);
        plan_auth_walk(&inner, key->rows, (char *)groups->items + i * key->item_size);
    }
}

static void plan_auth_walk(const struct spot *spot, const struct key *rows, char *config)
{
    for (const struct key *key = rows; key && key->type != KEY_TYPE_END; key++) {
        if (key->type == KEY_TYPE_GROUP)
            walk_group(spot, key, config);
        else if (key->type == KEY_TYPE_GROUPS)
            walk_groups(spot, key, config);
    }
}

void plan_auth(const struct node *root, const struct graph *graph, struct problems *problems)
{
    for (size_t i = 0; i < graph->instances.count; i++) {
        const struct instance *instance = graph->instances.items[i];
        struct spot spot = {root, graph, instance, problems, "", resolve, NULL};
        if (instance->used && !instance->opened)
            plan_auth_walk(&spot, instance->component->keys, instance->self);
    }
}

bool plan_auth_changes(const struct node *root, const struct graph *graph,
                       const struct instance *instance)
{
    bool changed = false;
    struct spot spot = {root, graph, instance, NULL, "", has_another, &changed};
    plan_auth_walk(&spot, instance->component->keys, instance->self);
    return changed;
}
