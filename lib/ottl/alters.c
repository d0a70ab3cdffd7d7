/* What a statement does to one attribute, as far as its text says. */
#include "lib/ottl/function.h"
#include "lib/ottl/path.h"

#include <stdio.h>

/* The attribute, and what was found out; room is for its texts. */
struct look {
    enum edit_level level;
    struct view key;
    const struct ottl_node *call;
    struct alteration *found;
    char *room;
    size_t room_size;
};

enum has { HAS_NOT, HAS, UNKNOWN };

static bool is_attributes(const struct look *look, const struct ottl_node *node)
{
    return node->kind == NODE_PATH && node->field->access == ACCESS_ATTRIBUTES &&
           ottl_level(node->context) == look->level;
}

/* Whether a node is the path of the attribute. */
static bool is_attribute(const struct look *look, const struct ottl_node *node)
{
    return is_attributes(look, node) && node->key_count == 1 && ottl_is_text(node->keys[0]) &&
           view_eq(node->keys[0]->value.bytes, look->key);
}

static bool is_nil(const struct ottl_node *node)
{
    return node->kind == NODE_LITERAL && node->value.type == TYPE_NIL;
}

/* Whether the key is among texts in brackets, or among the keys of a map in braces (step 2). */
static enum has among(const struct look *look, const struct ottl_node *list, size_t step)
{
    enum has has = HAS_NOT;
    if (list->kind != (step == 1 ? NODE_LIST_OF : NODE_MAP_OF))
        return UNKNOWN;
    for (size_t i = 0; i < list->count; i += step)
        if (!ottl_is_text(list->items[i]))
            has = UNKNOWN;
        else if (view_eq(list->items[i]->value.bytes, look->key))
            return HAS;
    return has;
}

static bool removes(const struct look *look)
{
    look->found->verb = "removes";
    look->found->to = ALTERATION_REMOVED;
    return true;
}

/* The same with what to change in the statement. */
static bool lacks(const struct look *look, const char *where)
{
    snprintf(look->room, look->room_size, "add %.*s to %s", VIEW_ARG(look->key), where);
    look->found->instead = look->room;
    return removes(look);
}

static bool matches(const struct look *look)
{
    return regex_test(look->call->regex, look->key) == REGEX_YES;
}

static bool set(const struct look *look)
{
    const struct ottl_node *target = look->call->items[0], *value = look->call->items[1];
    if (is_attribute(look, target)) {
        if (ottl_is_text(value)) {
            snprintf(look->room, look->room_size, "=%.*s", VIEW_ARG(value->value.bytes));
            look->found->to = view_of(look->room);
        }
        return !is_nil(value) && !is_attribute(look, value);
    }
    if (target->key_count)
        return false;
    enum has has = among(look, value, 2);
    return has == HAS || (has == HAS_NOT && removes(look));
}

static bool delete_key(const struct look *look)
{
    const struct ottl_node *key = look->call->items[1];
    return ottl_is_text(key) && view_eq(key->value.bytes, look->key) && removes(look);
}

static bool delete_matching(const struct look *look)
{
    return matches(look) && removes(look);
}

static bool keep_matching(const struct look *look)
{
    return !matches(look) && lacks(look, "its pattern");
}

static bool keep_keys(const struct look *look)
{
    return among(look, look->call->items[1], 1) == HAS_NOT && lacks(look, "its keys");
}

static bool limit(const struct look *look)
{
    const struct view statement = look->found->to;
    bool found =
        among(look, look->call->items[2], 1) == HAS_NOT && lacks(look, "its priority keys");
    if (found) {
        look->found->verb = "may remove";
        look->found->to = statement;
    }
    return found;
}

static bool merge(const struct look *look)
{
    return among(look, look->call->items[1], 2) == HAS &&
           !view_eq(look->call->items[2]->value.bytes, VIEW("insert"));
}

static bool replace_keys(const struct look *look)
{
    bool keys = view_eq(look->call->items[1]->value.bytes, VIEW("key"));
    look->found->verb = "renames";
    return keys && matches(look);
}

static bool flatten(const struct look *look)
{
    const struct ottl_node *prefix = ottl_has(look->call, 1) ? look->call->items[1] : NULL;
    look->found->verb = "renames";
    return prefix && ottl_is_text(prefix) && prefix->value.bytes.size;
}

static bool always(const struct look *look)
{
    (void)look;
    return true;
}

/* Editors of all attributes, and of one. */
static const struct {
    const char *name;
    bool of_one;
    bool (*alters)(const struct look *look);
} editors[] = {
    {"set", true, set},
    {"set", false, set},
    {"replace_pattern", true, always},
    {"replace_match", true, always},
    {"append", true, always},
    {"delete_key", false, delete_key},
    {"delete_matching_keys", false, delete_matching},
    {"keep_matching_keys", false, keep_matching},
    {"keep_keys", false, keep_keys},
    {"limit", false, limit},
    {"merge_maps", false, merge},
    {"replace_all_patterns", false, replace_keys},
    {"flatten", false, flatten},
};

bool ottl_alters(const struct ottl *ottl, enum edit_level level, struct view key,
                 struct alteration *found, char *room, size_t size)
{
    const struct ottl_node *call = ottl->editor;
    const struct look look = {level, key, call, found, room, size};
    if (ottl->where || !call || !ottl_has_target(call->function))
        return false;
    const struct ottl_node *target = call->items[0];
    bool one = is_attribute(&look, target);
    *found = (struct alteration){.verb = "changes", .to = view_trim(ottl_text(ottl), VIEW_SPACE)};
    if (!one && (!is_attributes(&look, target) || target->key_count))
        return false;
    for (size_t i = 0; i < sizeof editors / sizeof *editors; i++)
        if (editors[i].of_one == one && strcmp(editors[i].name, call->function->name) == 0)
            return editors[i].alters(&look);
    return false;
}
