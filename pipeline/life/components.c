/* What components there are, with their keys, as text (pipeline/life/runtime.h). */
#include "lib/settings/fill.h"
#include "pipeline/component.h"
#include "pipeline/life/runtime.h"
#include "pipeline/life/service.h"

#include <string.h>

struct listing {
    struct bytes *out;
    int name, type, value; /* widths of the columns */
};

static const char *fallback_of(const struct key *key)
{
    bool none = key->rows || key->type == KEY_TYPE_IGNORED;
    if (none)
        return "-";
    if (key->fallback)
        return *key->fallback ? key->fallback : "\"\"";
    if (key->flags & KEY_REQUIRED)
        return "(required)";
    if (key->type == KEY_TYPE_BOOL)
        return "false";
    return key->type == KEY_TYPE_CHOICE && key->choices && key->choices[0] ? key->choices[0] : "-";
}

static void widen(int *width, const char *text)
{
    int n = (int)strlen(text);
    if (n > *width)
        *width = n;
}

static void measure_row(void *ctx, const char *name, const struct key *key, const char *type)
{
    struct listing *listing = ctx;
    widen(&listing->name, name);
    widen(&listing->type, type);
    widen(&listing->value, fallback_of(key));
}

static void put_row(void *ctx, const char *name, const struct key *key, const char *type)
{
    const struct listing *listing = ctx;
    bytes_printf(listing->out, "    %-*s  %-*s  %-*s  %s\n", listing->name, name, listing->type,
                 type, listing->value, fallback_of(key), key->text ? key->text : "");
}

static void put_signals(unsigned signals, struct bytes *out)
{
    const char *comma = "";
    for (int s = 0; s < SIGNAL_COUNT; s++)
        if (signals & SIGNAL_BIT(s)) {
            bytes_printf(out, "%s%s", comma, signal_name((enum signal)s));
            comma = ", ";
        }
    if (signals)
        bytes_printf(out, "; ");
}

static void put_keys(const struct key *keys, struct bytes *out)
{
    struct listing listing = {.out = out};
    keys_visit(keys, measure_row, &listing);
    keys_visit(keys, put_row, &listing);
}

static void put_component(const struct component *component, struct bytes *out)
{
    static const struct key none[] = {KEY_END};
    bytes_printf(out, "  %s", component->type);
    if (component->alias)
        bytes_printf(out, " (or %s)", component->alias);
    bytes_printf(out, ": ");
    put_signals(component->signals, out);
    bytes_printf(out, "%s\n", component->stability ? component->stability : "beta");
    if (component->text)
        bytes_printf(out, "    %s\n", component->text);
    put_keys(component->keys ? component->keys : none, out);
}

static const char *const kinds[COMPONENT_KINDS] = {
    [COMPONENT_RECEIVER] = "receivers",
    [COMPONENT_PROCESSOR] = "processors",
    [COMPONENT_EXPORTER] = "exporters",
    [COMPONENT_EXTENSION] = "extensions",
};

void components_list(struct bytes *out)
{
    for (int kind = 0; kind < COMPONENT_KINDS; kind++) {
        bytes_printf(out, "%s%s:\n", kind ? "\n" : "", kinds[kind]);
        for (size_t i = 0; component_table[i]; i++)
            if ((int)component_table[i]->kind == kind)
                put_component(component_table[i], out);
    }
    bytes_printf(out, "\nservice:\n  service: the process itself\n");
    put_keys(service_keys, out);
}

static bool is_named(const struct component *component, const char *name)
{
    return strcmp(component->type, name) == 0 ||
           (component->alias && strcmp(component->alias, name) == 0);
}

bool components_describe(const char *path, struct bytes *out)
{
    size_t size = strcspn(path, "/");
    for (size_t i = 0; path[size] && component_table[i]; i++) {
        const char *kind = kinds[component_table[i]->kind];
        if (strlen(kind) != size || strncmp(kind, path, size) != 0 ||
            !is_named(component_table[i], path + size + 1))
            continue;
        put_component(component_table[i], out);
        return true;
    }
    return false;
}
