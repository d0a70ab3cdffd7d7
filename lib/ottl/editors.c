/* Editors of maps, strings and lists. */
#include "lib/ottl/target.h"

#include "lib/wire/proto/text.h"

#include <stdio.h>

/* ---- keys ---- */

static struct ottl_value set(struct ottl_run *run, const struct ottl_node *call)
{
    if (ottl_path_keeps(call->items[0], call->items[1]))
        return ottl_nil();
    struct ottl_value value = ottl_arg(run, call, 1);
    if (!run->failed && value.type != TYPE_NIL)
        ottl_path_set(call->items[0], run, &value);
    return ottl_nil();
}

static struct ottl_value delete_key(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    struct view key = ottl_arg_string(run, call, 1);
    if (run->failed || !target_open(&target, run, call))
        return ottl_nil();
    attributes_delete(target.list, key);
    return target_close(&target, run);
}

static struct ottl_value by_pattern(struct ottl_run *run, const struct ottl_node *call, bool keep)
{
    struct target target;
    if (!target_open(&target, run, call))
        return ottl_nil();
    for (size_t i = 0; i < target.list->count; i++) {
        struct attribute *item = &target.list->items[i];
        if (item->gone)
            continue;
        enum regex_result found = regex_test(call->regex, item->key);
        if (found == REGEX_LIMIT)
            return ottl_fail(run, "the match exceeded its limits");
        if ((found == REGEX_YES) != keep)
            attributes_remove(target.list, item);
    }
    return target_close(&target, run);
}

static struct ottl_value delete_matching_keys(struct ottl_run *run, const struct ottl_node *call)
{
    return by_pattern(run, call, false);
}

static struct ottl_value keep_matching_keys(struct ottl_run *run, const struct ottl_node *call)
{
    return by_pattern(run, call, true);
}

/* The strings of a list, as keys. */
static struct attributes texts(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    struct ottl_value keys = ottl_arg(run, call, i);
    struct proto_scan scan = proto_scan_begin(keys.type == TYPE_LIST ? keys.bytes : VIEW(""));
    struct attributes list;
    struct value value;
    attributes_read(&list, VIEW(""), 1, ottl_arena(run));
    if (!run->failed && keys.type != TYPE_LIST && ottl_has(call, i))
        ottl_fail(run, "%s takes a list of strings", call->function->name);
    while (value_next(&scan, &value))
        if (value.kind == VALUE_STRING)
            attributes_add(&list, value.bytes, VIEW(""));
    if (list.failed)
        ottl_fail(run, "out of memory");
    return list;
}

static const char *check_keys(const struct ottl_node *call)
{
    return call->items[1]->kind == NODE_LITERAL ? "expected a list of keys" : NULL;
}

static struct ottl_value keep_keys(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    struct attributes keys = texts(run, call, 1);
    if (run->failed || !target_open(&target, run, call))
        return ottl_nil();
    for (size_t i = 0; i < target.list->count; i++) {
        struct attribute *item = &target.list->items[i];
        if (!item->gone && !attributes_find(&keys, item->key))
            attributes_remove(target.list, item);
    }
    return target_close(&target, run);
}

static int64_t literal_int(const struct ottl_node *call, size_t i)
{
    bool is = ottl_has(call, i) && call->items[i]->kind == NODE_LITERAL &&
              call->items[i]->value.type == TYPE_INT;
    return is ? call->items[i]->value.integer : -1;
}

static const char *check_limit(const struct ottl_node *call)
{
    int64_t limit = literal_int(call, 1);
    const struct ottl_node *keys = ottl_has(call, 2) ? call->items[2] : NULL;
    if (limit < 0)
        return "the limit must be a non-negative integer";
    if (!keys || keys->kind != NODE_LIST_OF)
        return "expected a list of priority keys";
    return (int64_t)keys->count > limit ? "more priority keys than the limit" : NULL;
}

static struct ottl_value limit(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    size_t most = (size_t)literal_int(call, 1), count = 0;
    struct attributes first = texts(run, call, 2);
    if (run->failed || !target_open(&target, run, call))
        return ottl_nil();
    if (attributes_count(target.list) <= most)
        return ottl_nil();
    for (size_t i = 0; i < first.count; i++)
        count += attributes_find(target.list, first.items[i].key) != NULL;
    for (size_t i = 0; i < target.list->count; i++) {
        struct attribute *item = &target.list->items[i];
        if (item->gone || attributes_find(&first, item->key))
            continue;
        if (count++ >= most)
            attributes_remove(target.list, item);
    }
    return target_close(&target, run);
}

/* ---- merging ---- */

static const char *check_strategy(const struct ottl_node *call)
{
    static const char *const names[] = {"insert", "update", "upsert"};
    const struct ottl_node *strategy = call->items[2];
    for (int i = 0; strategy->kind == NODE_LITERAL && i < 3; i++)
        if (view_eq(strategy->value.bytes, view_of(names[i])))
            return NULL;
    return "expected the strategy insert, update or upsert";
}

static struct ottl_value merge_maps(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    struct attributes from;
    struct view strategy = call->items[2]->value.bytes;
    bool inserts = !view_eq(strategy, VIEW("update")), updates = !view_eq(strategy, VIEW("insert"));
    struct ottl_value source = ottl_arg(run, call, 1);
    if (!run->failed && source.type != TYPE_MAP)
        return ottl_fail(run, "merge_maps takes a map, not %s", ottl_type_name(source.type));
    struct value map = {.kind = VALUE_MAP, .bytes = source.bytes};
    if (run->failed || !ottl_fits(run, &map) || !target_open(&target, run, call))
        return ottl_nil();
    attributes_read(&from, source.bytes, 1, ottl_arena(run));
    for (size_t i = 0; i < from.count; i++) {
        struct value value = value_read(from.items[i].any);
        bool there = attributes_find(target.list, from.items[i].key);
        if (there ? updates : inserts)
            attributes_set(target.list, from.items[i].key, &value);
    }
    return from.failed ? ottl_fail(run, "out of memory") : target_close(&target, run);
}

/* ---- strings ---- */

static const char *check_truncate(const struct ottl_node *call)
{
    return literal_int(call, 1) < 0 ? "the limit must be a non-negative integer" : NULL;
}

/* Evaluates the arguments that may be left out. False: the run has failed. */
static bool check_marker(struct ottl_run *run, const struct ottl_node *call)
{
    (void)ottl_arg(run, call, 2);
    struct view marker = ottl_has(call, 3) ? ottl_arg_string(run, call, 3) : VIEW("");
    if (!run->failed && marker.size > (size_t)literal_int(call, 1))
        ottl_fail(run, "the marker of truncate_all is longer than its limit");
    return !run->failed;
}

/* A string cut to `most` bytes, marker included. Data NULL: no memory. */
static struct view cut(struct ottl_run *run, struct view text, size_t most, bool safe,
                       struct view marker)
{
    size_t at = most - marker.size;
    while (safe && at > 0 && (text.data[at] & 0xc0) == 0x80)
        at--;
    uint8_t *made = arena_array_raw(ottl_arena(run), most + 1, 1);
    if (!made)
        return (struct view){0};
    memcpy(made, text.data, at);
    proto_bytes_put(made + at, marker);
    return (struct view){made, at + marker.size};
}

/* The first attribute from one on that may be longer than `most` bytes. NULL: none is. */
static struct attribute *next_long(const struct attributes *list, size_t from, size_t most)
{
    for (size_t i = from; i < list->count; i++)
        if (list->items[i].any.size > most && !list->items[i].gone)
            return &list->items[i];
    return NULL;
}

static __attribute__((noinline)) struct ottl_value
truncate_long(struct ottl_run *run, const struct ottl_node *call, struct target *target)
{
    const size_t most = (size_t)literal_int(call, 1);
    const struct ottl_value safe = ottl_arg(run, call, 2);
    const struct view marker = ottl_has(call, 3) ? ottl_arg_string(run, call, 3) : VIEW("");
    struct attribute *item = next_long(target->list, 0, most);
    for (; item && !run->failed;
         item = next_long(target->list, (size_t)(item - target->list->items) + 1, most)) {
        struct value value = value_read(item->any);
        if (value.kind != VALUE_STRING || value.bytes.size <= most)
            continue;
        value.bytes = cut(run, value.bytes, most, safe.type != TYPE_BOOL || safe.boolean, marker);
        if (!value.bytes.data)
            return ottl_fail(run, "out of memory");
        attributes_change(target->list, item, &value);
    }
    return target_close(target, run);
}

static struct ottl_value truncate_all(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    if ((ottl_has(call, 2) || ottl_has(call, 3)) && !check_marker(run, call))
        return ottl_nil();
    if (!target_open(&target, run, call))
        return ottl_nil();
    if (next_long(target.list, 0, (size_t)literal_int(call, 1)))
        return truncate_long(run, call, &target);
    return target_close(&target, run);
}

/* ---- flatten ---- */

enum { FLATTEN_DEPTH = 100, KEY_MOST = 1 << 20 };

struct flattening {
    struct ottl_run *run;
    struct attributes *to;
    int64_t most;
    bool resolves;           /* a number is appended to a key that exists already */
    struct attributes times; /* how often, for each such key */
    struct bytes key;        /* of the value that is read */
};

/* Appends to the key; cut it back to its size afterwards. False: the run has failed. */
static bool add_index(struct flattening *flat, const char *before, size_t index)
{
    if (!flat->run->failed && bytes_printf(&flat->key, "%s%zu", before, index) != BYTES_OK)
        ottl_fail(flat->run, "out of memory, or a key is too long");
    return !flat->run->failed;
}

static bool add_name(struct flattening *flat, const char *before, struct view name)
{
    if (!flat->run->failed && (bytes_append_view(&flat->key, view_of(before)) != BYTES_OK ||
                               bytes_append_view(&flat->key, name) != BYTES_OK))
        ottl_fail(flat->run, "out of memory, or a key is too long");
    return !flat->run->failed;
}

static void put_flat(struct flattening *flat, const struct value *value)
{
    struct view name = ottl_keep(flat->run, bytes_view(&flat->key));
    struct value times = value_int(0);
    size_t size = flat->key.size;
    if (flat->resolves && attributes_find(flat->to, name)) {
        (void)attributes_get(&flat->times, name, &times);
        if (add_index(flat, ".", (size_t)times.integer++)) {
            attributes_set(&flat->times, name, &times);
            name = ottl_keep(flat->run, bytes_view(&flat->key));
        }
        flat->key.size = size;
    }
    if (!flat->run->failed)
        attributes_set(flat->to, name, value);
}

static void flatten_into(struct flattening *flat, const struct value *value, int64_t depth);

/* A list in a list: the Collector writes the inner index right after the outer one. */
static void flatten_inner_list(struct flattening *flat, const struct value *value, int64_t depth)
{
    struct proto_scan scan = proto_scan_begin(value->bytes);
    struct value each;
    size_t size = flat->key.size;
    for (size_t index = 0; value_next(&scan, &each); index++) {
        if (add_index(flat, "", index))
            flatten_into(flat, &each, depth);
        flat->key.size = size;
    }
}

static void flatten_list(struct flattening *flat, const struct value *value, int64_t depth)
{
    struct proto_scan scan = proto_scan_begin(value->bytes);
    struct value each;
    size_t size = flat->key.size;
    for (size_t index = 0; value_next(&scan, &each); index++) {
        bool opens = (each.kind == VALUE_MAP || each.kind == VALUE_LIST) &&
                     depth + 1 < flat->most && depth + 1 < FLATTEN_DEPTH;
        if ((opens || !flat->resolves) && !add_index(flat, ".", index))
            return;
        if (opens && each.kind == VALUE_LIST)
            flatten_inner_list(flat, &each, depth + 3);
        else
            flatten_into(flat, &each, depth + 1);
        flat->key.size = size;
    }
}

static void flatten_into(struct flattening *flat, const struct value *value, int64_t depth)
{
    bool deep = depth < flat->most && depth < FLATTEN_DEPTH;
    size_t size = flat->key.size;
    struct attributes list;
    if (value->kind == VALUE_LIST && deep) {
        flatten_list(flat, value, depth);
    } else if (value->kind == VALUE_MAP && deep) {
        attributes_read(&list, value->bytes, 1, ottl_arena(flat->run));
        for (size_t i = 0; i < list.count; i++) {
            struct value each = value_read(list.items[i].any);
            if (add_name(flat, ".", list.items[i].key))
                flatten_into(flat, &each, depth + 1);
            flat->key.size = size;
        }
    } else {
        put_flat(flat, value);
    }
}

/* Empties the target and flattens its content into it. False: no memory; nothing changed. */
static bool flatten_all(struct flattening *flat, struct view prefix)
{
    size_t count = flat->to->count;
    struct attribute *items = arena_array_raw(ottl_arena(flat->run), count + 1, sizeof *items);
    if (!items)
        return false;
    if (count)
        memcpy(items, flat->to->items, count * sizeof *items);
    flat->to->partial = true;
    for (size_t i = 0; i < count; i++)
        if (!items[i].gone)
            attributes_remove(flat->to, &flat->to->items[i]);
    for (size_t i = 0; i < count && !flat->run->failed; i++) {
        struct value value = value_read(items[i].any);
        flat->key.size = 0;
        if (!items[i].gone && add_name(flat, "", prefix) &&
            add_name(flat, prefix.size ? "." : "", items[i].key))
            flatten_into(flat, &value, 0);
    }
    return true;
}

static const char *check_depth(const struct ottl_node *call)
{
    bool bad = ottl_has(call, 2) && call->items[2]->kind == NODE_LITERAL &&
               call->items[2]->value.type == TYPE_INT && call->items[2]->value.integer == 0;
    return bad ? "the depth must be greater than 0" : NULL;
}

static struct ottl_value flatten(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    struct view prefix = ottl_has(call, 1) ? ottl_arg_string(run, call, 1) : VIEW("");
    int64_t most = ottl_has(call, 2) ? ottl_arg_int(run, call, 2) : INT64_MAX;
    struct ottl_value resolves = ottl_arg(run, call, 3);
    if (run->failed || !target_open(&target, run, call))
        return ottl_nil();
    struct flattening flat = {.run = run,
                              .to = target.list,
                              .most = most,
                              .resolves = resolves.type == TYPE_BOOL && resolves.boolean};
    attributes_read(&flat.times, VIEW(""), 1, ottl_arena(run));
    bytes_init(&flat.key, KEY_MOST, NULL);
    bool done = flatten_all(&flat, prefix);
    bytes_release(&flat.key);
    return done ? target_close(&target, run) : ottl_fail(run, "out of memory");
}

/* ---- stringify_all, append ---- */

enum { LIST_MOST = 16 << 20 };

static struct ottl_value stringify_all(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    if (!target_open(&target, run, call))
        return ottl_nil();
    for (size_t i = 0; i < target.list->count && !run->failed; i++) {
        struct attribute *item = &target.list->items[i];
        struct value value = value_read(item->any);
        if (item->gone || value.kind == VALUE_STRING)
            continue;
        value = value_string(value_text(&value, ottl_arena(run)));
        if (!value.bytes.data)
            return ottl_fail(run, "out of memory");
        attributes_change(target.list, item, &value);
    }
    return target_close(&target, run);
}

static bool append_items(struct ottl_run *run, const struct ottl_node *list, struct bytes *out);

/* Appends an element. Of lists and maps, the Collector takes only literal lists. False: no list can
 * hold it, no memory, or the run has failed. */
static bool append_item(struct ottl_run *run, const struct ottl_node *node, struct bytes *out)
{
    struct value value = {.kind = VALUE_LIST};
    if (node->kind == NODE_LIST_OF) {
        struct bytes inner;
        bytes_init(&inner, LIST_MOST, NULL);
        bool ok = append_items(run, node, &inner);
        value.bytes = bytes_view(&inner);
        ok = ok && value_append(out, &value);
        bytes_release(&inner);
        return ok;
    }
    struct ottl_value item = ottl_node_eval(node, run);
    return !run->failed && item.type != TYPE_LIST && item.type != TYPE_MAP &&
           ottl_to_value(&item, &value) && value_append(out, &value);
}

static bool append_items(struct ottl_run *run, const struct ottl_node *list, struct bytes *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < list->count; i++)
        ok = append_item(run, list->items[i], out);
    return ok;
}

static struct ottl_value append(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value target = ottl_path_get(call->items[0], run);
    struct value value;
    struct bytes out;
    bool ok = !run->failed && target.type != TYPE_MAP;
    bytes_init(&out, LIST_MOST, NULL);
    if (ok && target.type == TYPE_LIST)
        ok = bytes_append_view(&out, target.bytes) == BYTES_OK;
    else if (ok && target.type != TYPE_NIL)
        ok = ottl_to_value(&target, &value) && value_append(&out, &value);
    ok = ok && (!ottl_has(call, 1) || append_item(run, call->items[1], &out));
    ok = ok && (!ottl_has(call, 2) || append_items(run, call->items[2], &out));
    if (ok) {
        target = ottl_bytes(TYPE_LIST, ottl_keep(run, bytes_view(&out)));
        ottl_path_set(call->items[0], run, &target);
    } else if (!run->failed) {
        ottl_fail(run, "append takes a value that is no list or map, or a literal list");
    }
    bytes_release(&out);
    return ottl_nil();
}

static const char *check_append(const struct ottl_node *call)
{
    if (ottl_has(call, 2) && call->items[2]->kind != NODE_LIST_OF)
        return "values must be a list in brackets";
    return ottl_has(call, 1) || ottl_has(call, 2) ? NULL : "needs value or values";
}

const struct ottl_function ottl_editors[] = {
    {"set", "target,value", set, FN_NO_PATTERN, false, 0, NULL},
    {"delete_key", "target,key", delete_key, FN_NO_PATTERN, false, 0, NULL},
    {"delete_matching_keys", "target,pattern", delete_matching_keys, 1, false, 0, NULL},
    {"keep_matching_keys", "target,pattern", keep_matching_keys, 1, false, 0, NULL},
    {"keep_keys", "target,keys", keep_keys, FN_NO_PATTERN, false, 0, check_keys},
    {"limit", "target,limit,priority_keys", limit, FN_NO_PATTERN, false, 0, check_limit},
    {"merge_maps", "target,source,strategy", merge_maps, FN_NO_PATTERN, false, 0, check_strategy},
    {"truncate_all", "target,limit,utf8_safe?,truncation_marker?", truncate_all, FN_NO_PATTERN,
     false, 0, check_truncate},
    {"stringify_all", "target", stringify_all, FN_NO_PATTERN, false, 0, NULL},
    {"append", "target,value?,values?", append, FN_NO_PATTERN, false, 0, check_append},
    {"flatten", "target,prefix?,depth?,resolve_conflicts?", flatten, FN_NO_PATTERN, false, 0,
     check_depth},
    {0},
};
