/* Iteration over key tables: finding rows by path, documentation, release. */
#include "lib/settings/field.h"
#include "lib/settings/fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_SIZE = 256, WORDS_MAX = 160 };

const char *key_map_get(const struct key_map *map, const char *name)
{
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->pairs[i].name, name) == 0)
            return map->pairs[i].value;
    return NULL;
}

static bool has_children(const struct key *key)
{
    return key->type == KEY_TYPE_MAP || key->type == KEY_TYPE_SECRETS ||
           key->type == KEY_TYPE_LIST || key->type == KEY_TYPE_IGNORED;
}

const struct key *keys_find(const struct key *table, const char *path)
{
    for (const struct key *key = table; key && key->type != KEY_TYPE_END; key++) {
        size_t n = strlen(key->name);
        if (strncmp(path, key->name, n) != 0 || (path[n] != '\0' && path[n] != '.'))
            continue;
        if (path[n] == '\0' || has_children(key))
            return key;
        return key->rows ? keys_find(key->rows, path + n + 1) : NULL;
    }
    return NULL;
}

bool keys_secret(const struct key *table, const char *path)
{
    const struct key *key = keys_find(table, path);
    return key && (key->type == KEY_TYPE_SECRET || key->type == KEY_TYPE_SECRETS ||
                   (key->flags & KEY_HIDDEN));
}

static void range_words(const struct key *key, const char *noun, char out[WORDS_MAX])
{
    bool seconds = key->type == KEY_TYPE_DURATION;
    const char *unit = seconds ? "s" : "";
    if (key->min == 0 && key->max == 0)
        snprintf(out, WORDS_MAX, "%s", noun);
    else
        snprintf(out, WORDS_MAX, "%s, %.15g%s to %.15g%s", noun, key->min, unit, key->max, unit);
}

static void choice_words(const struct key *key, char out[WORDS_MAX])
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; key->choices[i] && at < WORDS_MAX; i++)
        at += (size_t)snprintf(out + at, WORDS_MAX - at, "%s%s", i ? " | " : "", key->choices[i]);
}

static void type_words(const struct key *key, char out[WORDS_MAX])
{
    static const char *const names[] = {
        [KEY_TYPE_END] = "",
        [KEY_TYPE_BOOL] = "bool",
        [KEY_TYPE_INT] = "int",
        [KEY_TYPE_NUMBER] = "number",
        [KEY_TYPE_DURATION] = "duration",
        [KEY_TYPE_STRING] = "string",
        [KEY_TYPE_SECRET] = "secret string",
        [KEY_TYPE_CHOICE] = "choice",
        [KEY_TYPE_MAP] = "map",
        [KEY_TYPE_SECRETS] = "map of secrets",
        [KEY_TYPE_LIST] = "list",
        [KEY_TYPE_VALUE] = "string, number or bool",
        [KEY_TYPE_TREE] = "any",
        [KEY_TYPE_GROUP] = "section",
        [KEY_TYPE_GROUPS] = "list of sections",
        [KEY_TYPE_IGNORED] = "any, no effect",
    };
    if (key->type == KEY_TYPE_CHOICE && key->choices)
        choice_words(key, out);
    else if (key->flags & KEY_PRESENCE)
        snprintf(out, WORDS_MAX, "section, off until given");
    else if (key->flags & KEY_SHORT)
        snprintf(out, WORDS_MAX, "list of strings, or of sections");
    else if (key->flags & KEY_AUTO)
        range_words(key, "auto | duration", out);
    else
        range_words(key, names[key->type], out);
}

static void visit_below(const struct key *table, const char *prefix, keys_visit_fn *visit,
                        void *ctx)
{
    for (const struct key *key = table; key && key->type != KEY_TYPE_END; key++) {
        char name[PATH_MAX_SIZE], words[WORDS_MAX];
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key->name);
        type_words(key, words);
        visit(ctx, name, key, words);
        if (key->type == KEY_TYPE_GROUPS)
            strncat(name, "[]", sizeof name - strlen(name) - 1);
        visit_below(key->rows, name, visit, ctx);
    }
}

void keys_visit(const struct key *table, keys_visit_fn *visit, void *ctx)
{
    visit_below(table, "", visit, ctx);
}

static void map_release(struct key_map *map)
{
    for (size_t i = 0; i < map->count; i++) {
        free(map->pairs[i].name);
        free(map->pairs[i].value);
    }
    free(map->pairs);
    *map = (struct key_map){0};
}

void key_value_release(struct key_value *value)
{
    for (size_t i = 0; i < value->count; i++)
        key_value_release(&value->items[i]);
    free(value->items);
    free(value->name);
    free(value->text);
    *value = (struct key_value){0};
}

static void list_release(struct key_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct key_list){0};
}

static void groups_release(const struct key *key, struct key_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        keys_release(key->rows, (char *)groups->items + i * key->item_size);
    free(groups->items);
    *groups = (struct key_groups){0};
}

static void field_release(const struct key *key, char *field)
{
    switch (key->type) {
    case KEY_TYPE_STRING:
    case KEY_TYPE_SECRET:
        free(*(char **)(void *)field);
        *(char **)(void *)field = NULL;
        break;
    case KEY_TYPE_MAP:
    case KEY_TYPE_SECRETS:
        map_release((struct key_map *)(void *)field);
        break;
    case KEY_TYPE_VALUE:
    case KEY_TYPE_TREE:
        key_value_release((struct key_value *)(void *)field);
        break;
    case KEY_TYPE_LIST:
        list_release((struct key_list *)(void *)field);
        break;
    case KEY_TYPE_GROUP:
        keys_release(key->rows, field);
        break;
    case KEY_TYPE_GROUPS:
        groups_release(key, (struct key_groups *)(void *)field);
        break;
    case KEY_TYPE_END:
    case KEY_TYPE_BOOL:
    case KEY_TYPE_INT:
    case KEY_TYPE_NUMBER:
    case KEY_TYPE_DURATION:
    case KEY_TYPE_CHOICE:
    case KEY_TYPE_IGNORED:
        break;
    }
}

void keys_release(const struct key *table, void *config)
{
    for (const struct key *key = table; key && key->type != KEY_TYPE_END; key++)
        field_release(key, (char *)config + key->offset);
}
