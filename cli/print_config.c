/* The command print-config (cli/commands.h). */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/plan.h"
#include "lib/base/redact.h"
#include "lib/settings/fill.h"
#include "lib/settings/scalar.h"
#include "pipeline/component.h"
#include "pipeline/life/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 512, INDENT = 2 };

/* Position in the tree. */
struct spot {
    const struct key *table; /* of the enclosing component; NULL: none */
    char path[PATH_SIZE];    /* below the component */
    int depth;
    bool secret; /* nothing below is shown */
};

static void print_node(const struct node *node, const struct spot *spot);

static bool bare(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (!*text || (!strchr(letters, *text) && *text != '/'))
        return false;
    for (const char *c = text; *c; c++) {
        bool colon = *c == ':' && c[1] && c[1] != ' ';
        if (!strchr(letters, *c) && !strchr("0123456789_./-", *c) && !colon)
            return false;
    }
    return scalar_type(text) == SCALAR_STRING;
}

static void print_quoted(const char *text, bool dollars)
{
    putchar('"');
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", stdout);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            printf("\\x%02x", (unsigned)(unsigned char)*c);
        else if (*c == '$' && dollars)
            fputs("$$", stdout);
        else
            putchar(*c);
    }
    putchar('"');
}

/* Keys are never expanded, so their dollars are literal. */
static void print_key(const char *key)
{
    if (bare(key))
        fputs(key, stdout);
    else
        print_quoted(key, false);
}

static void print_string(const char *text)
{
    char *shown = redact_urls(text);
    if (shown && bare(shown))
        fputs(shown, stdout);
    else
        print_quoted(shown ? shown : REDACTED, true);
    free(shown);
}

/* Whether the component's key takes a string here, whatever the value looks like. */
static bool wants_string(const struct spot *spot, const struct node *node)
{
    const struct key *key = spot->table ? keys_find(spot->table, spot->path) : NULL;
    if (!key || !node_string(node))
        return false;
    switch (key->type) {
    case KEY_TYPE_STRING:
    case KEY_TYPE_SECRET:
        return true;
    case KEY_TYPE_MAP:
    case KEY_TYPE_SECRETS:
    case KEY_TYPE_LIST:
        return strcmp(key->name, node->key ? node->key : "") != 0;
    case KEY_TYPE_CHOICE:
    case KEY_TYPE_END:
    case KEY_TYPE_BOOL:
    case KEY_TYPE_INT:
    case KEY_TYPE_NUMBER:
    case KEY_TYPE_DURATION:
    case KEY_TYPE_VALUE:
    case KEY_TYPE_GROUP:
    case KEY_TYPE_GROUPS:
    case KEY_TYPE_IGNORED:
        break;
    }
    return false;
}

static void print_scalar(const struct node *node, const struct spot *spot)
{
    bool string = wants_string(spot, node);
    if (node->kind == NODE_NULL && !(string && node->original))
        fputs("null", stdout);
    else if (spot->secret)
        print_quoted(REDACTED, true);
    else if (string)
        print_string(node_string(node));
    else if (!node->quoted && scalar_type(node->text) != SCALAR_STRING)
        fputs(node->text, stdout);
    else
        print_string(node->text);
    putchar('\n');
}

/* The key table decides; without a row, or with a row of strings, the name does. */
static bool is_secret(const struct spot *spot, const char *key)
{
    const struct key *row = spot->table ? keys_find(spot->table, spot->path) : NULL;
    if (!row)
        return redact_name(key);
    bool texts = row->type == KEY_TYPE_STRING || row->type == KEY_TYPE_MAP ||
                 row->type == KEY_TYPE_LIST || row->type == KEY_TYPE_IGNORED;
    return keys_secret(spot->table, spot->path) || (texts && redact_name(key));
}

/* "otlp/2" of exporters: */
static const struct key *table_of(const char *section, const char *id)
{
    static const char *const sections[COMPONENT_KINDS] = {
        [COMPONENT_RECEIVER] = "receivers",
        [COMPONENT_PROCESSOR] = "processors",
        [COMPONENT_EXPORTER] = "exporters",
        [COMPONENT_EXTENSION] = "extensions",
    };
    char type[64];
    if (strcmp(section, "service") == 0)
        return strcmp(id, "telemetry") == 0 ? telemetry_keys : NULL;
    snprintf(type, sizeof type, "%.*s", (int)strcspn(id, "/ "), id);
    for (int kind = 0; kind < COMPONENT_KINDS; kind++)
        if (strcmp(sections[kind], section) == 0) {
            const struct component *found = component_find((enum component_kind)kind, type);
            return found ? found->keys : NULL;
        }
    return NULL;
}

static struct spot step_into(const struct spot *spot, const struct node *item)
{
    struct spot next = *spot;
    next.depth++;
    if (!item->key)
        return next;
    if (spot->depth == 1) {
        next.table = table_of(spot->path, item->key);
        next.path[0] = '\0';
    } else {
        size_t n = strlen(next.path);
        snprintf(next.path + n, sizeof next.path - n, "%s%s", n ? "." : "", item->key);
    }
    /* A known component's id is not a key, and its own table says what is secret in it. */
    bool names_component = spot->depth == 1 && next.table;
    next.secret = spot->secret || (!names_component && is_secret(&next, item->key));
    return next;
}

static void print_items(const struct node *node, const struct spot *spot)
{
    for (size_t i = 0; i < node->count; i++) {
        struct spot inner = step_into(spot, node->items[i]);
        printf("%*s", spot->depth * INDENT, "");
        if (node->kind == NODE_LIST) {
            putchar('-');
        } else {
            print_key(node->items[i]->key);
            putchar(':');
        }
        print_node(node->items[i], &inner);
    }
}

/* Prints what follows "key:" or "-", with its line end. */
static void print_node(const struct node *node, const struct spot *spot)
{
    bool tree = node->kind == NODE_MAP || node->kind == NODE_LIST;
    if (tree && node->count && !(node->original && wants_string(spot, node))) {
        putchar('\n');
        print_items(node, spot);
    } else if (tree && !node->original) {
        puts(node->kind == NODE_MAP ? " {}" : " []");
    } else {
        putchar(' ');
        print_scalar(node, spot);
    }
}

int print_config_command(const struct flags *flags)
{
    struct plan plan;
    bool good = plan_make(&plan, flags);
    if (plan.settings) {
        struct spot top = {0};
        print_items(settings_root(plan.settings), &top);
    }
    plan_release(&plan);
    return good ? EXIT_OK : EXIT_CONFIG;
}
