/* Puts records under Resources that some of their attributes belong to. */
#include "processors/groupbyattrs/groups.h"

#include "lib/base/refusal.h"
#include "pipeline/batch_pass.h"
#include "pipeline/component.h"

#include <stdio.h>
#include <stdlib.h>

/* How much larger a request may become: each Resource that is made repeats the attributes of the
 * one that it is made of. */
enum { ENTRY_LIST = 2, DATA_POINTS = 1, GROWTH = 64, KEYS_MAX = 64 };

struct groupbyattrs {
    const char *id;
    struct key_list keys;
    struct view names[KEYS_MAX]; /* the keys, without empty ones and those given twice */
    size_t name_count;
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

static bool groupbyattrs_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct groupbyattrs *self = instance;
    (void)error, (void)error_size;
    self->id = env->id;
    self->name_count = 0;
    for (size_t i = 0; i < self->keys.count && self->name_count < KEYS_MAX; i++) {
        struct view name = view_of(self->keys.items[i]);
        bool again = name.size == 0;
        for (size_t k = 0; k < self->name_count; k++)
            again = again || view_eq(self->names[k], name);
        if (!again)
            self->names[self->name_count++] = name;
    }
    return true;
}

/* ---- regrouping ---- */

struct regroup {
    struct groupbyattrs *self;
    enum signal signal;
    struct groups groups;
    struct arena *arena;
    struct attributes resource; /* of the entry that is read */
    struct attributes merged;   /* with those of a record */
    struct group *own;    /* of records without such attributes in that entry; NULL: none yet */
    struct record record; /* the span, log record or data point */
    uint32_t grouped, others;
    bool too_large; /* whatever memory there is */
};

/* The resource's attributes and those of the record that have one of the names, which are taken
 * from the record. */
static struct group *group_of(struct regroup *work)
{
    struct attributes *list = record_attributes(&work->record), *merged = &work->merged;
    bool any = false;
    for (size_t i = 0; i < work->self->name_count; i++) {
        struct attribute *item = attributes_find(list, work->self->names[i]);
        if (!item)
            continue;
        if (!any) {
            merged->count = 0;
            for (size_t k = 0; k < work->resource.count; k++)
                attributes_add(merged, work->resource.items[k].key, work->resource.items[k].any);
        }
        any = true;
        attributes_set_any(merged, item->key, item->any.data ? item->any : VIEW(""));
        attributes_remove(list, item);
    }
    work->grouped += any;
    work->others += !any;
    work->groups.failed = work->groups.failed || merged->failed || list->failed;
    if (any)
        return groups_find(&work->groups, merged);
    if (!work->own)
        work->own = groups_find(&work->groups, &work->resource);
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

static void add_item(struct regroup *work, struct view scope_entry, const struct proto_field *field)
{
    begin_record(work, field, edit_list(work->signal, EDIT_ITEM, EDIT_NO_POINT));
    struct group *group = group_of(work);
    struct group_scope *scope = group ? groups_scope(&work->groups, group, scope_entry) : NULL;
    if (scope)
        groups_add(&work->groups, &scope->items, record_text(work));
}

static void add_points(struct regroup *work, struct view scope_entry, struct view metric,
                       const struct proto_field *data)
{
    enum edit_point kind = edit_point_of(data->number);
    struct proto_scan scan = proto_scan_begin(data->bytes);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != DATA_POINTS || field.type != WIRE_LEN)
            continue;
        begin_record(work, &field, edit_list(SIGNAL_METRICS, EDIT_POINT, kind));
        struct group *group = group_of(work);
        struct group_scope *scope = group ? groups_scope(&work->groups, group, scope_entry) : NULL;
        struct group_metric *to = scope ? groups_metric(&work->groups, scope, metric, data) : NULL;
        if (to)
            groups_add(&work->groups, &to->points, record_text(work));
    }
}

static void add_metric(struct regroup *work, struct view scope_entry,
                       const struct proto_field *metric)
{
    struct proto_scan scan = proto_scan_begin(metric->bytes);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (edit_point_of(field.number) != EDIT_NO_POINT && field.type == WIRE_LEN)
            add_points(work, scope_entry, metric->bytes, &field);
}

static void read_scope(struct regroup *work, struct view scope_entry)
{
    struct proto_scan scan = proto_scan_begin(scope_entry);
    struct proto_field field;
    while (!work->groups.failed && proto_scan_next(&scan, &field)) {
        if (field.number != ENTRY_LIST || field.type != WIRE_LEN)
            continue;
        if (work->signal == SIGNAL_METRICS)
            add_metric(work, scope_entry, &field);
        else
            add_item(work, scope_entry, &field);
    }
}

static void read_entry(struct regroup *work, struct view entry)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field field;
    bool there = proto_find(entry, 1, WIRE_LEN, &field);
    attributes_read(&work->resource, there ? field.bytes : VIEW(""), 1, work->arena);
    work->groups.failed = work->groups.failed || work->resource.failed;
    work->own = NULL;
    while (!work->groups.failed && proto_scan_next(&scan, &field))
        if (field.number == ENTRY_LIST && field.type == WIRE_LEN)
            read_scope(work, field.bytes);
}

/* The batch with its records regrouped. NULL: no memory, or the work is too large. */
static struct batch *regrouped(struct regroup *work, const struct batch *batch)
{
    struct view request = buffer_view(batch->payload);
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field;
    struct bytes out;
    while (proto_scan_next(&scan, &field))
        if (field.number == 1 && field.type == WIRE_LEN)
            read_entry(work, field.bytes);
    work->too_large = work->groups.failed && !work->arena->starved;
    if (work->groups.failed)
        return NULL;
    bytes_init(&out, GROWTH * request.size + 4096, batch->payload->budget);
    struct proto_write write = proto_write_begin(&out);
    if (bytes_reserve(&out, request.size + request.size / 8 + 64) != BYTES_OK)
        return NULL;
    groups_write(&work->groups, &write);
    const char *fault = proto_write_fault(&write);
    work->too_large = fault && fault != proto_write_no_memory;
    struct buffer *payload = fault ? NULL : buffer_from_bytes(&out);
    bytes_release(&out);
    return payload ? batch_with_payload(batch, payload, work->grouped + work->others) : NULL;
}

/* A client must not send again what can never pass. */
static enum verdict refuse(const struct groupbyattrs *self)
{
    char text[REFUSAL_MAX];
    snprintf(text, sizeof text,
             "%s: the request becomes more than %d times as large, since its resources are "
             "repeated",
             self->id, GROWTH);
    refusal_set(text, CAUSE_INVALID);
    return VERDICT_REJECT;
}

/* The default boundaries of OpenTelemetry's SDKs, which the Collector uses here. */
static const struct histogram_bounds histogram_groups = {
    15, 1.0, {0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}};

static void count(struct groupbyattrs *self, const struct regroup *work)
{
    atomic_fetch_add(&self->grouped[work->signal], work->grouped);
    atomic_fetch_add(&self->others[work->signal], work->others);
    histogram_add(&self->resources[work->signal], &histogram_groups, work->groups.count);
}

static enum verdict groupbyattrs_consume(void *instance, struct batch *batch, struct outlet *next)
{
    struct arena arena;
    struct batch *ordered = batch_in_order(batch), *made = NULL;
    enum verdict verdict = VERDICT_RETRY;
    struct regroup work = {.self = instance, .signal = batch->signal, .arena = &arena};
    if (!ordered)
        return VERDICT_RETRY;
    arena_init(&arena, ((size_t)4 << 20) + 24 * ordered->payload->size);
    arena_charge(&arena, ordered->payload->budget, budget_use,
                 ARENA_SMALL + ordered->payload->size);
    attributes_read(&work.merged, VIEW(""), 1, &arena);
    groups_begin(&work.groups, batch->items, &arena);
    made = regrouped(&work, ordered);
    if (made)
        verdict = made->items ? outlet_push(next, made) : VERDICT_OK;
    else if (work.too_large)
        verdict = refuse(instance);
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
    .open = groupbyattrs_open,
    .consume = groupbyattrs_consume,
    .metrics = groupbyattrs_metrics,
};
