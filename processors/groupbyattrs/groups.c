#include "processors/groupbyattrs/groups.h"

enum { ENTRY_HEAD = 1, ENTRY_LIST = 2, REQUEST_ENTRY = 1, RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2, METRIC_NAME = 1, DATA_POINTS = 1 };
enum { BUCKETS_MOST = 1 << 16, FIRST_BUCKETS = 16 };

void groups_begin(struct groups *groups, size_t items, struct arena *arena)
{
    *groups = (struct groups){.arena = arena, .bucket_count = FIRST_BUCKETS};
    groups->end = &groups->first;
    while (groups->bucket_count < items && groups->bucket_count < BUCKETS_MOST)
        groups->bucket_count *= 2;
    groups->buckets = arena_array(arena, groups->bucket_count, sizeof(struct group *));
    groups->failed = !groups->buckets;
}

static void *alloc(struct groups *groups, size_t size)
{
    void *made = groups->failed ? NULL : arena_alloc(groups->arena, size);
    groups->failed = groups->failed || !made;
    return made;
}

static uint64_t hash_bytes(struct view bytes)
{
    uint64_t hash = view_hash(bytes);
    return hash ^ hash >> 29;
}

/* The same whatever the order; values other than texts, which may be encoded in several ways, do
 * not count. */
static uint64_t hash_attributes(const struct attributes *attributes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < attributes->count; i++) {
        const struct attribute *item = &attributes->items[i];
        if (item->gone)
            continue;
        struct value value = value_read(item->any);
        uint64_t hash = hash_bytes(item->key) * 31 + (uint64_t)value.kind;
        if (value.kind == VALUE_STRING)
            hash = hash * 31 + hash_bytes(value.bytes);
        sum += hash * UINT64_C(0x9e3779b97f4a7c15);
    }
    return sum ^ sum >> 32;
}

static bool equal(const struct attributes *a, struct attributes *b)
{
    if (attributes_count(a) != attributes_count(b))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct attribute *item = &a->items[i], *other;
        if (item->gone)
            continue;
        if (!(other = attributes_find(b, item->key)))
            return false;
        struct value value = value_read(item->any), there = value_read(other->any);
        if (!view_eq(item->any, other->any) && !value_equal(&value, &there))
            return false;
    }
    return true;
}

static struct group *make_group(struct groups *groups, const struct attributes *attributes,
                                uint64_t hash)
{
    struct group *group = alloc(groups, sizeof *group);
    if (!group)
        return NULL;
    group->attributes = (struct attributes){.arena = groups->arena, .list = RESOURCE_ATTRIBUTES};
    for (size_t i = 0; i < attributes->count; i++)
        if (!attributes->items[i].gone)
            attributes_add(&group->attributes, attributes->items[i].key, attributes->items[i].any);
    groups->failed = groups->failed || group->attributes.failed;
    group->hash = hash;
    group->scopes_end = &group->scopes;
    *groups->end = group;
    groups->end = &group->next;
    return groups->failed ? NULL : group;
}

struct group *groups_find(struct groups *groups, const struct attributes *attributes)
{
    if (groups->failed)
        return NULL;
    uint64_t hash = hash_attributes(attributes);
    struct group **bucket = &groups->buckets[hash & (groups->bucket_count - 1)];
    for (struct group *each = *bucket; each; each = each->same)
        if (each->hash == hash && equal(attributes, &each->attributes))
            return each;
    struct group *made = make_group(groups, attributes, hash);
    if (made) {
        made->same = *bucket;
        *bucket = made;
        groups->count++;
    }
    return made;
}

struct group_scope *groups_scope(struct groups *groups, struct group *group, struct view entry)
{
    struct proto_field head = {0};
    bool there = proto_find(entry, ENTRY_HEAD, WIRE_LEN, &head);
    struct view body = there ? head.bytes : VIEW("");
    struct view name = proto_find_bytes(body, SCOPE_NAME),
                version = proto_find_bytes(body, SCOPE_VERSION);
    for (struct group_scope *each = group->scopes; each; each = each->next)
        if (view_eq(each->name, name) && view_eq(each->version, version))
            return each;
    struct group_scope *scope = alloc(groups, sizeof *scope);
    if (!scope)
        return NULL;
    scope->name = name;
    scope->version = version;
    scope->field = there ? view_between(head.start, head.end) : VIEW("");
    scope->items.end = &scope->items.first;
    scope->metrics_end = &scope->metrics;
    *group->scopes_end = scope;
    group->scopes_end = &scope->next;
    return scope;
}

struct group_metric *groups_metric(struct groups *groups, struct group_scope *scope,
                                   struct view metric, const struct proto_field *data)
{
    struct view name = proto_find_bytes(metric, METRIC_NAME);
    for (struct group_metric *each = scope->metrics; each; each = each->next)
        if (each->type == data->number && view_eq(each->name, name))
            return each;
    struct group_metric *made = alloc(groups, sizeof *made);
    if (!made)
        return NULL;
    made->name = name;
    made->type = data->number;
    made->metric = metric;
    made->data = data->bytes;
    made->points.end = &made->points.first;
    *scope->metrics_end = made;
    scope->metrics_end = &made->next;
    return made;
}

void groups_add(struct groups *groups, struct group_parts *parts, struct view bytes)
{
    struct group_part *part = bytes.data ? alloc(groups, sizeof *part) : NULL;
    groups->failed = groups->failed || !part;
    if (!part)
        return;
    part->bytes = bytes;
    *parts->end = part;
    parts->end = &part->next;
}

/* ---- writing ---- */

static void write_parts(struct proto_write *write, const struct group_parts *parts)
{
    for (const struct group_part *part = parts->first; part; part = part->next)
        proto_write_raw(write, part->bytes);
}

/* The first metric's fields, with these points in place of its own. */
static void write_metric(struct proto_write *write, const struct group_metric *metric)
{
    struct proto_scan scan = proto_scan_begin(metric->metric), inner;
    struct proto_field field;
    size_t opened = proto_write_open(write, ENTRY_LIST);
    while (proto_scan_next(&scan, &field))
        if (edit_point_of(field.number) == EDIT_NO_POINT)
            proto_write_raw(write, view_between(field.start, field.end));
    size_t data = proto_write_open(write, metric->type);
    inner = proto_scan_begin(metric->data);
    while (proto_scan_next(&inner, &field))
        if (field.number != DATA_POINTS)
            proto_write_raw(write, view_between(field.start, field.end));
    write_parts(write, &metric->points);
    proto_write_close(write, data);
    proto_write_close(write, opened);
}

static void write_scope(struct proto_write *write, const struct group_scope *scope)
{
    size_t opened = proto_write_open(write, ENTRY_LIST);
    proto_write_raw(write, scope->field);
    write_parts(write, &scope->items);
    for (const struct group_metric *metric = scope->metrics; metric; metric = metric->next)
        write_metric(write, metric);
    proto_write_close(write, opened);
}

void groups_write(const struct groups *groups, struct proto_write *write)
{
    for (const struct group *group = groups->first; group; group = group->next) {
        size_t entry = proto_write_open(write, REQUEST_ENTRY);
        size_t head = proto_write_open(write, ENTRY_HEAD);
        for (size_t i = 0; i < group->attributes.count; i++) {
            const struct attribute *item = &group->attributes.items[i];
            size_t opened = proto_write_open(write, RESOURCE_ATTRIBUTES);
            proto_write_bytes(write, 1, item->key);
            proto_write_bytes(write, 2, item->any);
            proto_write_close(write, opened);
        }
        proto_write_close(write, head);
        for (const struct group_scope *scope = group->scopes; scope; scope = scope->next)
            write_scope(write, scope);
        proto_write_close(write, entry);
    }
}
