/*
 * Comparisons that need no run, since they cannot fail: of an attribute with a literal, or of a
 * text with a literal string for equality. For lib/ottl alone.
 */
#ifndef LIB_OTTL_PLAIN_H
#define LIB_OTTL_PLAIN_H

#include "lib/ottl/node.h"

enum { OTTL_TERMS = 3 };

/* Fields that are whole numbers, times or durations, and a constant. */
struct ottl_sum {
    struct ottl_term {
        enum edit_level level;
        uint32_t number;
        bool fixed64; /* else a varint or fixed32 */
        bool minus;
    } terms[OTTL_TERMS];
    size_t count;
    __int128 constant;
};

struct ottl_plain {
    enum { PLAIN_ATTRIBUTE, PLAIN_TEXT, PLAIN_SUMS } kind;
    enum ottl_op op;
    enum edit_level level;     /* of the record that it is of */
    uint32_t number;           /* the text's field */
    struct view key;           /* the attribute's */
    bool equality;             /* of an attribute: == or != with a string */
    struct ottl_value literal; /* its bytes are the statement's */
    bool wraps;                /* sums of ints wrap around, as in Go */
    struct ottl_sum sums[2];   /* left and right */
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

/* The same of sums. */
bool ottl_plain_compare_sums(const struct ottl_plain *plain, struct request_edit *at);

/* Whether it holds for the record that the edit stands at. */
static inline __attribute__((always_inline)) bool ottl_plain_holds(const struct ottl_plain *plain,
                                                                   struct request_edit *at)
{
    struct record *record = &at->records[plain->level];
    if (plain->kind == PLAIN_ATTRIBUTE)
        return ottl_plain_of_attribute(plain, record);
    if (plain->kind == PLAIN_SUMS)
        return ottl_plain_compare_sums(plain, at);
    struct view text = record_string(record, plain->number);
    return view_eq_short(text, plain->literal.bytes) == (plain->op == OP_EQ);
}

#endif
