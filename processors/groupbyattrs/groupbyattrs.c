/* Puts records under Resources that some of their attributes belong to. */
#include "processors/groupbyattrs/groups.h"

#include "lib/base/refusal.h"
#include "lib/wire/value/value_sum.h"
#include "pipeline/batch_edit.h"
#include "pipeline/batch_pass.h"
#include "pipeline/component.h"

#include <stdio.h>
#include <stdlib.h>

/* How much larger a request may become: each Resource that is made repeats the attributes of the
 * one that it is made of. */
enum { ENTRY_LIST = 2, DATA_POINTS = 1, GROWTH = 64, KEYS_MAX = 64 };
enum { ENTRY_HEAD = 1, RESOURCE_ATTRIBUTES = 1, SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum { METRIC_NAME = 1 };

/* What sums are of, beside those of value_sum.h. */
enum { SUM_SCOPE = 0x200, SUM_VERSION, SUM_METRIC };

struct groupbyattrs {
    const char *id;
    struct key_list keys;
    struct view names[KEYS_MAX]; /* the keys, without empty ones and those given twice */
    struct siphash_sum name_sums[KEYS_MAX];
    size_t name_count;
    struct key_sieve sieve; /* passes the names */
    struct siphash_key key;
    _Atomic uint64_t grouped[SIGNAL_COUNT], others[SIGNAL_COUNT];
    struct histogram resources[SIGNAL_COUNT]; /* of each request that is made */
};

static const struct key groupbyattrs_keys[] = {
    KEY_LIST(struct groupbyattrs, keys, "keys", NULL,
             "attributes that belong to the resource; none: equal resources and scopes are merged"),
    KEY_END,
};

static void groupbyattrs_check(const void *instance, struct key_report *report)
{
    const struct groupbyattrs *self = instance;
    if (self->keys.count > KEYS_MAX)
        key_report_add(report, "keys", "found %zu, expected at most %d", self->keys.count,
                       KEYS_MAX);
    for (size_t i = 0; i < self->keys.count && i < KEYS_MAX; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(self->keys.items[i], self->keys.items[k]) == 0) {
                key_report_warn(report, "keys", "%s is given twice", self->keys.items[i]);
                break;
            }
}

static void groupbyattrs_alters(const void *instance, const struct attribute_of *attribute,
                                alteration_visit_fn *visit, void *ctx)
{
    const struct groupbyattrs *self = instance;
    char path[32];
    const struct alteration found = {
        .kind = attribute->resource ? ALTERATION_MAY_GIVE : ALTERATION_LOSES,
        .path = path,
        .verb = "moves",
    };
    for (size_t i = 0; i < self->keys.count; i++) {
        snprintf(path, sizeof path, "keys[%zu]", i);
        if (strcmp(self->keys.items[i], attribute->what.key) == 0)
            visit(ctx, &found);
    }
}

static bool groupbyattrs_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct groupbyattrs *self = instance;
    (void)error, (void)error_size;
    self->id = env->id;
    self->name_count = 0;
    self->key = siphash_key_new();
    self->sieve = (struct key_sieve){0};
    for (size_t i = 0; i < self->keys.count && self->name_count < KEYS_MAX; i++) {
        struct view name = view_of(self->keys.items[i]);
        bool again = name.size == 0;
        for (size_t k = 0; k < self->name_count; k++)
            again = again || view_eq(self->names[k], name);
        if (again)
            continue;
        self->name_sums[self->name_count] = value_key_sum(&self->key, name);
        self->names[self->name_count++] = name;
        key_sieve_add(&self->sieve, name);
    }
    return true;
}

/* ---- regrouping ---- */

/* All attributes of a Resource that have one of the names. */
struct named {
    struct siphash_sum sum;
    size_t size;
};

struct regroup {
    struct groupbyattrs *self;
    enum signal signal;
    struct groups groups;
    struct arena *arena;
    struct group_head resource;          /* of the entry that is read */
    struct named named[KEYS_MAX];        /* in it */
    struct group_value values[KEYS_MAX]; /* of a record */
    struct group *own;    /* of records without such attributes in that entry; NULL: none yet */
    struct record record; /* the span, log record or data point */
    uint32_t grouped, others;
    size_t size; /* of the result; 0: not known yet */
};

static void replace(struct group_head *head, struct named out, struct named in)
{
    head->sum = siphash_plus(siphash_minus(head->sum, out.sum), in.sum);
    head->size += in.size - out.size;
}

/* The resource's attributes and those of the record that have one of the names, which are taken
 * from the record. */
static struct group *group_of(struct regroup *work)
{
    const struct groupbyattrs *self = work->self;
    struct attributes *list = record_attributes(&work->record);
    struct group_head head = work->resource;
    head.values = work->values;
    for (size_t i = 0; i < self->name_count; i++) {
        struct attribute *item = attributes_find(list, self->names[i]);
        if (!item)
            continue;
        struct view any = item->any.data ? item->any : VIEW("");
        head.values[head.value_count++] = (struct group_value){item->key, any};
        replace(&head, work->named[i],
                (struct named){value_attribute_sum(&self->key, self->name_sums[i], any),
                               groups_attribute_size(item->key, any)});
        attributes_remove(list, item);
    }
    work->grouped += head.value_count > 0;
    work->others += head.value_count == 0;
    work->groups.failed = work->groups.failed || list->failed;
    if (head.value_count)
        return groups_find(&work->groups, &head);
    if (!work->own)
        work->own = groups_find(&work->groups, &head);
    return work->own;
}

static void begin_record(struct regroup *work, const struct proto_field *field, uint32_t list)
{
    record_begin(&work->record, field, list, NULL, work->arena);
    record_index(&work->record, NULL, false);
}

/* The record as it is now. */
static struct view record_text(struct regroup *work)
{
    const struct proto_field *field = &work->record.field;
    return record_changed(&work->record) ? record_field(&work->record, field->number)
                                         : view_between(field->start, field->end);
}

static void add_item(struct regroup *work, const struct group_scope_head *head,
                     const struct proto_field *field)
{
    begin_record(work, field, edit_list(work->signal, EDIT_ITEM, EDIT_NO_POINT));
    struct group *group = group_of(work);
    struct group_scope *scope = group ? groups_scope(&work->groups, group, head) : NULL;
    if (scope)
        groups_add(&work->groups, &scope->items, record_text(work));
}

static void add_points(struct regroup *work, const struct group_scope_head *scope_head,
                       struct group_metric_head *head)
{
    enum edit_point kind = edit_point_of(head->type);
    struct proto_scan scan = proto_scan_begin(head->data);
    struct proto_field field;
    while (!work->groups.failed && proto_scan_next(&scan, &field)) {
        if (field.number != DATA_POINTS || field.type != WIRE_LEN)
            continue;
        begin_record(work, &field, edit_list(SIGNAL_METRICS, EDIT_POINT, kind));
        struct group *group = group_of(work);
        struct group_scope *scope = group ? groups_scope(&work->groups, group, scope_head) : NULL;
        struct group_metric *to = scope ? groups_metric(&work->groups, scope, head) : NULL;
        if (to)
            groups_add(&work->groups, &to->points, record_text(work));
    }
}

static void add_metric(struct regroup *work, const struct group_scope_head *scope,
                       struct view metric)
{
    struct proto_scan scan = proto_scan_begin(metric);
    struct proto_field field;
    const struct view name = proto_find_bytes(metric, METRIC_NAME);
    struct group_metric_head head = {.metric = metric};
    struct siphash_sum name_sum = siphash(&work->self->key, SUM_METRIC, name);
    while (proto_scan_next(&scan, &field)) {
        if (edit_point_of(field.number) == EDIT_NO_POINT || field.type != WIRE_LEN)
            continue;
        head.type = field.number;
        head.data = field.bytes;
        head.data_fields.data = NULL;
        head.sum = siphash(&work->self->key, head.type, siphash_view(&name_sum));
        add_points(work, scope, &head);
    }
}

static struct group_scope_head scope_head(const struct regroup *work, struct view scope_entry)
{
    struct proto_field field;
    bool there = proto_find(scope_entry, ENTRY_HEAD, WIRE_LEN, &field);
    struct view body = there ? field.bytes : VIEW("");
    const struct siphash_key *key = &work->self->key;
    struct siphash_sum name = siphash(key, SUM_SCOPE, proto_find_bytes(body, SCOPE_NAME)),
                       version = siphash(key, SUM_VERSION, proto_find_bytes(body, SCOPE_VERSION));
    return (struct group_scope_head){siphash_plus(name, version),
                                     there ? view_between(field.start, field.end) : VIEW("")};
}

static void read_scope(struct regroup *work, struct view scope_entry)
{
    struct proto_scan scan = proto_scan_begin(scope_entry);
    struct proto_field field;
    const struct group_scope_head head = scope_head(work, scope_entry);
    while (!work->groups.failed && proto_scan_next(&scan, &field)) {
        if (field.number != ENTRY_LIST || field.type != WIRE_LEN)
            continue;
        if (work->signal == SIGNAL_METRICS)
            add_metric(work, &head, field.bytes);
        else
            add_item(work, &head, &field);
    }
}

static void note_attribute(struct regroup *work, struct view key_value)
{
    const struct groupbyattrs *self = work->self;
    const struct attribute item = attribute_read(key_value);
    const struct siphash_sum key = value_key_sum(&self->key, item.key);
    const struct named added = {value_attribute_sum(&self->key, key, item.any),
                                groups_attribute_size(item.key, item.any)};
    replace(&work->resource, (struct named){0}, added);
    if (!key_sieve_passes(&self->sieve, item.key))
        return;
    for (size_t i = 0; i < self->name_count; i++)
        if (view_eq(self->names[i], item.key)) {
            work->named[i].sum = siphash_plus(work->named[i].sum, added.sum);
            work->named[i].size += added.size;
        }
}

static void read_resource(struct regroup *work, struct view resource)
{
    struct proto_scan scan = proto_scan_begin(resource);
    struct proto_field field;
    work->own = NULL;
    work->resource = (struct group_head){.resource = resource};
    memset(work->named, 0, work->self->name_count * sizeof *work->named);
    while (proto_scan_next(&scan, &field))
        if (field.number == RESOURCE_ATTRIBUTES && field.type == WIRE_LEN)
            note_attribute(work, field.bytes);
}

static void read_entry(struct regroup *work, struct view entry)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field field;
    bool there = proto_find(entry, ENTRY_HEAD, WIRE_LEN, &field);
    read_resource(work, there ? field.bytes : VIEW(""));
    while (!work->groups.failed && proto_scan_next(&scan, &field))
        if (field.number == ENTRY_LIST && field.type == WIRE_LEN)
            read_scope(work, field.bytes);
}

/* No more than a request may become. */
static bool is_within_growth(const struct regroup *work, struct view request)
{
    return work->size <= GROWTH * request.size + 4096;
}

static struct buffer *written(struct regroup *work, struct budget *budget)
{
    struct buffer *payload = NULL;
    struct bytes out;
    bytes_init(&out, work->size, budget);
    struct proto_write write = proto_write_begin(&out);
    write.result = bytes_reserve(&out, work->size);
    if (write.result == BYTES_OK)
        groups_write(&work->groups, &write);
    if (!work->groups.failed && write.result == BYTES_OK)
        payload = buffer_from_bytes(&out);
    bytes_release(&out);
    return payload;
}

/* The batch with its records regrouped. NULL: no memory, or it grows too much. */
static struct batch *regrouped(struct regroup *work, const struct batch *batch)
{
    struct view request = buffer_view(batch->payload);
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field;
    struct buffer *payload = NULL;
    while (!work->groups.failed && proto_scan_next(&scan, &field))
        if (field.number == 1 && field.type == WIRE_LEN)
            read_entry(work, field.bytes);
    if (work->groups.failed)
        return NULL;
    work->size = groups_size(&work->groups);
    if (is_within_growth(work, request))
        payload = written(work, batch->payload->budget);
    return payload ? batch_with_payload(batch, payload, work->grouped + work->others) : NULL;
}

/* After regrouped has failed. A client must not send again what can never pass. */
static enum verdict refuse(const struct regroup *work, const struct batch *batch)
{
    const char *id = work->self->id;
    char text[REFUSAL_MAX];
    size_t most;
    if (!is_within_growth(work, buffer_view(batch->payload))) {
        snprintf(text, sizeof text,
                 "%s: the request becomes more than %d times as large, since its resources are "
                 "repeated",
                 id, GROWTH);
        refusal_set(text, CAUSE_INVALID);
        return VERDICT_REJECT;
    }
    if (!batch_work_never_fits(batch, work->arena, work->groups.failed ? 0 : work->size, &most))
        return VERDICT_RETRY;
    snprintf(text, sizeof text,
             "%s: it needs more than the %zu MiB of memory that a request may take", id,
             most >> 20);
    refusal_set(text, CAUSE_TOO_LARGE);
    return VERDICT_REJECT;
}

/* The default boundaries of OpenTelemetry's SDKs, which the Collector uses here. */
static const struct histogram_bounds histogram_groups = {
    15, 1.0, {0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}};

static void count(struct groupbyattrs *self, const struct regroup *work)
{
    atomic_fetch_add(&self->grouped[work->signal], work->grouped);
    atomic_fetch_add(&self->others[work->signal], work->others);
    histogram_add(&self->resources[work->signal], &histogram_groups, work->groups.groups.count);
}

static enum verdict groupbyattrs_consume(void *instance, struct batch *batch, struct outlet *next)
{
    struct arena arena;
    struct batch *ordered = batch_in_order(batch), *made = NULL;
    enum verdict verdict = VERDICT_RETRY;
    struct regroup work = {.self = instance, .signal = batch->signal, .arena = &arena};
    if (!ordered)
        return VERDICT_RETRY;
    batch_work_begin(ordered, &arena);
    groups_begin(&work.groups, &arena);
    made = regrouped(&work, ordered);
    verdict = made ? VERDICT_OK : refuse(&work, ordered);
    if (made && made->items)
        verdict = outlet_push(next, made);
    if (verdict == VERDICT_OK)
        count(instance, &work);
    batch_unref(made);
    batch_unref(ordered);
    arena_release(&arena);
    return verdict;
}

#define COUNTED(signal, field, name, unit, what)                                                   \
    METRIC_FIELD(struct groupbyattrs, field[signal], "otelcol_processor_groupbyattrs_num_" name,   \
                 METRIC_COUNTER, METRIC_BASIC, unit, what)

#define GROUPS(signal, name)                                                                       \
    METRIC_HISTOGRAM_FIELD(struct groupbyattrs, resources[signal],                                 \
                           "otelcol_processor_groupbyattrs_" name "_groups", &histogram_groups,    \
                           METRIC_BASIC, "1", "Resources of a regrouped request.")

static const struct metric groupbyattrs_metrics[] = {
    COUNTED(SIGNAL_TRACES, grouped, "grouped_spans", "{spans}", "Spans that had one of the keys."),
    COUNTED(SIGNAL_TRACES, others, "non_grouped_spans", "{spans}", "Spans that had none."),
    COUNTED(SIGNAL_METRICS, grouped, "grouped_metrics", "{datapoints}",
            "Data points that had one of the keys."),
    COUNTED(SIGNAL_METRICS, others, "non_grouped_metrics", "{datapoints}",
            "Data points that had none."),
    COUNTED(SIGNAL_LOGS, grouped, "grouped_logs", "{records}",
            "Log records that had one of the keys."),
    COUNTED(SIGNAL_LOGS, others, "non_grouped_logs", "{records}", "Log records that had none."),
    GROUPS(SIGNAL_TRACES, "span"),
    GROUPS(SIGNAL_METRICS, "metric"),
    GROUPS(SIGNAL_LOGS, "log"),
    METRIC_END,
};

const struct component processor_groupbyattrs = {
    .type = "groupbyattrs",
    .text = "moves attributes of records to their resources, and merges equal resources",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_METRICS) | SIGNAL_BIT(SIGNAL_LOGS),
    .size = sizeof(struct groupbyattrs),
    .keys = groupbyattrs_keys,
    .check = groupbyattrs_check,
    .alters = groupbyattrs_alters,
    .open = groupbyattrs_open,
    .consume = groupbyattrs_consume,
    .metrics = groupbyattrs_metrics,
};
