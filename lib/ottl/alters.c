/* What a statement does to one attribute, as far as its text says. */
#include "lib/ottl/function.h"
#include "lib/ottl/path.h"

#include <stdio.h>

/* The attribute, and what was found out; room is for its texts. */
struct look {
    enum edit_level level;
    const struct alterable *what;
    struct view key; /* its key */
    const struct ottl_node *call;
    struct alteration *found;
    char *room;
    size_t room_size;
};

enum has { HAS_NOT, HAS, UNKNOWN };
enum { REWRITTEN_MOST = 4096 };

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

/* Whether it hits all values. */
static bool hits(const struct look *look, bool (*hit)(const struct look *look, struct view text))
{
    const char *const *example = look->what->examples;
    while (example && *example && hit(look, view_of(*example)))
        example++;
    return example && !*example;
}

static bool gives(const struct look *look)
{
    look->found->kind = ALTERATION_GIVES;
    return true;
}

static bool may_give(const struct look *look)
{
    look->found->kind = ALTERATION_MAY_GIVE;
    return true;
}

static bool set_one(const struct look *look)
{
    const struct ottl_node *value = look->call->items[1];
    if (ottl_is_text(value)) {
        snprintf(look->room, look->room_size, "=%.*s", VIEW_ARG(value->value.bytes));
        look->found->to = view_of(look->room);
    }
    return !is_nil(value) && !is_attribute(look, value) && gives(look);
}

/* Whether a node is all attributes of a record around the attribute's. */
static bool is_around(const struct look *look, const struct ottl_node *node)
{
    return node->kind == NODE_PATH && node->field->access == ACCESS_ATTRIBUTES &&
           !node->key_count && ottl_level(node->context) < look->level;
}

static bool set_all(const struct look *look)
{
    const struct ottl_node *value = look->call->items[1];
    enum has has = is_around(look, value) ? HAS_NOT : among(look, value, 2);
    if (is_nil(value) || is_attributes(look, value))
        return false;
    return has == HAS ? gives(look) : has == HAS_NOT ? removes(look) : may_give(look);
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

static bool merge(const struct look *look)
{
    enum has has = among(look, look->call->items[1], 2);
    bool inserts = view_eq(look->call->items[2]->value.bytes, VIEW("insert"));
    return has != HAS_NOT && (has == HAS && !inserts ? gives(look) : may_give(look));
}

static bool is_matched(const struct look *look, struct view text)
{
    return regex_test(look->call->regex, text) == REGEX_YES;
}

static bool replace_matches(const struct look *look)
{
    look->found->verb = "replaces";
    return hits(look, is_matched);
}

/* Whether it becomes another text. What a converter or a path makes of it is not known. */
static bool is_rewritten(const struct look *look, struct view text)
{
    const struct ottl_node *call = look->call, *with = call->items[3];
    struct bytes out;
    if (!ottl_is_text(with) || ottl_has(call, 4))
        return false;
    bytes_init(&out, REWRITTEN_MOST, NULL);
    bool changed = regex_replace(call->regex, text, with->value.bytes, &out) == REGEX_YES &&
                   !view_eq(bytes_view(&out), text);
    bytes_release(&out);
    return changed;
}

static bool replace_patterns(const struct look *look)
{
    if (!view_eq(look->call->items[1]->value.bytes, VIEW("key")))
        return hits(look, is_rewritten) && gives(look);
    look->found->verb = "renames";
    return matches(look);
}

static bool is_cut(const struct look *look, struct view text)
{
    return look->call->items[1]->value.integer < (int64_t)text.size;
}

static bool cut_all(const struct look *look)
{
    size_t longest = 0;
    if (!hits(look, is_cut))
        return false;
    for (const char *const *example = look->what->examples; *example; example++)
        longest = strlen(*example) > longest ? strlen(*example) : longest;
    snprintf(look->room, look->room_size, "set its limit to at least %zu", longest);
    look->found->verb = "cuts";
    look->found->instead = look->what->any_text ? NULL : look->room;
    return true;
}

static bool flatten(const struct look *look)
{
    const struct ottl_node *prefix = ottl_has(look->call, 1) ? look->call->items[1] : NULL;
    look->found->verb = "renames";
    return prefix && ottl_is_text(prefix) && prefix->value.bytes.size;
}

/* What it makes is a list. */
static bool append(const struct look *look)
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
    {"set", true, set_one},
    {"set", false, set_all},
    {"replace_pattern", true, gives},
    {"replace_match", true, gives},
    {"append", true, append},
    {"delete_key", false, delete_key},
    {"delete_matching_keys", false, delete_matching},
    {"keep_matching_keys", false, keep_matching},
    {"keep_keys", false, keep_keys},
    {"merge_maps", false, merge},
    {"replace_all_patterns", false, replace_patterns},
    {"replace_all_matches", false, replace_matches},
    {"truncate_all", false, cut_all},
    {"flatten", false, flatten},
};

/* Whether a condition is true, or false, of any record. */
static bool is_always(const struct ottl_node *node, bool truth)
{
    const struct ottl_node *const *items = (const struct ottl_node *const *)node->items;
    if (node->kind == NODE_LITERAL)
        return node->value.type == TYPE_BOOL && node->value.boolean == truth;
    if (node->kind == NODE_NOT)
        return is_always(items[0], !truth);
    if (node->kind == NODE_COMPARE)
        return items[0]->kind == NODE_LITERAL && items[1]->kind == NODE_LITERAL &&
               ottl_compare(&items[0]->value, &items[1]->value, node->op) == truth;
    if (node->kind != NODE_AND && node->kind != NODE_OR)
        return false;
    bool one = is_always(items[0], truth), other = is_always(items[1], truth);
    return (node->kind == NODE_AND) == truth ? one && other : one || other;
}

bool ottl_always(const struct ottl *ottl)
{
    return !ottl->where || is_always(ottl->where, true);
}

bool ottl_alters(const struct ottl *ottl, enum edit_level level, const struct alterable *what,
                 struct alteration *found, char *room, size_t size)
{
    const struct ottl_node *call = ottl->editor;
    const struct look look = {level, what, view_of(what->key), call, found, room, size};
    if (!call || !ottl_has_target(call->function))
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
