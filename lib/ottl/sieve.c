/* The keys of attributes that a statement looks for. */
#include "lib/ottl/function.h"
#include "lib/ottl/path.h"

static void sieve_node(struct ottl *ottl, struct ottl_node *node);

static void sieve_nodes(struct ottl *ottl, struct ottl_node *const *nodes, size_t from,
                        size_t count)
{
    for (size_t i = from; i < count; i++)
        if (nodes[i])
            sieve_node(ottl, nodes[i]);
}

static void sieve_path(struct ottl *ottl, const struct ottl_node *path)
{
    struct key_sieve *sieve = &ottl->sieves[ottl_level(path->context)];
    if (path->field->access != ACCESS_ATTRIBUTES)
        return;
    if (path->key_count && ottl_is_text(path->keys[0]))
        key_sieve_add(sieve, path->keys[0]->value.bytes);
    else
        sieve->all = true;
}

/* Whether a call edits all attributes of a record, but looks only at those that pass the sieve:
 * what truncate_all cuts is never held back. */
static bool seeks(struct ottl *ottl, const struct ottl_node *call)
{
    const struct ottl_node *target = call->count ? call->items[0] : NULL;
    const struct ottl_node *second = call->count > 1 ? call->items[1] : NULL;
    if (!target || !second || target->kind != NODE_PATH || target->key_count ||
        target->field->access != ACCESS_ATTRIBUTES || second->kind != NODE_LITERAL)
        return false;
    if (view_eq(call->name, VIEW("truncate_all")))
        return second->value.integer >= RECORD_SHORT_MAX;
    if (!view_eq(call->name, VIEW("delete_key")) || !ottl_is_text(second))
        return false;
    key_sieve_add(&ottl->sieves[ottl_level(target->context)], second->value.bytes);
    return true;
}

static void sieve_node(struct ottl *ottl, struct ottl_node *node)
{
    if (node->kind == NODE_PATH)
        sieve_path(ottl, node);
    if (node->kind == NODE_CALL)
        node->seeks = seeks(ottl, node);
    sieve_nodes(ottl, node->items, node->seeks, node->count);
    sieve_nodes(ottl, node->keys, 0, node->key_count);
}

void ottl_sieve_bind(struct ottl *ottl)
{
    bool itself = ottl->editor && !ottl_has_target(ottl->editor->function);
    for (int level = 0; itself && level < EDIT_LEVELS; level++)
        ottl->sieves[level].all = true;
    if (ottl->editor)
        sieve_node(ottl, ottl->editor);
    if (ottl->where)
        sieve_node(ottl, ottl->where);
}

void ottl_sieve(const struct ottl *ottl, struct key_sieve sieves[EDIT_LEVELS])
{
    for (int level = 0; level < EDIT_LEVELS; level++)
        key_sieve_join(&sieves[level], &ottl->sieves[level]);
}
