/* Evaluates nodes. */
#include "lib/ottl/function.h"
#include "lib/ottl/path.h"
#include "lib/ottl/plain.h"

#include <stdarg.h>
#include <stdio.h>

struct ottl_value ottl_fail(struct ottl_run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!run->failed)
        vsnprintf(run->error, sizeof run->error, format, args);
    va_end(args);
    run->failed = true;
    return ottl_nil();
}

struct view ottl_keep(struct ottl_run *run, struct view bytes)
{
    uint8_t *copy = arena_array_raw(ottl_arena(run), bytes.size + 1, 1);
    if (copy && bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    if (!copy)
        ottl_fail(run, "out of memory");
    return (struct view){copy, copy ? bytes.size : 0};
}

struct view ottl_keep_text(struct ottl_run *run, const char *text)
{
    return ottl_keep(run, view_of(text));
}

struct ottl_value ottl_of_value(const struct value *value)
{
    static const uint8_t nothing[1];
    struct view bytes = {nothing, 0};
    switch (value->kind) {
    case VALUE_BOOL:
        return ottl_bool(value->boolean);
    case VALUE_INT:
        return ottl_int(value->integer);
    case VALUE_DOUBLE:
        return ottl_double(value->number);
    case VALUE_STRING:
    case VALUE_BYTES:
    case VALUE_LIST:
    case VALUE_MAP:
        if (value->bytes.data)
            bytes = value->bytes;
        return ottl_bytes(value->kind == VALUE_STRING  ? TYPE_STRING
                          : value->kind == VALUE_BYTES ? TYPE_BYTES
                          : value->kind == VALUE_LIST  ? TYPE_LIST
                                                       : TYPE_MAP,
                          bytes);
    case VALUE_EMPTY:
        break;
    }
    return ottl_nil();
}

bool ottl_to_value(const struct ottl_value *from, struct value *to)
{
    switch (from->type) {
    case TYPE_NIL:
        *to = (struct value){0};
        return true;
    case TYPE_BOOL:
        *to = (struct value){.kind = VALUE_BOOL, .boolean = from->boolean};
        return true;
    case TYPE_INT:
        *to = value_int(from->integer);
        return true;
    case TYPE_DOUBLE:
        *to = (struct value){.kind = VALUE_DOUBLE, .number = from->number};
        return true;
    case TYPE_STRING:
    case TYPE_BYTES:
    case TYPE_LIST:
    case TYPE_MAP:
        to->kind = from->type == TYPE_STRING  ? VALUE_STRING
                   : from->type == TYPE_BYTES ? VALUE_BYTES
                   : from->type == TYPE_LIST  ? VALUE_LIST
                                              : VALUE_MAP;
        to->bytes = from->bytes;
        return true;
    case TYPE_TIME:
    case TYPE_DURATION:
    case TYPE_TRACE_ID:
    case TYPE_SPAN_ID:
    case TYPE_MESSAGES:
        break;
    }
    return false;
}

bool ottl_fits(struct ottl_run *run, const struct value *value)
{
    if (!value_is_shallow(value))
        ottl_fail(run, "the value is nested more than %d levels deep", VALUE_MAX_DEPTH);
    return !run->failed;
}

const char *ottl_type_name(enum ottl_type type)
{
    static const char *const names[] = {
        [TYPE_NIL] = "nil",
        [TYPE_BOOL] = "a bool",
        [TYPE_INT] = "an int",
        [TYPE_DOUBLE] = "a double",
        [TYPE_STRING] = "a string",
        [TYPE_BYTES] = "bytes",
        [TYPE_LIST] = "a list",
        [TYPE_MAP] = "a map",
        [TYPE_TIME] = "a time",
        [TYPE_DURATION] = "a duration",
        [TYPE_TRACE_ID] = "a trace id",
        [TYPE_SPAN_ID] = "a span id",
        [TYPE_MESSAGES] = "a list of records",
    };
    return names[type];
}

/* ---- comparing ---- */

static bool ordered(int order, enum ottl_op op)
{
    switch (op) {
    case OP_EQ:
        return order == 0;
    case OP_NE:
        return order != 0;
    case OP_LT:
        return order < 0;
    case OP_LE:
        return order <= 0;
    case OP_GE:
        return order >= 0;
    case OP_GT:
        return order > 0;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
        break;
    }
    return false;
}

static bool compare_numbers(double a, double b, enum ottl_op op)
{
    if (a != a || b != b) /* NaN is not equal to, less or greater than anything */
        return op == OP_NE;
    return ordered((a > b) - (a < b), op);
}

static bool is_number(const struct ottl_value *value)
{
    return value->type == TYPE_INT || value->type == TYPE_DOUBLE;
}

static double number_of(const struct ottl_value *value)
{
    return value->type == TYPE_INT ? (double)value->integer : value->number;
}

bool ottl_compare(const struct ottl_value *a, const struct ottl_value *b, enum ottl_op op)
{
    struct value x, y;
    if (a->type == TYPE_NIL && b->type == TYPE_NIL)
        return op == OP_EQ || op == OP_LE || op == OP_GE;
    if (is_number(a) && is_number(b) && a->type != b->type)
        return compare_numbers(number_of(a), number_of(b), op);
    if (a->type != b->type)
        return op == OP_NE;
    switch (a->type) {
    case TYPE_BOOL:
        return ordered((int)a->boolean - (int)b->boolean, op);
    case TYPE_TIME:
        if (a->integer == b->integer)
            return ordered((a->nanos > b->nanos) - (a->nanos < b->nanos), op);
        return ordered(a->integer > b->integer ? 1 : -1, op);
    case TYPE_INT:
    case TYPE_DURATION:
        return ordered((a->integer > b->integer) - (a->integer < b->integer), op);
    case TYPE_DOUBLE:
        return compare_numbers(a->number, b->number, op);
    case TYPE_STRING:
    case TYPE_BYTES:
        return ordered(view_order(a->bytes, b->bytes), op);
    case TYPE_TRACE_ID:
    case TYPE_SPAN_ID:
        return op == OP_EQ ? view_eq(a->bytes, b->bytes)
                           : op == OP_NE && !view_eq(a->bytes, b->bytes);
    case TYPE_LIST:
    case TYPE_MAP:
        ottl_to_value(a, &x);
        ottl_to_value(b, &y);
        return op == OP_EQ ? value_equal(&x, &y) : op == OP_NE && !value_equal(&x, &y);
    case TYPE_NIL:
    case TYPE_MESSAGES:
        break;
    }
    return false;
}

/* ---- arithmetic ---- */

static struct ottl_value math_int(struct ottl_run *run, int64_t a, int64_t b, enum ottl_op op)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b; /* they wrap around, as in Go */
    switch ((int)op) {
    case OP_ADD:
        return ottl_int((int64_t)(x + y));
    case OP_SUB:
        return ottl_int((int64_t)(x - y));
    case OP_MUL:
        return ottl_int((int64_t)(x * y));
    default:
        break;
    }
    if (b == 0)
        return ottl_fail(run, "division by zero");
    return ottl_int(b == -1 ? (int64_t)(0 - x) : a / b);
}

static struct ottl_value math_double(struct ottl_run *run, double a, double b, enum ottl_op op)
{
    switch ((int)op) {
    case OP_ADD:
        return ottl_double(a + b);
    case OP_SUB:
        return ottl_double(a - b);
    case OP_MUL:
        return ottl_double(a * b);
    default:
        break;
    }
    return b == 0 ? ottl_fail(run, "division by zero") : ottl_double(a / b);
}

/* Adds and subtracts times and durations. */
static struct ottl_value math_time(struct ottl_run *run, const struct ottl_value *a,
                                   const struct ottl_value *b, enum ottl_op op)
{
    bool times = a->type == TYPE_TIME && b->type == TYPE_TIME;
    bool sum = op == OP_ADD && !times &&
               (a->type == TYPE_TIME || b->type == TYPE_TIME || b->type == TYPE_DURATION);
    bool timed = (a->type == TYPE_TIME || a->type == TYPE_DURATION) &&
                 (b->type == TYPE_TIME || b->type == TYPE_DURATION);
    bool difference = op == OP_SUB && !(a->type == TYPE_DURATION && b->type == TYPE_TIME);
    if (!timed || (!sum && !difference))
        return ottl_fail(run, "unsupported arithmetic on %s and %s", ottl_type_name(a->type),
                         ottl_type_name(b->type));
    const __int128 x = ottl_nanos(a), y = ottl_nanos(b), made = op == OP_ADD ? x + y : x - y;
    bool time = op == OP_ADD ? a->type == TYPE_TIME || b->type == TYPE_TIME
                             : a->type == TYPE_TIME && b->type == TYPE_DURATION;
    if (time)
        return ottl_time_at(made, a->type == TYPE_TIME ? a->zone : b->zone);
    const bool less = made < INT64_MIN;
    const bool more = made > INT64_MAX;
    if (!times && (less || more))
        return ottl_fail(run, "the duration is longer than 292 years");
    return (struct ottl_value){.type = TYPE_DURATION, /* between times, the longest, as in Go */
                               .integer = less   ? INT64_MIN
                                          : more ? INT64_MAX
                                                 : (int64_t)made};
}

static struct ottl_value math(const struct ottl_node *node, struct ottl_run *run)
{
    struct ottl_value a = ottl_node_eval(node->items[0], run);
    struct ottl_value b = ottl_node_eval(node->items[1], run);
    if (run->failed)
        return ottl_nil();
    if (a.type == TYPE_INT && b.type == TYPE_INT)
        return math_int(run, a.integer, b.integer, node->op);
    if (is_number(&a) && is_number(&b))
        return math_double(run, number_of(&a), number_of(&b), node->op);
    return math_time(run, &a, &b, node->op);
}

static struct ottl_value negate(const struct ottl_node *node, struct ottl_run *run)
{
    struct ottl_value value = ottl_node_eval(node->items[0], run);
    if (run->failed)
        return ottl_nil();
    if (value.type == TYPE_INT)
        return ottl_int((int64_t)(0 - (uint64_t)value.integer));
    if (value.type == TYPE_DOUBLE)
        return ottl_double(-value.number);
    return ottl_fail(run, "cannot negate %s", ottl_type_name(value.type));
}

/* ---- lists, maps, indexes ---- */

static struct ottl_value kept_container(struct ottl_run *run, struct bytes *out, bool ok,
                                        enum ottl_type type)
{
    struct ottl_value made = ottl_nil();
    if (!ok && !run->failed)
        ottl_fail(run, "out of memory");
    if (ok)
        made = ottl_bytes(type, ottl_keep(run, bytes_view(out)));
    bytes_release(out);
    return made;
}

static struct ottl_value list_of(const struct ottl_node *node, struct ottl_run *run)
{
    struct bytes out;
    bool ok = true;
    bytes_init(&out, (size_t)16 << 20, NULL);
    for (size_t i = 0; ok && i < node->count; i++) {
        struct ottl_value item = ottl_node_eval(node->items[i], run);
        struct value value;
        ok = !run->failed && ottl_to_value(&item, &value);
        if (!ok && !run->failed)
            ottl_fail(run, "a list cannot hold %s", ottl_type_name(item.type));
        ok = ok && value_append(&out, &value);
    }
    return kept_container(run, &out, ok, TYPE_LIST);
}

static struct ottl_value map_of(const struct ottl_node *node, struct ottl_run *run)
{
    struct attributes list;
    attributes_read(&list, VIEW(""), 1, ottl_arena(run));
    for (size_t i = 0; i + 1 < node->count; i += 2) {
        struct ottl_value item = ottl_node_eval(node->items[i + 1], run);
        struct value value;
        if (run->failed)
            return ottl_nil();
        if (!ottl_to_value(&item, &value))
            return ottl_fail(run, "a map cannot hold %s", ottl_type_name(item.type));
        attributes_set(&list, node->items[i]->value.bytes, &value);
    }
    struct value map = attributes_map(&list);
    return list.failed || !map.bytes.data ? ottl_fail(run, "out of memory")
                                          : ottl_bytes(TYPE_MAP, map.bytes);
}

static struct ottl_value at_index(struct ottl_run *run, struct view list, int64_t index)
{
    struct proto_scan scan = proto_scan_begin(list);
    struct value value;
    for (int64_t i = 0; index >= 0 && value_next(&scan, &value); i++)
        if (i == index)
            return ottl_of_value(&value);
    return ottl_fail(run, "index %lld is out of range", (long long)index);
}

struct ottl_value ottl_index(struct ottl_value value, struct ottl_node *const *keys, size_t count,
                             bool whole, struct ottl_run *run)
{
    for (size_t i = 0; i < count && !run->failed; i++) {
        struct ottl_value key = ottl_node_eval(keys[i], run);
        struct attributes list;
        struct value inner;
        if (value.type == TYPE_MAP && key.type == TYPE_STRING) {
            attributes_read(&list, value.bytes, 1, ottl_arena(run));
            if (!attributes_get(&list, key.bytes, &inner))
                return whole ? ottl_fail(run, "key %.*s is not in the map", VIEW_ARG(key.bytes))
                             : ottl_nil();
            value = ottl_of_value(&inner);
        } else if (value.type == TYPE_LIST && key.type == TYPE_INT) {
            value = at_index(run, value.bytes, key.integer);
        } else {
            return ottl_fail(run, "%s cannot be indexed by %s", ottl_type_name(value.type),
                             ottl_type_name(key.type));
        }
    }
    return run->failed ? ottl_nil() : value;
}

/* ---- nodes ---- */

static __attribute__((noinline)) bool holds(const struct ottl_node *node,
                                            const struct ottl_run *run)
{
    return ottl_plain_holds(node->plain, run->at);
}

static __attribute__((noinline)) bool run_truth(const struct ottl_node *node, struct ottl_run *run)
{
    struct ottl_value value = ottl_node_eval(node, run);
    if (!run->failed && value.type != TYPE_BOOL)
        ottl_fail(run, "a condition returned %s, expected a bool", ottl_type_name(value.type));
    return !run->failed && value.boolean;
}

static inline bool truth(const struct ottl_node *node, struct ottl_run *run)
{
    return node->plain ? holds(node, run) : run_truth(node, run);
}

struct ottl_value ottl_node_compute(const struct ottl_node *node, struct ottl_run *run)
{
    struct ottl_value a, b;
    switch (node->kind) {
    case NODE_CALL:
        a = node->function->fn(run, node);
        return node->key_count ? ottl_index(a, node->keys, node->key_count, true, run) : a;
    case NODE_MATH:
        return math(node, run);
    case NODE_NEGATE:
        return negate(node, run);
    case NODE_COMPARE:
        if (node->plain)
            return ottl_bool(holds(node, run));
        a = ottl_node_eval(node->items[0], run);
        b = ottl_node_eval(node->items[1], run);
        return ottl_bool(!run->failed && ottl_compare(&a, &b, node->op));
    case NODE_AND:
        return ottl_bool(truth(node->items[0], run) && truth(node->items[1], run));
    case NODE_OR:
        return ottl_bool(truth(node->items[0], run) ||
                         (!run->failed && truth(node->items[1], run)));
    case NODE_NOT:
        return ottl_bool(!truth(node->items[0], run));
    case NODE_LIST_OF:
        return list_of(node, run);
    case NODE_MAP_OF:
        return map_of(node, run);
    case NODE_LITERAL:
    case NODE_PATH:
    case NODE_ENUM:
    case NODE_FUNCTION:
        break;
    }
    return ottl_nil();
}

void ottl_run_begin(struct ottl_run *run, struct request_edit *at, enum ottl_context context,
                    const struct clock *clock)
{
    run->at = at;
    run->context = context;
    run->clock = clock;
    run->cache = (struct attributes){.arena = at->splice->arena, .list = 1};
    run->failed = false;
    run->error[0] = '\0';
}

/* Whether an edit of a list lacked memory and lost nothing; the list can be edited again then. */
static inline bool lacked_room(struct attributes *list)
{
    if (!list->failed || list->partial)
        return false;
    list->failed = false;
    return true;
}

/* After an editor that lacked room. Where what it makes was too large for it and it changed
 * nothing, that is an error of this statement alone. */
static __attribute__((noinline)) void forgive(struct record *record, bool failed_before,
                                              struct ottl_run *run)
{
    bool failed = record->failed && !failed_before;
    record->failed = failed_before;
    if (lacked_room(&run->cache))
        failed = true;
    if (record->read && lacked_room(&record->attributes))
        failed = true;
    if (failed && !run->failed)
        ottl_fail(run, "out of memory");
}

static inline void edit(const struct ottl *ottl, struct ottl_run *run)
{
    struct record *record = &run->at->records[ottl->edited];
    const bool failed_before = record->failed;
    ottl->editor->function->fn(run, ottl->editor);
    if (record->failed || run->cache.failed || record->attributes.failed)
        forgive(record, failed_before, run);
}

enum ottl_result ottl_eval(const struct ottl *ottl, struct ottl_run *run)
{
    run->failed = false;
    bool holds = !ottl->where || truth(ottl->where, run);
    if (holds && !run->failed && ottl->editor)
        edit(ottl, run);
    /* What lacked memory may have been done in part: the edit is given up. */
    if (ottl_arena(run)->full)
        run->at->splice->failed = true;
    if (run->failed || run->at->splice->failed)
        return OTTL_ERROR;
    return holds ? OTTL_YES : OTTL_NO;
}
