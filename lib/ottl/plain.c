#include "lib/ottl/plain.h"

#include "lib/ottl/function.h"
#include "lib/ottl/path.h"

bool ottl_plain_bind(const struct ottl_node *node, struct ottl_plain *plain)
{
    const struct ottl_node *path = node->items[0], *literal = node->items[1];
    if (node->kind != NODE_COMPARE || path->kind != NODE_PATH || literal->kind != NODE_LITERAL)
        return false;
    *plain = (struct ottl_plain){
        .level = ottl_level(path->context),
        .of_attribute = path->field->access == ACCESS_ATTRIBUTES,
        .equality = literal->value.type == TYPE_STRING && (node->op == OP_EQ || node->op == OP_NE),
        .op = node->op,
        .number = path->field->number,
        .literal = literal->value,
    };
    if (!plain->of_attribute)
        return plain->equality && path->field->access == ACCESS_STRING && !path->key_count;
    if (path->key_count != 1 || !ottl_is_text(path->keys[0]))
        return false;
    plain->key = path->keys[0]->value.bytes;
    return true;
}

bool ottl_plain_compare(const struct ottl_plain *plain, const struct attribute *item)
{
    struct ottl_value found = ottl_nil();
    if (item) {
        const struct value value = value_read(item->any);
        found = ottl_of_value(&value);
    }
    return ottl_compare(&found, &plain->literal, plain->op);
}
