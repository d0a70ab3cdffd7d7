/* The command components (cli/commands.h). */
#include "cli/cli.h"
#include "cli/commands.h"
#include "lib/settings/fill.h"
#include "pipeline/component.h"
#include "pipeline/life/service.h"

#include <stdio.h>
#include <string.h>

struct widths {
    int name, type, value;
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

static void components_measure(void *ctx, const char *name, const struct key *key, const char *type)
{
    struct widths *widths = ctx;
    widen(&widths->name, name);
    widen(&widths->type, type);
    widen(&widths->value, fallback_of(key));
}

static void print_row(void *ctx, const char *name, const struct key *key, const char *type)
{
    const struct widths *widths = ctx;
    printf("    %-*s  %-*s  %-*s  %s\n", widths->name, name, widths->type, type, widths->value,
           fallback_of(key), key->text ? key->text : "");
}

static void print_signals(unsigned signals)
{
    const char *comma = "";
    for (int s = 0; s < SIGNAL_COUNT; s++)
        if (signals & SIGNAL_BIT(s)) {
            printf("%s%s", comma, signal_name((enum signal)s));
            comma = ", ";
        }
    if (signals)
        printf("; ");
}

static void print_keys(const struct key *keys)
{
    struct widths widths = {0};
    keys_visit(keys, components_measure, &widths);
    keys_visit(keys, print_row, &widths);
}

static void print_component(const struct component *component)
{
    static const struct key none[] = {KEY_END};
    printf("  %s", component->type);
    if (component->alias)
        printf(" (or %s)", component->alias);
    printf(": ");
    print_signals(component->signals);
    printf("%s\n", component->stability ? component->stability : "beta");
    if (component->text)
        printf("    %s\n", component->text);
    print_keys(component->keys ? component->keys : none);
}

int components_command(void)
{
    static const char *const kinds[COMPONENT_KINDS] = {
        [COMPONENT_RECEIVER] = "receivers",
        [COMPONENT_PROCESSOR] = "processors",
        [COMPONENT_EXPORTER] = "exporters",
        [COMPONENT_EXTENSION] = "extensions",
    };
    for (int kind = 0; kind < COMPONENT_KINDS; kind++) {
        printf("%s%s:\n", kind ? "\n" : "", kinds[kind]);
        for (size_t i = 0; component_table[i]; i++)
            if ((int)component_table[i]->kind == kind)
                print_component(component_table[i]);
    }
    printf("\nservice:\n  service: the process itself\n");
    print_keys(service_keys);
    return EXIT_OK;
}
