#include "lib/settings/fill.h"

#include "lib/base/nearest.h"
#include "lib/base/shown.h"
#include "lib/settings/collector_keys.h"
#include "lib/settings/field.h"
#include "lib/settings/scalar.h"
#include "lib/settings/yaml.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILL_PATH = 256, NAMES_MAX = 96, DEFAULT_ARENA = 64 * 1024 };

/* One map of the tree and its table. */
struct level {
    const struct key *table;
    const struct node *section; /* NULL: all defaults */
    const struct node *place;   /* the position of missing keys in reports; NULL: none */
    const char *path;
    char *config;
    struct problems *problems;
    bool switched; /* the section may have `enabled` without a row for it */
    bool asleep;   /* the section is off: nothing in it is required */
};

static void fill_level(const struct level *level);

static const char *path_below(const struct level *level, const char *name, char out[FILL_PATH])
{
    snprintf(out, FILL_PATH, "%s%s%s", level->path, *level->path ? "." : "", name);
    return out;
}

/* A default is written in YAML and processed like a user's value. */
static void set_default(const struct field *field)
{
    const char *text = field->key->fallback;
    struct node node = {.kind = NODE_SCALAR, .text = text};
    struct field with = *field;
    struct arena arena;
    arena_init(&arena, DEFAULT_ARENA);
    with.node = &node;
    if (text && (*text == '{' || *text == '['))
        with.node = yaml_parse(&arena, view_of(text), "default", field->problems);
    if (!text && (field->key->type == KEY_TYPE_STRING || field->key->type == KEY_TYPE_SECRET))
        node.text = text = "";
    struct key row = *field->key;
    row.flags &= ~(unsigned)KEY_REQUIRED;
    with.key = &row;
    if (text && with.node)
        field_set(&with);
    arena_release(&arena);
}

/* null means "not given", but a string from an empty or unset variable is an empty string. */
static bool settings_fill_given(const struct key *key, const struct node *node)
{
    if (!node || node->kind != NODE_NULL)
        return node;
    bool string = key->type == KEY_TYPE_STRING || key->type == KEY_TYPE_SECRET ||
                  key->type == KEY_TYPE_VALUE || key->type == KEY_TYPE_TREE;
    return string && node->original;
}

static bool is_empty(const struct field *field)
{
    if (field->key->type == KEY_TYPE_LIST)
        return ((const struct key_list *)field->at)->count == 0;
    bool map = field->key->type == KEY_TYPE_MAP || field->key->type == KEY_TYPE_SECRETS;
    return map && ((const struct key_map *)field->at)->count == 0;
}

/* In a section that is off, empty strings and unset variables are not errors. */
static void fill_given(const struct level *level, const struct field *given_field)
{
    struct field field = *given_field;
    struct key row = *field.key;
    field.key = &row;
    if (level->asleep) {
        row.flags &= ~(unsigned)KEY_REQUIRED;
        row.fallback = NULL;
    }
    /* Only maps add to the default. */
    if (row.type == KEY_TYPE_LIST)
        keys_release((const struct key[]){{.name = "", .type = KEY_TYPE_LIST}, KEY_END}, field.at);
    size_t before = level->problems->count;
    field_set(&field);
    bool empty = (row.flags & KEY_REQUIRED) && is_empty(&field) && level->problems->count == before;
    if (empty && field.node->unset)
        field_unset(&field, false);
    else if (empty)
        problems_add(level->problems, field.node, field.path, "must not be empty");
}

/* Whether an unknown key was reported that is probably this one, so that its absence is none. */
static bool is_misspelt(const struct problems *problems, const char *full)
{
    const char *dot = strrchr(full, '.');
    char start[FILL_PATH + 3], end[FILL_PATH + 32];
    snprintf(start, sizeof start, ": %.*s.", dot ? (int)(dot - full) : 0, full);
    snprintf(end, sizeof end, ": unknown key, did you mean \"%s\"?", dot ? dot + 1 : full);
    for (size_t i = 0; i < problems->count; i++)
        if (strstr(problems->lines[i], start) && strstr(problems->lines[i], end))
            return true;
    return false;
}

/* Whether the section has a key of the Collector with its own sentence, which says what to write
 * there instead: what else it lacks then is of no use to know. */
static bool has_fate(const struct level *level)
{
    char path[FILL_PATH];
    for (size_t i = 0; level->section && i < level->section->count; i++)
        if (collector_key_fate(path_below(level, level->section->items[i]->key, path)))
            return true;
    return false;
}

static void fill_value(const struct level *level, const struct key *key, const struct node *node)
{
    char path[FILL_PATH];
    static const struct node nowhere = {.kind = NODE_NULL};
    const struct node *place = node ? node : level->place;
    struct field field = {
        .key = key,
        .at = level->config + key->offset,
        .node = place ? place : &nowhere,
        .path = path_below(level, key->name, path),
        .problems = level->problems,
    };
    bool has = settings_fill_given(key, node);
    bool needed = (key->flags & KEY_REQUIRED) && !key->fallback && !level->asleep;
    if (key->type == KEY_TYPE_IGNORED)
        return;
    if (!has || !(key->flags & KEY_REPLACES_MAP))
        set_default(&field);
    if (has)
        fill_given(level, &field);
    else if (needed && field.node->unset)
        field_unset(&field, false);
    else if (needed && !is_misspelt(level->problems, path) && !has_fate(level))
        problems_add(level->problems, field.node, path, "required but not given");
}

static bool has_row(const struct key *table, const char *name)
{
    for (; table->type != KEY_TYPE_END; table++)
        if (strcmp(table->name, name) == 0)
            return true;
    return false;
}

/* Whether a group with a switch is on: its key is present without `enabled: false`. */
static bool group_on(const struct level *level, const struct key *key, const struct node *node)
{
    const struct node *enabled = node ? node_get(node, "enabled") : NULL;
    if (!enabled || enabled->kind == NODE_NULL)
        return node;
    char outer[FILL_PATH], path[FILL_PATH + 16];
    bool on = true;
    snprintf(path, sizeof path, "%s.enabled", path_below(level, key->name, outer));
    struct key row = {.name = "enabled", .type = KEY_TYPE_BOOL};
    struct field field = {&row, &on, enabled, path, level->problems};
    if (!has_row(key->rows, "enabled"))
        field_set(&field);
    else if (enabled->kind == NODE_SCALAR && !enabled->quoted)
        scalar_bool(enabled->text, &on);
    return on;
}

static void fill_group(const struct level *level, const struct key *key, const struct node *node)
{
    char path[FILL_PATH];
    struct level inner = {
        .table = key->rows,
        .section = node,
        .place = node ? node : level->place,
        .path = path_below(level, key->name, path),
        .config = level->config + key->offset,
        .problems = level->problems,
        .asleep = level->asleep,
    };
    if (key->flags & KEY_PRESENCE) {
        bool on = group_on(level, key, node);
        inner.switched = true;
        inner.asleep = inner.asleep || !on;
        *(bool *)(void *)(level->config + key->present) = on;
    }
    fill_level(&inner);
}

/* The strings of a list, from the n-th item on, as the section that they stand for. */
static void fill_short(const struct level *level, const struct key *key, const struct node *node,
                       const char *path, size_t n)
{
    struct key_groups *groups = (void *)(level->config + key->offset);
    char *item = (char *)groups->items + n * key->item_size;
    struct node list = *node, *items[] = {&list};
    struct node section = {.kind = NODE_MAP, .items = items, .count = 1};
    list.key = key->rows[0].name;
    list.items += n;
    list.count -= n;
    section.file = node->file;
    section.line = node->line;
    groups->count = n + 1;
    *(bool *)(void *)(item + key->present) = true;
    struct level inner = {
        .table = key->rows,
        .section = &section,
        .place = node,
        .path = path,
        .config = item,
        .problems = level->problems,
        .asleep = level->asleep,
    };
    fill_level(&inner);
}

/* Sets how many structs come before the strings of a list. False: they are mixed otherwise than a
 * key may have it, which was told. */
static bool parted(const struct level *level, const struct key *key, const struct node *node,
                   const char *path, size_t *structs)
{
    char item[FILL_PATH + 24];
    size_t n = 0, i;
    while (n < node->count && node->items[n]->kind != NODE_SCALAR)
        n++;
    for (i = n; i < node->count && node->items[i]->kind != NODE_MAP; i++)
        ;
    *structs = n;
    bool late = n > 0 && n < node->count && !(key->flags & KEY_SHORT_LAST);
    if (!late && i == node->count)
        return true;
    snprintf(item, sizeof item, "%s[%zu]", path, late ? n : i);
    problems_add(level->problems, node->items[late ? n : i], item, "%s",
                 late ? "found a string behind sections, expected a section"
                 : key->flags & KEY_SHORT_LAST
                     ? "found a section behind strings, expected a string: sections come first"
                     : "found a section behind strings, expected a string");
    return false;
}

static void fill_groups(const struct level *level, const struct key *key, const struct node *node)
{
    char path[FILL_PATH], item[FILL_PATH + 24];
    struct key_groups *groups = (void *)(level->config + key->offset);
    if (!node || node->kind == NODE_NULL)
        return;
    path_below(level, key->name, path);
    if (node->kind != NODE_LIST) {
        problems_add(level->problems, node, path, "found %s, expected a list",
                     node_kind_words(node));
        return;
    }
    size_t count = node->count;
    bool ok = !(key->flags & KEY_SHORT) || parted(level, key, node, path, &count);
    groups->items = calloc(node->count + 1, key->item_size);
    groups->count = groups->items ? count : 0;
    if (!groups->items)
        problems_add(level->problems, node, path, "out of memory");
    for (size_t i = 0; i < groups->count; i++) {
        snprintf(item, sizeof item, "%s[%zu]", path, i);
        struct level inner = {
            .table = key->rows,
            .section = node->items[i],
            .place = node->items[i],
            .path = item,
            .config = (char *)groups->items + i * key->item_size,
            .problems = level->problems,
            .asleep = level->asleep,
        };
        fill_level(&inner);
    }
    if (ok && groups->items && count < node->count)
        fill_short(level, key, node, path, count);
}

static size_t names_of(const struct level *level, const char *names[NAMES_MAX])
{
    size_t n = 0;
    for (const struct key *key = level->table; key->type != KEY_TYPE_END; key++)
        if (n + 2 < NAMES_MAX)
            names[n++] = key->name;
    if (level->switched && !has_row(level->table, "enabled"))
        names[n++] = "enabled";
    names[n] = NULL;
    return n;
}

/* Whether it is a key that belongs in the section tls, where the Collector once had it outside. */
static bool is_of_tls(const struct key *table, const char *name)
{
    for (; table->type != KEY_TYPE_END; table++)
        if (table->type == KEY_TYPE_GROUP && strcmp(table->name, "tls") == 0)
            return has_row(table->rows, name);
    return false;
}

static void report_unknown(const struct level *level, const struct node *item)
{
    char path[FILL_PATH], list[200] = "";
    const char *names[NAMES_MAX];
    size_t count = names_of(level, names), at = 0;
    const char *near = nearest_word(item->key, names);
    path_below(level, item->key, path);
    const char *fate = collector_key_fate(path);
    if (fate) {
        problems_add(level->problems, item, path, "%s", fate);
        return;
    }
    if (is_of_tls(level->table, item->key)) {
        problems_add(level->problems, item, path, "belongs in the section tls: write tls.%s",
                     item->key);
        return;
    }
    if (collector_key_known(path, item->key)) {
        const char *way = collector_key_advice(path);
        problems_add(level->problems, item, path,
                     "a key of the Collector that spanlink does not support%s%s", way ? ": " : "",
                     way ? way : "");
        return;
    }
    if (near) {
        problems_add(level->problems, item, path, "unknown key, did you mean \"%s\"?", near);
        return;
    }
    for (size_t i = 0; i < count && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", names[i]);
    bool whole = count && at < sizeof list;
    problems_add(level->problems, item, path, "unknown key%s%s",
                 whole   ? ", expected one of "
                 : count ? ""
                         : ", none is expected here",
                 whole ? list : "");
}

static void report_no_map(const struct level *level, const struct node *section)
{
    size_t at;
    char column[32] = "";
    bool is_plain = section->kind == NODE_SCALAR && !section->quoted;
    const struct lookalike *found = is_plain ? lookalike_in(view_of(section->text), &at) : NULL;
    if (found && section->column)
        snprintf(column, sizeof column, " in column %u", node_column(section, at));
    if (found && found->blank)
        problems_add(level->problems, section, level->path, "found %s%s, expected %s", found->words,
                     column, found->expected);
    else
        problems_add(level->problems, section, level->path, "found %s, expected a map of keys",
                     node_kind_words(section));
}

static void report_unknowns(const struct level *level, const struct node *section)
{
    for (size_t i = 0; i < section->count; i++) {
        const char *name = section->items[i]->key;
        bool enabled = level->switched && strcmp(name, "enabled") == 0;
        if (!enabled && !has_row(level->table, name))
            report_unknown(level, section->items[i]);
    }
}

static void fill_level(const struct level *level)
{
    const struct node *section = level->section;
    if (section && section->kind != NODE_MAP) {
        if (section->kind != NODE_NULL)
            report_no_map(level, section);
        section = NULL;
    }
    if (section)
        report_unknowns(level, section);
    for (const struct key *key = level->table; key->type != KEY_TYPE_END; key++) {
        const struct node *node = section ? node_get(section, key->name) : NULL;
        if (key->type == KEY_TYPE_GROUP)
            fill_group(level, key, node);
        else if (key->type == KEY_TYPE_GROUPS)
            fill_groups(level, key, node);
        else
            fill_value(level, key, node);
    }
}

bool keys_fill(const struct key *table, const struct node *section, const struct node *place,
               const char *path, void *config, struct problems *problems)
{
    static const struct key none[] = {KEY_END};
    size_t before = problems->count;
    struct level level = {
        .table = table ? table : none,
        .section = section,
        .place = place ? place : section,
        .path = path ? path : "",
        .config = config,
        .problems = problems,
    };
    fill_level(&level);
    return problems->count == before;
}

struct key_report {
    const struct node *section;
    const struct node *place;
    const char *path;
    struct problems *problems;
    size_t filled; /* how many of them are about single keys */
};

/* Whether one of the first problems is about this path. */
static bool is_reported(const struct problems *problems, size_t count, const char *full)
{
    char inside[FILL_PATH + 4];
    size_t n = (size_t)snprintf(inside, sizeof inside, " %s: ", full);
    for (size_t i = 0; i < count; i++) {
        const char *line = problems->lines ? problems->lines[i] : NULL;
        if (line && (strstr(line, inside) || strncmp(line, inside + 1, n - 1) == 0))
            return true;
    }
    return false;
}

static const char *full_path(const struct key_report *report, const char *path, char out[FILL_PATH])
{
    bool below = path && *path;
    snprintf(out, FILL_PATH, "%s%s%s", report->path, below && *report->path ? "." : "",
             below ? path : "");
    return out;
}

bool key_report_refused(const struct key_report *report, const char *path)
{
    char full[FILL_PATH];
    full_path(report, path, full);
    return is_misspelt(report->problems, full) ||
           is_reported(report->problems, report->filled, full);
}

static void report_text(struct key_report *report, bool warns, const char *path, const char *text)
{
    char full[FILL_PATH];
    const struct node *at = node_nearest(report->section, path);
    full_path(report, path, full);
    bool unset = !warns && at && at->unset;
    if (!warns && (key_report_refused(report, path) ||
                   (unset && is_reported(report->problems, report->problems->count, full))))
        return;
    if (unset)
        field_unset(&(struct field){.node = at, .path = full, .problems = report->problems}, false);
    else if (warns)
        problems_warn(report->problems, false, at ? at : report->place, full, "%s", text);
    else
        problems_add(report->problems, at ? at : report->place, full, "%s", text);
}

void key_report_add(struct key_report *report, const char *path, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    report_text(report, false, path, n < 0 ? "out of memory" : text);
    if (n >= 0)
        free(text);
}

void key_report_warn(struct key_report *report, const char *path, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        return;
    report_text(report, true, path, text);
    free(text);
}

void keys_warn_idle(const struct key *table, const struct node *section, const char *path,
                    struct problems *warnings)
{
    static const char accepted[] = "accepted; ";
    char full[FILL_PATH];
    for (; section && table && table->type != KEY_TYPE_END; table++) {
        const struct node *node = node_get(section, table->name);
        if (!node || node->kind == NODE_NULL || !(table->flags & KEY_WARNED))
            continue;
        snprintf(full, sizeof full, "%s.%s", path, table->name);
        problems_add(warnings, node, full, "has no effect: %s",
                     table->text + (strncmp(table->text, accepted, sizeof accepted - 1) == 0
                                        ? sizeof accepted - 1
                                        : 0));
    }
}

size_t key_path_length(const char *sentence)
{
    size_t n = 0;
    while (islower((unsigned char)sentence[n]) || isdigit((unsigned char)sentence[n]) ||
           sentence[n] == '_' || sentence[n] == '.')
        n++;
    return n > 0 && sentence[n] == ':' && sentence[n + 1] == ' ' ? n : 0;
}

void key_report_sentence(struct key_report *report, const char *sentence)
{
    char path[FILL_PATH];
    size_t n = key_path_length(sentence);
    snprintf(path, sizeof path, "%.*s", (int)n, sentence);
    key_report_add(report, path, "%s", sentence + (n ? n + 2 : 0));
}

bool keys_check(void (*check)(const void *config, struct key_report *report), const void *config,
                const struct node *section, const struct node *place, const char *path,
                struct problems *problems)
{
    size_t before = problems->count;
    struct key_report report = {section, place, path ? path : "", problems, before};
    bool is_read = !section || section->kind == NODE_MAP || section->kind == NODE_NULL;
    if (check && is_read)
        check(config, &report);
    return problems->count == before;
}
