#include "pipeline/life/config_text.h"

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

static void put_node(const struct node *node, const struct spot *spot, struct bytes *out);

static void put_char(char c, struct bytes *out)
{
    bytes_append(out, &c, 1);
}

static void put_text(const char *text, struct bytes *out)
{
    bytes_append_view(out, view_of(text));
}

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

static void put_quoted(const char *text, bool dollars, struct bytes *out)
{
    put_char('"', out);
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            bytes_printf(out, "\\%c", *c);
        else if (*c == '\n')
            put_text("\\n", out);
        else if ((unsigned char)*c < 0x20 || *c == 0x7f)
            bytes_printf(out, "\\x%02x", (unsigned)(unsigned char)*c);
        else if (*c == '$' && dollars)
            put_text("$$", out);
        else
            put_char(*c, out);
    }
    put_char('"', out);
}

/* Keys are never expanded, so their dollars are literal. */
static void put_key(const char *key, struct bytes *out)
{
    if (bare(key))
        put_text(key, out);
    else
        put_quoted(key, false, out);
}

static void put_string(const char *text, struct bytes *out)
{
    char *shown = redact_urls(text);
    if (shown && bare(shown))
        put_text(shown, out);
    else
        put_quoted(shown ? shown : REDACTED, true, out);
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
    case KEY_TYPE_TREE:
    case KEY_TYPE_GROUP:
    case KEY_TYPE_GROUPS:
    case KEY_TYPE_IGNORED:
        break;
    }
    return false;
}

static void put_scalar(const struct node *node, const struct spot *spot, struct bytes *out)
{
    bool string = wants_string(spot, node);
    if (node->kind == NODE_NULL && !(string && node->original))
        put_text("null", out);
    else if (spot->secret)
        put_quoted(REDACTED, true, out);
    else if (string)
        put_string(node_string(node), out);
    else if (!node->quoted && scalar_type(node->text) != SCALAR_STRING)
        put_text(node->text, out);
    else
        put_string(node->text, out);
    put_char('\n', out);
}

/* Whether a key is one of TLS, not the name of something. */
static bool is_private_key(const struct spot *spot, const char *key)
{
    return spot->table == telemetry_keys && strcmp(key, "key") == 0;
}

/* The key table decides; without a row, or with a row of strings, the name does. */
static bool is_secret(const struct spot *spot, const char *key)
{
    const struct key *row = spot->table ? keys_find(spot->table, spot->path) : NULL;
    if (is_private_key(spot, key))
        return true;
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

static void put_items(const struct node *node, const struct spot *spot, struct bytes *out)
{
    for (size_t i = 0; i < node->count; i++) {
        struct spot inner = step_into(spot, node->items[i]);
        bytes_printf(out, "%*s", spot->depth * INDENT, "");
        if (node->kind == NODE_LIST) {
            put_char('-', out);
        } else {
            put_key(node->items[i]->key, out);
            put_char(':', out);
        }
        put_node(node->items[i], &inner, out);
    }
}

/* Prints what follows "key:" or "-", with its line end. */
static void put_node(const struct node *node, const struct spot *spot, struct bytes *out)
{
    bool tree = node->kind == NODE_MAP || node->kind == NODE_LIST;
    if (tree && node->count && !(node->original && wants_string(spot, node))) {
        put_char('\n', out);
        put_items(node, spot, out);
    } else if (tree && !node->original) {
        put_text(node->kind == NODE_MAP ? " {}\n" : " []\n", out);
    } else {
        put_char(' ', out);
        put_scalar(node, spot, out);
    }
}

void config_text(const struct node *root, struct bytes *out)
{
    struct spot top = {0};
    put_items(root, &top, out);
}
