#include "lib/settings/node.h"

#include <stdlib.h>
#include <string.h>

const struct node *node_get(const struct node *map, const char *key)
{
    if (!map || map->kind != NODE_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->items[i]->key, key) == 0)
            return map->items[i];
    return NULL;
}

static bool node_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool node_equal(const struct node *a, const struct node *b)
{
    if (a->kind != b->kind || a->count != b->count || a->quoted != b->quoted ||
        a->unset != b->unset || !node_same_text(a->key, b->key) ||
        !node_same_text(a->text, b->text) || !node_same_text(a->original, b->original))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!node_equal(a->items[i], b->items[i]))
            return false;
    return true;
}

const char *node_string(const struct node *node)
{
    if (node->original)
        return node->original;
    if (node->kind == NODE_SCALAR)
        return node->text;
    return node->kind == NODE_NULL ? "" : NULL;
}

unsigned node_column(const struct node *scalar, size_t at)
{
    unsigned column = scalar->column;
    for (size_t i = 0; i < at; i++)
        column += (scalar->text[i] & 0xc0) != 0x80;
    return column;
}

const char *node_kind_words(const struct node *node)
{
    static const char *const words[] = {
        [NODE_NULL] = "nothing",
        [NODE_SCALAR] = "a scalar",
        [NODE_MAP] = "a map",
        [NODE_LIST] = "a list",
    };
    return words[node->kind];
}

/* Keys may contain dots, so the longest match wins. */
static const struct node *longest_step(const struct node *map, const char *path, size_t *size)
{
    const struct node *best = NULL;
    *size = 0;
    for (size_t i = 0; map->kind == NODE_MAP && i < map->count; i++) {
        const char *key = map->items[i]->key;
        size_t n = strlen(key);
        bool fits = strncmp(path, key, n) == 0 && (path[n] == '\0' || strchr(".[", path[n]));
        if (fits && (!best || n > *size)) {
            best = map->items[i];
            *size = n;
        }
    }
    return best;
}

/* Removes "[1]" from the path and returns that item of a list. */
static const struct node *item_step(const struct node *list, const char **path)
{
    char *end;
    if (**path != '[' || list->kind != NODE_LIST)
        return list;
    unsigned long index = strtoul(*path + 1, &end, 10);
    if (*end != ']' || index >= list->count)
        return list;
    *path = end + 1;
    return list->items[index];
}

const struct node *node_nearest(const struct node *map, const char *path)
{
    const struct node *at = map;
    while (at && path && *path) {
        size_t size;
        const struct node *next = longest_step(at, path, &size);
        if (!next)
            break;
        path += size;
        at = item_step(next, &path);
        path += *path == '.';
    }
    return at;
}
