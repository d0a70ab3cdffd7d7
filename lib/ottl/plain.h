/*
 * Comparisons that need no run, since they cannot fail: of an attribute with a literal, or of a
 * text with a literal string for equality. For lib/ottl alone.
 */
#ifndef LIB_OTTL_PLAIN_H
#define LIB_OTTL_PLAIN_H

#include "lib/ottl/node.h"

struct ottl_plain {
    enum edit_level level; /* of the record that it is of */
    bool of_attribute;     /* of the one with `key`; else of the text in field `number` */
    bool equality;         /* == or != with a string; `op` may be any otherwise */
    enum ottl_op op;
    uint32_t number;
    struct view key;
    struct ottl_value literal; /* its bytes are the statement's */
};

/* Whether a bound comparison is one. */
bool ottl_plain_bind(const struct ottl_node *node, struct ottl_plain *plain);

/* The same of an attribute, which may be of any type; NULL: there is none. */
bool ottl_plain_compare(const struct ottl_plain *plain, const struct attribute *item);

static inline __attribute__((always_inline)) bool
ottl_plain_of_attribute(const struct ottl_plain *plain, struct record *record)
{
    const struct attribute *item = record_find(record, plain->key);
    if (!item && plain->equality)
        return plain->op == OP_NE;
    struct view text = item && plain->equality ? value_short_text(item->any) : (struct view){0};
    if (!text.data)
        return ottl_plain_compare(plain, item);
    return view_eq_short(text, plain->literal.bytes) == (plain->op == OP_EQ);
}

/* Whether it holds for the record that the edit stands at. */
static inline __attribute__((always_inline)) bool ottl_plain_holds(const struct ottl_plain *plain,
                                                                   struct request_edit *at)
{
    struct record *record = &at->records[plain->level];
    if (plain->of_attribute)
        return ottl_plain_of_attribute(plain, record);
    struct view text = record_string(record, plain->number);
    return view_eq_short(text, plain->literal.bytes) == (plain->op == OP_EQ);
}

#endif
