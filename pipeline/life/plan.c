#include "pipeline/life/plan.h"

#include "lib/base/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TYPE_LENGTH = 63, MAX_NAMED = 63 };

static const char *const sections[COMPONENT_KINDS] = {
    [COMPONENT_RECEIVER] = "receivers",
    [COMPONENT_PROCESSOR] = "processors",
    [COMPONENT_EXPORTER] = "exporters",
    [COMPONENT_EXTENSION] = "extensions",
};

const char *plan_section(enum component_kind kind)
{
    return sections[kind];
}

static void check_top(const struct node *root, struct problems *problems)
{
    static const char *const keys[] = {"receivers",  "processors", "exporters", "extensions",
                                       "connectors", "service",    NULL};
    for (size_t i = 0; i < root->count; i++) {
        const struct node *item = root->items[i];
        bool known = false;
        for (const char *const *key = keys; *key; key++)
            known = known || strcmp(item->key, *key) == 0;
        const char *near = known ? NULL : nearest_word(item->key, keys);
        if (near)
            problems_add(problems, item, item->key, "unknown key, did you mean \"%s\"?", near);
        else if (!known)
            problems_add(problems, item, item->key,
                         "unknown key, expected receivers, processors, exporters, extensions "
                         "or service");
    }
    plan_connectors(node_get(root, "connectors"), problems);
}

/* Writes the type of `type[/name]` to out. False: it is not an id. */
static bool plan_read_type(const char *id, char out[MAX_TYPE_LENGTH + 1])
{
    size_t n = 0;
    if (!isalpha((unsigned char)*id))
        return false;
    while (isalnum((unsigned char)id[n]) || id[n] == '_')
        n++;
    if (n > MAX_TYPE_LENGTH || (id[n] != '\0' && (id[n] != '/' || id[n + 1] == '\0')))
        return false;
    memcpy(out, id, n);
    out[n] = '\0';
    return true;
}

static void plan_instance(enum component_kind kind, const struct node *node, struct graph *graph,
                          struct problems *problems)
{
    char type[MAX_TYPE_LENGTH + 1], path[512];
    snprintf(path, sizeof path, "%s.%s", sections[kind], node->key);
    if (!plan_read_type(node->key, type)) {
        problems_add(problems, node, path,
                     "\"%s\" is not a component id, expected type or type/name", node->key);
        return;
    }
    const struct component *component = component_find(kind, type);
    if (!component) {
        plan_unknown_type(kind, type, node, path, problems);
        return;
    }
    struct instance *instance = instance_new(component, sections[kind], node);
    if (!instance || !instance_list_add(&graph->instances, instance)) {
        instance_free(instance);
        problems_add(problems, node, path, "out of memory");
        return;
    }
    instance_fill(instance, node, problems);
}

static void plan_kind_section(const struct node *root, enum component_kind kind,
                              struct graph *graph, struct problems *problems)
{
    const struct node *section = node_get(root, sections[kind]);
    bool empty = !section || section->kind == NODE_NULL || section->count == 0;
    if (section && section->kind != NODE_NULL && section->kind != NODE_MAP)
        problems_add(problems, section, sections[kind], "expected a map from ids to settings");
    else if (empty && (kind == COMPONENT_RECEIVER || kind == COMPONENT_EXPORTER))
        problems_add(problems, section ? section : root, sections[kind],
                     "no %s configuration specified in config", component_kind_name(kind));
    for (size_t i = 0; !empty && section->kind == NODE_MAP && i < section->count; i++)
        plan_instance(kind, section->items[i], graph, problems);
}

/* Whether an id is a connector, an exporter of one pipeline and a receiver of another. That there
 * are none has been reported where it is configured. */
static bool is_connector(const struct node *root, enum component_kind kind, const char *id)
{
    return (kind == COMPONENT_RECEIVER || kind == COMPONENT_EXPORTER) &&
           node_get(node_get(root, "connectors"), id);
}

/* Whether both name the same type, perhaps by its alias, and the same instance of it. */
static bool is_alias(const struct component *component, const char *id, const char *other)
{
    char type[MAX_TYPE_LENGTH + 1];
    return plan_read_type(id, type) && component_find(component->kind, type) == component &&
           strcmp(id + strlen(type), other + strcspn(other, "/")) == 0;
}

/* The configured id that was probably meant; NULL: none. */
static const char *plan_nearest(const struct graph *graph, enum component_kind kind, const char *id)
{
    const char *ids[MAX_NAMED + 1] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < graph->instances.count && count < MAX_NAMED; i++) {
        const struct instance *instance = graph->instances.items[i];
        if (instance->component->kind != kind)
            continue;
        if (is_alias(instance->component, id, instance->id))
            return instance->id;
        if (!strchr(instance->id, '/') == !strchr(id, '/'))
            ids[count++] = instance->id;
    }
    return nearest_word(id, ids);
}

struct instance *plan_resolve(const struct node *root, const struct graph *graph,
                              enum component_kind kind, const struct node *place, const char *path,
                              struct problems *problems)
{
    const char *id = place->text;
    for (size_t i = 0; i < graph->instances.count; i++) {
        struct instance *instance = graph->instances.items[i];
        if (instance->component->kind == kind && strcmp(instance->id, id) == 0)
            return instance;
    }
    if (node_get(node_get(root, sections[kind]), id) || is_connector(root, kind, id))
        return NULL;
    const char *near = plan_nearest(graph, kind, id);
    problems_add(problems, place, path, "references %s \"%s\" which is not configured%s%s%s",
                 component_kind_name(kind), id, near ? ", did you mean \"" : "", near ? near : "",
                 near ? "\"?" : "");
    return NULL;
}

struct node plan_entry(const struct node *node, const struct key_list *ids, size_t i)
{
    struct node entry = node->kind == NODE_LIST ? *node->items[i] : *node;
    entry.kind = NODE_SCALAR;
    entry.text = ids->items[i];
    return entry;
}

static void plan_extensions(const struct node *root, const struct key_list *ids,
                            struct graph *graph, struct problems *problems)
{
    const char *path = "service.extensions";
    const struct node *node = node_get(node_get(root, "service"), "extensions");
    for (size_t i = 0; i < ids->count; i++) {
        const struct node place = plan_entry(node, ids, i);
        struct instance *instance =
            plan_resolve(root, graph, COMPONENT_EXTENSION, &place, path, problems);
        if (!instance)
            continue;
        if (instance->used)
            problems_add(problems, &place, path, "references extension \"%s\" multiple times",
                         instance->id);
        else if (!instance_list_add(&graph->extensions, instance))
            problems_add(problems, &place, path, "out of memory");
        instance->used = true;
    }
}

bool plan_read(const struct node *root, struct graph *graph, struct service_settings *service,
               struct problems *problems)
{
    size_t before = problems->count;
    if (!root || root->kind != NODE_MAP || root->count == 0) {
        problems_add(problems, root, NULL,
                     !root || root->kind == NODE_NULL || root->count == 0
                         ? "empty configuration file"
                         : "expected a map with receivers, exporters and service");
        return false;
    }
    check_top(root, problems);
    for (int kind = 0; kind < COMPONENT_KINDS; kind++)
        plan_kind_section(root, (enum component_kind)kind, graph, problems);
    const struct node *section = node_get(root, "service");
    service_fill(service, section, section ? section : root, problems);
    plan_extensions(root, &service->extensions, graph, problems);
    plan_pipelines(root, graph, problems);
    plan_auth(root, graph, problems);
    plan_places(graph, problems);
    return problems->count == before;
}
