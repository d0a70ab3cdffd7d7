#include "lib/settings/tree.h"

#include <string.h>

struct node *tree_copy(struct arena *arena, const struct node *node)
{
    struct node *copy = arena_alloc(arena, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *node;
    if (node->count == 0)
        return copy;
    copy->items = arena_array(arena, node->count, sizeof *copy->items);
    if (!copy->items)
        return NULL;
    for (size_t i = 0; i < node->count; i++) {
        copy->items[i] = tree_copy(arena, node->items[i]);
        if (!copy->items[i])
            return NULL;
    }
    return copy;
}

bool tree_append(struct arena *arena, struct node *parent, struct node *item, size_t *room)
{
    if (*room == 0) {
        size_t size = parent->count ? 2 * parent->count : 4;
        struct node **items = arena_array(arena, size, sizeof *items);
        if (!items)
            return false;
        if (parent->count)
            memcpy(items, parent->items, parent->count * sizeof *items);
        parent->items = items;
        *room = size - parent->count;
    }
    parent->items[parent->count++] = item;
    --*room;
    return true;
}

static struct node **slot_of(const struct node *map, const char *key)
{
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->items[i]->key, key) == 0)
            return &map->items[i];
    return NULL;
}

bool tree_merge(struct arena *arena, struct node *base, const struct node *over)
{
    size_t room = 0;
    for (size_t i = 0; i < over->count; i++) {
        struct node *item = over->items[i];
        struct node **slot = slot_of(base, item->key);
        if (!slot) {
            if (!tree_append(arena, base, item, &room))
                return false;
        } else if ((*slot)->kind == NODE_MAP && item->kind == NODE_MAP) {
            if (!tree_merge(arena, *slot, item))
                return false;
        } else {
            *slot = item;
        }
    }
    return true;
}

static struct node *settings_tree_wrap(struct arena *arena, const char *path, const char *separator,
                                       struct node *value)
{
    const char *end = strstr(path, separator);
    size_t size = end ? (size_t)(end - path) : strlen(path);
    struct node *inner =
        end ? settings_tree_wrap(arena, end + strlen(separator), separator, value) : value;
    struct node *map = arena_alloc(arena, sizeof *map);
    size_t room = 0;
    if (!map || !inner)
        return NULL;
    *map = (struct node){.kind = NODE_MAP, .file = value->file, .line = value->line};
    inner->key = arena_text(arena, (struct view){(const uint8_t *)path, size});
    return inner->key && tree_append(arena, map, inner, &room) ? map : NULL;
}

struct node *tree_wrap(struct arena *arena, const char *path, const char *separator,
                       struct node *value)
{
    unsigned steps = 0;
    for (const char *at = path; (at = strstr(at, separator)); at += strlen(separator))
        if (++steps == TREE_DEPTH_MAX)
            return NULL;
    return settings_tree_wrap(arena, path, separator, value);
}

unsigned tree_depth(const struct node *node)
{
    unsigned deepest = 0;
    for (size_t i = 0; i < node->count; i++) {
        unsigned depth = tree_depth(node->items[i]);
        if (depth > deepest)
            deepest = depth;
    }
    return deepest + 1;
}
