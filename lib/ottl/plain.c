#include "lib/ottl/plain.h"

#include "lib/ottl/function.h"
#include "lib/ottl/path.h"

/* ---- binding ---- */

static enum ottl_type type_of_path(const struct ottl_node *path)
{
    if (path->key_count || path->context == OTTL_DATAPOINT) /* whose fields depend on its kind */
        return TYPE_NIL;
    switch ((int)path->field->access) {
    case ACCESS_TIME:
        return TYPE_TIME;
    case ACCESS_NANOS:
    case ACCESS_VARINT:
    case ACCESS_FIXED32:
        return TYPE_INT;
    default:
        return TYPE_NIL;
    }
}

static enum ottl_type type_of(const struct ottl_node *node);

static enum ottl_type type_of_math(const struct ottl_node *node)
{
    const enum ottl_type a = type_of(node->items[0]), b = type_of(node->items[1]);
    const bool sum = node->op == OP_ADD, difference = node->op == OP_SUB;
    if (a == TYPE_INT && b == TYPE_INT)
        return sum || difference ? TYPE_INT : TYPE_NIL;
    if (difference && a == b)
        return a == TYPE_NIL ? TYPE_NIL : TYPE_DURATION;
    if ((sum || difference) && a == TYPE_TIME && b == TYPE_DURATION)
        return TYPE_TIME;
    return TYPE_NIL;
}

/* INT, TIME or DURATION of what evaluates to it whatever the record; NIL: of all else. */
static enum ottl_type type_of(const struct ottl_node *node)
{
    switch ((int)node->kind) {
    case NODE_LITERAL:
        return node->value.type == TYPE_INT || node->value.type == TYPE_DURATION ? node->value.type
                                                                                 : TYPE_NIL;
    case NODE_PATH:
        return type_of_path(node);
    case NODE_MATH:
        return type_of_math(node);
    default:
        return TYPE_NIL;
    }
}

static bool add_term(struct ottl_sum *sum, const struct ottl_node *path, bool minus)
{
    const enum ottl_access access = path->field->access;
    if (sum->count == OTTL_TERMS)
        return false;
    sum->terms[sum->count++] = (struct ottl_term){
        .level = ottl_level(path->context),
        .number = path->field->number,
        .fixed64 = access == ACCESS_TIME || access == ACCESS_NANOS,
        .minus = minus,
    };
    return true;
}

/* Adds what has a type. False: it has too many terms. */
static bool add_terms(struct ottl_sum *sum, const struct ottl_node *node, bool minus)
{
    if (node->kind == NODE_PATH)
        return add_term(sum, node, minus);
    if (node->kind == NODE_MATH)
        return add_terms(sum, node->items[0], minus) &&
               add_terms(sum, node->items[1], minus != (node->op == OP_SUB));
    const __int128 constant = node->value.integer;
    sum->constant += minus ? -constant : constant;
    return true;
}

static bool bind_sums(const struct ottl_node *node, struct ottl_plain *plain)
{
    const enum ottl_type type = type_of(node->items[0]);
    *plain = (struct ottl_plain){.kind = PLAIN_SUMS, .op = node->op, .wraps = type == TYPE_INT};
    return type != TYPE_NIL && type_of(node->items[1]) == type &&
           add_terms(&plain->sums[0], node->items[0], false) &&
           add_terms(&plain->sums[1], node->items[1], false);
}

bool ottl_plain_bind(const struct ottl_node *node, struct ottl_plain *plain)
{
    const struct ottl_node *path = node->items[0], *literal = node->items[1];
    const bool named = path->kind == NODE_PATH && literal->kind == NODE_LITERAL;
    const bool attribute = named && path->field->access == ACCESS_ATTRIBUTES;
    if (!attribute && !(named && path->field->access == ACCESS_STRING))
        return bind_sums(node, plain);
    *plain = (struct ottl_plain){
        .kind = attribute ? PLAIN_ATTRIBUTE : PLAIN_TEXT,
        .level = ottl_level(path->context),
        .equality = literal->value.type == TYPE_STRING && (node->op == OP_EQ || node->op == OP_NE),
        .op = node->op,
        .number = path->field->number,
        .literal = literal->value,
    };
    if (!attribute)
        return plain->equality && !path->key_count;
    if (path->key_count != 1 || !ottl_is_text(path->keys[0]))
        return false;
    plain->key = path->keys[0]->value.bytes;
    return true;
}

/* ---- evaluating ---- */

__attribute__((noinline)) bool ottl_plain_compare(const struct ottl_plain *plain,
                                                  const struct attribute *item)
{
    struct ottl_value found = ottl_nil();
    if (item) {
        const struct value value = value_read(item->any);
        found = ottl_of_value(&value);
    }
    return ottl_compare(&found, &plain->literal, plain->op);
}

static inline __int128 sum_of(const struct ottl_sum *sum, const struct request_edit *at)
{
    __int128 all = sum->constant;
    for (const struct ottl_term *term = sum->terms; term < sum->terms + sum->count; term++) {
        const struct record *record = &at->records[term->level];
        struct proto_field field;
        int64_t value = 0;
        if (term->fixed64)
            value = (int64_t)record_fixed64(record, term->number);
        else if (record_get(record, term->number, &field))
            value = (int64_t)field.value;
        all += term->minus ? -(__int128)value : value;
    }
    return all;
}

__attribute__((noinline)) bool ottl_plain_compare_sums(const struct ottl_plain *plain,
                                                       struct request_edit *at)
{
    __int128 a = sum_of(&plain->sums[0], at), b = sum_of(&plain->sums[1], at);
    if (plain->wraps) {
        a = (int64_t)a;
        b = (int64_t)b;
    }
    switch ((int)plain->op) {
    case OP_EQ:
        return a == b;
    case OP_NE:
        return a != b;
    case OP_LT:
        return a < b;
    case OP_LE:
        return a <= b;
    case OP_GE:
        return a >= b;
    default:
        return a > b;
    }
}
