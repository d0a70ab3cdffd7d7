#include "lib/ottl/making.h"

#include "lib/ottl/metric_numbers.h"

enum { MADE_MOST = 64 << 20, GENERATIONS = 4 };

void making_add(struct ottl_run *run, const struct ottl_node *call, struct view field)
{
    if (run->at->generation >= GENERATIONS)
        ottl_fail(run, "%s also runs for the metrics that it adds, add a where that excludes them",
                  call->function->name);
    else if (!run->failed && !request_edit_add_item(run->at, field))
        ottl_fail(run, "out of memory");
}

static void copy_text(struct making *making, const struct record *metric, uint32_t number)
{
    struct proto_field field;
    if (record_get(metric, number, &field) && field.bytes.size)
        proto_write_bytes(&making->write, number, field.bytes);
}

/* "cart (p95)", or "p95" where the other metric has no description. */
static void describe(struct making *making, const struct record *metric, const char *note)
{
    struct proto_field field;
    bool there = record_get(metric, METRIC_DESCRIPTION, &field) && field.bytes.size;
    size_t opened = proto_write_open(&making->write, METRIC_DESCRIPTION);
    if (there)
        proto_write_raw(&making->write, field.bytes);
    proto_write_raw(&making->write, there ? VIEW(" (") : VIEW(""));
    proto_write_raw(&making->write, view_of(note));
    proto_write_raw(&making->write, there ? VIEW(")") : VIEW(""));
    proto_write_close(&making->write, opened);
}

void making_begin(struct making *making, const struct record *metric, struct view suffix,
                  const char *unit, const char *note, uint32_t number)
{
    struct proto_field name;
    bytes_init(&making->out, MADE_MOST, NULL);
    making->write = proto_write_begin(&making->out);
    making->metric = proto_write_open(&making->write, SCOPE_METRICS);
    size_t opened = proto_write_open(&making->write, METRIC_NAME);
    if (record_get(metric, METRIC_NAME, &name))
        proto_write_raw(&making->write, name.bytes);
    proto_write_raw(&making->write, suffix);
    proto_write_close(&making->write, opened);
    if (note)
        describe(making, metric, note);
    else
        copy_text(making, metric, METRIC_DESCRIPTION);
    if (unit)
        proto_write_bytes(&making->write, METRIC_UNIT, view_of(unit));
    else
        copy_text(making, metric, METRIC_UNIT);
    making->data = proto_write_open(&making->write, number);
}

void making_end(struct making *making, struct ottl_run *run, const struct ottl_node *call,
                bool wanted)
{
    proto_write_close(&making->write, making->data);
    proto_write_close(&making->write, making->metric);
    if (making->write.result != BYTES_OK)
        ottl_fail(run, "out of memory");
    else if (wanted)
        making_add(run, call, ottl_keep(run, bytes_view(&making->out)));
    bytes_release(&making->out);
}

void making_copy_frame(struct making *making, struct view point, uint32_t list)
{
    struct proto_scan scan = proto_scan_begin(point);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number == list && field.type == WIRE_LEN)
            proto_write_bytes(&making->write, NUMBER_ATTRIBUTES, field.bytes);
        else if (field.number == POINT_FIELD_START || field.number == POINT_FIELD_TIME)
            proto_write_raw(&making->write, view_between(field.start, field.end));
}
