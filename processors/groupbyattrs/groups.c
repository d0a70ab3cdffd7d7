#include "processors/groupbyattrs/groups.h"

enum { ENTRY_HEAD = 1, ENTRY_LIST = 2, REQUEST_ENTRY = 1, RESOURCE_ATTRIBUTES = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, DATA_POINTS = 1, FIRST_ROOM = 16 };

void groups_begin(struct groups *groups, struct arena *arena)
{
    *groups = (struct groups){.arena = arena};
    groups->end = &groups->first;
}

static void *alloc(struct groups *groups, size_t size)
{
    void *made = groups->failed ? NULL : arena_alloc(groups->arena, size);
    groups->failed = groups->failed || !made;
    return made;
}

/* ---- tables ---- */

static struct group_node **slot_of(const struct group_table *table, struct siphash_sum sum)
{
    return &table->slots[sum.halves[0] & (table->room - 1)];
}

static void *find(const struct group_table *table, struct siphash_sum sum)
{
    struct group_node *node = table->room ? *slot_of(table, sum) : NULL;
    while (node && !siphash_eq(node->sum, sum))
        node = node->same;
    return node;
}

static void put(struct group_table *table, struct group_node *node)
{
    struct group_node **slot = slot_of(table, node->sum);
    node->same = *slot;
    *slot = node;
}

static void grow(struct groups *groups, struct group_table *table)
{
    struct group_table old = *table;
    size_t room = old.room ? 2 * old.room : FIRST_ROOM;
    struct group_node **slots = arena_array(groups->arena, room, sizeof(struct group_node *));
    groups->failed = groups->failed || !slots;
    if (!slots)
        return;
    table->slots = slots;
    table->room = room;
    for (size_t i = 0; i < old.room; i++)
        for (struct group_node *node = old.slots[i], *next; node; node = next) {
            next = node->same;
            put(table, node);
        }
}

/* Something new, which begins with its node. */
static void *add(struct groups *groups, struct group_table *table, struct siphash_sum sum,
                 size_t size)
{
    if (table->count == table->room)
        grow(groups, table);
    struct group_node *node = alloc(groups, size);
    if (!node)
        return NULL;
    node->sum = sum;
    put(table, node);
    table->count++;
    return node;
}

/* ---- what records go to ---- */

struct group *groups_find(struct groups *groups, const struct group_head *head)
{
    struct group *group = find(&groups->groups, head->sum);
    if (group)
        return group;
    group = add(groups, &groups->groups, head->sum, sizeof *group);
    if (!group)
        return NULL;
    group->head = *head;
    if (head->value_count) {
        const size_t size = head->value_count * sizeof *head->values;
        group->head.values = alloc(groups, size);
        if (!group->head.values)
            return NULL;
        memcpy(group->head.values, head->values, size);
    }
    group->scopes_end = &group->scopes;
    *groups->end = group;
    groups->end = &group->next;
    return group;
}

struct group_scope *groups_scope(struct groups *groups, struct group *group,
                                 const struct group_scope_head *head)
{
    struct siphash_sum sum = siphash_plus(group->node.sum, head->sum);
    struct group_scope *scope = find(&groups->scopes, sum);
    if (scope)
        return scope;
    scope = add(groups, &groups->scopes, sum, sizeof *scope);
    if (!scope)
        return NULL;
    scope->field = head->field;
    scope->metrics_end = &scope->metrics;
    *group->scopes_end = scope;
    group->scopes_end = &scope->next;
    return scope;
}

/* The fields of a message without those for which a function says so. */
static struct view others(struct groups *groups, struct view message, bool (*is)(uint32_t number))
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    size_t size = 0;
    while (proto_scan_next(&scan, &field))
        size += is(field.number) ? 0 : (size_t)(field.end - field.start);
    uint8_t *kept = alloc(groups, size ? size : 1), *out = kept;
    scan = proto_scan_begin(message);
    while (kept && proto_scan_next(&scan, &field))
        if (!is(field.number))
            out = proto_bytes_put(out, view_between(field.start, field.end));
    return (struct view){kept, kept ? size : 0};
}

static bool is_data(uint32_t number)
{
    return edit_point_of(number) != EDIT_NO_POINT;
}

static bool is_point(uint32_t number)
{
    return number == DATA_POINTS;
}

struct group_metric *groups_metric(struct groups *groups, struct group_scope *scope,
                                   struct group_metric_head *head)
{
    struct siphash_sum sum = siphash_plus(scope->node.sum, head->sum);
    struct group_metric *metric = find(&groups->metrics, sum);
    if (metric)
        return metric;
    if (!head->fields.data)
        head->fields = others(groups, head->metric, is_data);
    if (!head->data_fields.data)
        head->data_fields = others(groups, head->data, is_point);
    metric = add(groups, &groups->metrics, sum, sizeof *metric);
    if (!metric)
        return NULL;
    metric->type = head->type;
    metric->fields = head->fields;
    metric->data_fields = head->data_fields;
    *scope->metrics_end = metric;
    scope->metrics_end = &metric->next;
    return metric;
}

void groups_add(struct groups *groups, struct group_parts *parts, struct view bytes)
{
    struct group_part *last = parts->last;
    groups->failed = groups->failed || !bytes.data;
    parts->size += bytes.size;
    if (last && last->bytes.data + last->bytes.size == bytes.data) {
        last->bytes.size += bytes.size;
        return;
    }
    struct group_part *part = alloc(groups, sizeof *part);
    if (!part)
        return;
    part->bytes = bytes;
    *(last ? &last->next : &parts->first) = part;
    parts->last = part;
}

/* ---- sizes ---- */

static size_t key_value_size(struct view key, struct view any)
{
    return proto_len_size(KEY_VALUE_KEY, key.size) + proto_len_size(KEY_VALUE_VALUE, any.size);
}

size_t groups_attribute_size(struct view key, struct view any)
{
    return proto_len_size(RESOURCE_ATTRIBUTES, key_value_size(key, any));
}

static size_t data_size(const struct group_metric *metric)
{
    return metric->data_fields.size + metric->points.size;
}

static size_t metric_size(const struct group_metric *metric)
{
    return metric->fields.size + proto_len_size(metric->type, data_size(metric));
}

static size_t scope_size(struct group_scope *scope)
{
    scope->size = scope->field.size + scope->items.size;
    for (const struct group_metric *metric = scope->metrics; metric; metric = metric->next)
        scope->size += proto_len_size(ENTRY_LIST, metric_size(metric));
    return scope->size;
}

static size_t group_size(struct group *group)
{
    group->size = proto_len_size(ENTRY_HEAD, group->head.size);
    for (struct group_scope *scope = group->scopes; scope; scope = scope->next)
        group->size += proto_len_size(ENTRY_LIST, scope_size(scope));
    return group->size;
}

size_t groups_size(struct groups *groups)
{
    size_t size = 0;
    for (struct group *group = groups->first; group; group = group->next)
        size += proto_len_size(REQUEST_ENTRY, group_size(group));
    return size;
}

/* ---- writing ---- */

static void write_head(struct proto_write *write, uint32_t number, size_t size)
{
    uint8_t text[20];
    proto_write_raw(write, view_between(text, proto_len_put(text, number, size)));
}

static void write_parts(struct proto_write *write, const struct group_parts *parts)
{
    for (const struct group_part *part = parts->first; part; part = part->next)
        proto_write_raw(write, part->bytes);
}

/* The first metric's fields, with these points in place of its own. */
static void write_metric(struct proto_write *write, const struct group_metric *metric)
{
    write_head(write, ENTRY_LIST, metric_size(metric));
    proto_write_raw(write, metric->fields);
    write_head(write, metric->type, data_size(metric));
    proto_write_raw(write, metric->data_fields);
    write_parts(write, &metric->points);
}

static void write_scope(struct proto_write *write, const struct group_scope *scope)
{
    write_head(write, ENTRY_LIST, scope->size);
    proto_write_raw(write, scope->field);
    write_parts(write, &scope->items);
    for (const struct group_metric *metric = scope->metrics; metric; metric = metric->next)
        write_metric(write, metric);
}

/* In memory that is free again behind it. */
static void write_resource(struct groups *groups, struct proto_write *write,
                           const struct group_head *head)
{
    const struct arena_mark mark = arena_mark(groups->arena);
    struct attributes list;
    attributes_read(&list, head->resource, RESOURCE_ATTRIBUTES, groups->arena);
    for (size_t i = 0; i < head->value_count; i++)
        attributes_set_any(&list, head->values[i].key, head->values[i].any);
    write_head(write, ENTRY_HEAD, head->size);
    for (size_t i = 0; i < list.count; i++) {
        const struct attribute *item = &list.items[i];
        if (item->gone)
            continue;
        write_head(write, RESOURCE_ATTRIBUTES, key_value_size(item->key, item->any));
        proto_write_bytes(write, KEY_VALUE_KEY, item->key);
        proto_write_bytes(write, KEY_VALUE_VALUE, item->any);
    }
    groups->failed = groups->failed || list.failed;
    arena_rewind(groups->arena, mark);
}

void groups_write(struct groups *groups, struct proto_write *write)
{
    for (struct group *group = groups->first; group && !groups->failed; group = group->next) {
        write_head(write, REQUEST_ENTRY, group->size);
        write_resource(groups, write, &group->head);
        for (const struct group_scope *scope = group->scopes; scope; scope = scope->next)
            write_scope(write, scope);
    }
}
