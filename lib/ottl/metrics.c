/* Editors of metrics: some change the metric itself, others add metrics made from it. */
#include "lib/ottl/function.h"
#include "lib/ottl/making.h"
#include "lib/ottl/metric_numbers.h"
#include "lib/ottl/path.h"
#include "lib/wire/proto/proto_write.h"

enum { MADE_MOST = 64 << 20 };

static double double_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* ---- sums and gauges ---- */

/* Changes the type of a metric. Of its data, only the data points are kept. */
static void convert(struct ottl_run *run, uint32_t from, uint32_t to, uint64_t temporality,
                    bool monotonic)
{
    struct record *metric = &run->at->records[EDIT_ITEM], inner;
    struct proto_field data;
    if (!ottl_metric_data(metric, &data) || data.number != from)
        return;
    record_begin(&inner, &data, 0, NULL, ottl_arena(run));
    record_clear(&inner, DATA_TEMPORALITY);
    record_clear(&inner, SUM_MONOTONIC);
    if (to == METRIC_SUM) {
        record_set_varint(&inner, DATA_TEMPORALITY, temporality);
        record_set_varint(&inner, SUM_MONOTONIC, monotonic);
    }
    struct view made = record_field(&inner, to);
    if (!made.data) {
        ottl_fail(run, "out of memory");
        return;
    }
    record_clear(metric, from);
    record_set_fields(metric, to, made);
}

static struct ottl_value sum_to_gauge(struct ottl_run *run, const struct ottl_node *call)
{
    (void)call;
    convert(run, METRIC_SUM, METRIC_GAUGE, 0, false);
    return ottl_nil();
}

static const char *check_monotonic(const struct ottl_node *call, size_t i)
{
    const struct ottl_node *monotonic = call->items[i];
    if (monotonic->kind != NODE_LITERAL || monotonic->value.type != TYPE_BOOL)
        return "expected true or false: whether it is monotonic";
    if (ottl_has(call, i + 1) && !ottl_is_text(call->items[i + 1]))
        return "the suffix must be a string literal";
    return NULL;
}

static const char *check_sum(const struct ottl_node *call)
{
    static const char *const temporalities[] = {"delta", "cumulative", NULL};
    return ottl_is_one_of(call->items[0], temporalities)
               ? check_monotonic(call, 1)
               : "expected the aggregation temporality \"delta\" or \"cumulative\"";
}

static uint64_t temporality_of(const struct ottl_node *call)
{
    return view_eq(call->items[0]->value.bytes, VIEW("delta")) ? TEMPORALITY_DELTA
                                                               : TEMPORALITY_CUMULATIVE;
}

static struct ottl_value gauge_to_sum(struct ottl_run *run, const struct ottl_node *call)
{
    convert(run, METRIC_GAUGE, METRIC_SUM, temporality_of(call), call->items[1]->value.boolean);
    return ottl_nil();
}

/* ---- metrics made of a metric ---- */

/* What is taken from a point: its count as an int, or its sum as a double. */
enum taken { TAKE_COUNT, TAKE_SUM };

/* Writes the point. False: it has no such number. A summary always has a sum. */
static bool take(struct making *making, struct view point, uint32_t kind, enum taken taken)
{
    struct proto_field field;
    uint32_t number = taken == TAKE_COUNT ? POINT_FIELD_COUNT : POINT_FIELD_SUM;
    bool there = proto_find(point, number, WIRE_I64, &field);
    if (!there && taken == TAKE_SUM && kind != METRIC_SUMMARY)
        return false;
    size_t opened = proto_write_open(&making->write, DATA_POINTS);
    making_copy_frame(making, point, edit_list(SIGNAL_METRICS, EDIT_POINT, edit_point_of(kind)));
    proto_write_fixed64(&making->write, taken == TAKE_COUNT ? NUMBER_INT : NUMBER_DOUBLE,
                        there ? field.value : 0);
    proto_write_close(&making->write, opened);
    return true;
}

static struct ottl_value extract(struct ottl_run *run, const struct ottl_node *call,
                                 enum taken taken)
{
    const struct record *metric = &run->at->records[EDIT_ITEM];
    struct proto_field data, field;
    struct making making;
    bool any = false;
    uint64_t temporality = 0;
    if (ottl_metric_data(metric, &data) && data.number >= METRIC_HISTOGRAM) {
        temporality = TEMPORALITY_CUMULATIVE;
        if (data.number != METRIC_SUMMARY)
            temporality =
                proto_find(data.bytes, DATA_TEMPORALITY, WIRE_VARINT, &field) ? field.value : 0;
    }
    if (!temporality)
        return ottl_fail(run, "%s takes a histogram with a temporality, or a summary",
                         call->function->name);
    making_begin(&making, metric, ottl_text_or(call, 1, taken == TAKE_COUNT ? "_count" : "_sum"),
                 taken == TAKE_COUNT ? "1" : NULL, NULL, METRIC_SUM);
    struct proto_scan scan = proto_scan_begin(data.bytes);
    while (proto_scan_next(&scan, &field))
        if (field.number == DATA_POINTS && take(&making, field.bytes, data.number, taken))
            any = true;
    proto_write_number(&making.write, DATA_TEMPORALITY, temporality);
    proto_write_number(&making.write, SUM_MONOTONIC, call->items[0]->value.boolean);
    making_end(&making, run, call, any);
    return ottl_nil();
}

static struct ottl_value extract_count(struct ottl_run *run, const struct ottl_node *call)
{
    return extract(run, call, TAKE_COUNT);
}

static struct ottl_value extract_sum(struct ottl_run *run, const struct ottl_node *call)
{
    return extract(run, call, TAKE_SUM);
}

static const char *check_extract(const struct ottl_node *call)
{
    return check_monotonic(call, 0);
}

/* For each data point of a summary, a sum of all its data points as they are then: that is what the
 * Collector does, and the same where a metric has one of them. */
static struct ottl_value summary_to_sum(struct ottl_run *run, const struct ottl_node *call,
                                        enum taken taken)
{
    struct making making;
    struct proto_field field;
    size_t index = 0;
    if (run->at->data_number != METRIC_SUMMARY)
        return ottl_nil();
    struct view body = record_body(run->at->data),
                point = record_body(&run->at->records[EDIT_POINT]);
    if (!body.data || !point.data)
        return ottl_fail(run, "out of memory");
    making_begin(&making, &run->at->records[EDIT_ITEM],
                 ottl_text_or(call, 2, taken == TAKE_COUNT ? "_count" : "_sum"), NULL, NULL,
                 METRIC_SUM);
    struct proto_scan scan = proto_scan_begin(body);
    while (proto_scan_next(&scan, &field))
        if (field.number == DATA_POINTS)
            take(&making, index++ == run->at->point_index ? point : field.bytes, METRIC_SUMMARY,
                 taken);
    proto_write_number(&making.write, DATA_TEMPORALITY, temporality_of(call));
    proto_write_number(&making.write, SUM_MONOTONIC, call->items[1]->value.boolean);
    making_end(&making, run, call, true);
    return ottl_nil();
}

static struct ottl_value summary_count_to_sum(struct ottl_run *run, const struct ottl_node *call)
{
    return summary_to_sum(run, call, TAKE_COUNT);
}

static struct ottl_value summary_sum_to_sum(struct ottl_run *run, const struct ottl_node *call)
{
    return summary_to_sum(run, call, TAKE_SUM);
}

/* One data point of a gauge for each quantile of a summary's. */
static void put_quantile(struct making *making, struct ottl_run *run, struct view point,
                         struct view quantile, struct view key)
{
    struct proto_field field;
    struct attributes list;
    uint64_t which = proto_find(quantile, QUANTILE_QUANTILE, WIRE_I64, &field) ? field.value : 0;
    struct value value = {.kind = VALUE_DOUBLE, .number = double_of(which)};
    attributes_read(&list, point, NUMBER_ATTRIBUTES, ottl_arena(run));
    attributes_set(&list, key, &value);
    size_t size = attributes_size(&list, NUMBER_ATTRIBUTES);
    uint8_t *text = arena_array_raw(ottl_arena(run), size, 1);
    if (list.failed || !text) {
        ottl_fail(run, "out of memory");
        return;
    }
    size_t opened = proto_write_open(&making->write, DATA_POINTS);
    making_copy_frame(making, point, 0);
    proto_write_raw(&making->write,
                    view_between(text, attributes_put(text, &list, NUMBER_ATTRIBUTES)));
    proto_write_fixed64(&making->write, NUMBER_DOUBLE,
                        proto_find(quantile, QUANTILE_VALUE, WIRE_I64, &field) ? field.value : 0);
    proto_write_close(&making->write, opened);
}

static struct ottl_value quantiles_to_gauge(struct ottl_run *run, const struct ottl_node *call)
{
    const struct record *metric = &run->at->records[EDIT_ITEM];
    struct proto_field data, point, field;
    struct making making;
    if (!ottl_metric_data(metric, &data) || data.number != METRIC_SUMMARY)
        return ottl_nil();
    making_begin(&making, metric, ottl_text_or(call, 1, ".quantiles"), NULL, NULL, METRIC_GAUGE);
    struct proto_scan scan = proto_scan_begin(data.bytes), quantiles;
    while (proto_scan_next(&scan, &point)) {
        if (point.number != DATA_POINTS)
            continue;
        quantiles = proto_scan_begin(point.bytes);
        while (!run->failed && proto_scan_next(&quantiles, &field))
            if (field.number == SUMMARY_QUANTILES)
                put_quantile(&making, run, point.bytes, field.bytes,
                             ottl_text_or(call, 0, "quantile"));
    }
    making_end(&making, run, call, !run->failed);
    return ottl_nil();
}

static const char *check_texts(const struct ottl_node *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (ottl_has(call, i) && !ottl_is_text(call->items[i]))
            return "expected string literals";
    return NULL;
}

static struct ottl_value copy_metric(struct ottl_run *run, const struct ottl_node *call)
{
    static const uint32_t numbers[] = {METRIC_NAME, METRIC_DESCRIPTION, METRIC_UNIT};
    struct proto_field field = {.bytes = record_body(&run->at->records[EDIT_ITEM])};
    struct record copy;
    if (!field.bytes.data)
        return ottl_fail(run, "out of memory");
    record_begin(&copy, &field, 0, NULL, ottl_arena(run));
    for (size_t i = 0; i < 3; i++)
        if (ottl_has(call, i))
            record_set_bytes(&copy, numbers[i], ottl_arg_string(run, call, i));
    struct view made = run->failed ? (struct view){0} : record_field(&copy, SCOPE_METRICS);
    if (made.data)
        making_add(run, call, made);
    else if (!run->failed)
        ottl_fail(run, "out of memory");
    return ottl_nil();
}

/* ---- scaling ---- */

/* The numbers of a message that are multiplied. */
struct scaled {
    uint32_t number;
    enum { SCALE_DOUBLE, SCALE_INT, SCALE_DOUBLES, SCALE_MESSAGE } how;
    const struct scaled *inner; /* MESSAGE */
};

static const struct scaled number_point[] = {
    {NUMBER_DOUBLE, SCALE_DOUBLE, NULL}, {NUMBER_INT, SCALE_INT, NULL}, {0}};
static const struct scaled exemplar[] = {
    {EXEMPLAR_DOUBLE, SCALE_DOUBLE, NULL}, {EXEMPLAR_INT, SCALE_INT, NULL}, {0}};
static const struct scaled histogram_point[] = {{POINT_FIELD_SUM, SCALE_DOUBLE, NULL},
                                                {HISTOGRAM_MIN, SCALE_DOUBLE, NULL},
                                                {HISTOGRAM_MAX, SCALE_DOUBLE, NULL},
                                                {HISTOGRAM_BOUNDS, SCALE_DOUBLES, NULL},
                                                {HISTOGRAM_EXEMPLARS, SCALE_MESSAGE, exemplar},
                                                {0}};
static const struct scaled quantile_value[] = {{QUANTILE_VALUE, SCALE_DOUBLE, NULL}, {0}};
static const struct scaled summary_point[] = {
    {POINT_FIELD_SUM, SCALE_DOUBLE, NULL}, {SUMMARY_QUANTILES, SCALE_MESSAGE, quantile_value}, {0}};

static uint64_t scaled_int(uint64_t bits, double by)
{
    double number = (double)(int64_t)bits * by;
    bool fits = number > -9223372036854775808.0 && number < 9223372036854775808.0;
    return (uint64_t)(fits ? (int64_t)number : INT64_MIN);
}

static void scale_packed(struct proto_write *write, const struct proto_field *field, double by)
{
    size_t opened = proto_write_open(write, field->number);
    for (size_t at = 0; at + 8 <= field->bytes.size; at += 8) {
        uint8_t out[8];
        uint64_t bits = 0;
        for (unsigned i = 0; i < 8; i++)
            bits |= (uint64_t)field->bytes.data[at + i] << (8 * i);
        bits = bits_of(double_of(bits) * by);
        for (unsigned i = 0; i < 8; i++)
            out[i] = (uint8_t)(bits >> (8 * i));
        proto_write_raw(write, (struct view){out, sizeof out});
    }
    proto_write_close(write, opened);
}

static void scale(struct proto_write *write, struct view message, const struct scaled *table,
                  double by)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        const struct scaled *row = table;
        while (row->number && row->number != field.number)
            row++;
        if (row->number && row->how == SCALE_MESSAGE && field.type == WIRE_LEN) {
            size_t opened = proto_write_open(write, field.number);
            scale(write, field.bytes, row->inner, by);
            proto_write_close(write, opened);
        } else if (row->number && row->how == SCALE_DOUBLES && field.type == WIRE_LEN) {
            scale_packed(write, &field, by);
        } else if (row->number && field.type == WIRE_I64) {
            uint64_t bits = row->how == SCALE_INT ? scaled_int(field.value, by)
                                                  : bits_of(double_of(field.value) * by);
            proto_write_fixed64(write, field.number, bits);
        } else {
            proto_write_raw(write, view_between(field.start, field.end));
        }
    }
}

static struct ottl_value scale_metric(struct ottl_run *run, const struct ottl_node *call)
{
    static const struct scaled points[][2] = {
        [METRIC_GAUGE] = {{DATA_POINTS, SCALE_MESSAGE, number_point}},
        [METRIC_SUM] = {{DATA_POINTS, SCALE_MESSAGE, number_point}},
        [METRIC_HISTOGRAM] = {{DATA_POINTS, SCALE_MESSAGE, histogram_point}},
        [METRIC_EXPONENTIAL] = {{0}},
        [METRIC_SUMMARY] = {{DATA_POINTS, SCALE_MESSAGE, summary_point}},
    };
    struct record *metric = &run->at->records[EDIT_ITEM];
    struct view unit = ottl_has(call, 1) ? ottl_arg_string(run, call, 1) : (struct view){0};
    struct proto_field data;
    if (run->failed)
        return ottl_nil();
    if (!ottl_metric_data(metric, &data) || data.number == METRIC_EXPONENTIAL)
        return ottl_fail(run, "scale_metric takes a gauge, sum, histogram or summary");
    struct bytes out;
    bytes_init(&out, MADE_MOST, NULL);
    struct proto_write write = proto_write_begin(&out);
    size_t opened = proto_write_open(&write, data.number);
    scale(&write, data.bytes, points[data.number], call->items[0]->value.number);
    proto_write_close(&write, opened);
    if (write.result != BYTES_OK)
        ottl_fail(run, "out of memory");
    struct view made = run->failed ? (struct view){0} : ottl_keep(run, bytes_view(&out));
    bytes_release(&out);
    if (made.data)
        record_set_fields(metric, data.number, made);
    if (made.data && unit.data)
        record_set_bytes(metric, METRIC_UNIT, unit);
    return ottl_nil();
}

static const char *check_scale(const struct ottl_node *call)
{
    const struct ottl_node *by = call->items[0];
    return by->kind == NODE_LITERAL && by->value.type == TYPE_DOUBLE
               ? NULL
               : "expected a multiplier with a decimal point, such as 10.0";
}

#define ON_METRICS (1u << OTTL_METRIC)
#define ON_POINTS  (1u << OTTL_DATAPOINT)

const struct ottl_function ottl_metric_editors[] = {
    {"convert_sum_to_gauge", "", sum_to_gauge, FN_NO_PATTERN, false, ON_METRICS, NULL},
    {"convert_gauge_to_sum", "string_agg_temp,monotonic", gauge_to_sum, FN_NO_PATTERN, false,
     ON_METRICS, check_sum},
    {"extract_count_metric", "monotonic,suffix?", extract_count, FN_NO_PATTERN, false,
     ON_METRICS | FN_ADDS_ITEMS, check_extract},
    {"extract_sum_metric", "monotonic,suffix?", extract_sum, FN_NO_PATTERN, false,
     ON_METRICS | FN_ADDS_ITEMS, check_extract},
    {"convert_summary_count_val_to_sum", "string_agg_temp,monotonic,suffix?", summary_count_to_sum,
     FN_NO_PATTERN, false, ON_POINTS | FN_ADDS_ITEMS, check_sum},
    {"convert_summary_sum_val_to_sum", "string_agg_temp,monotonic,suffix?", summary_sum_to_sum,
     FN_NO_PATTERN, false, ON_POINTS | FN_ADDS_ITEMS, check_sum},
    {"convert_summary_quantile_val_to_gauge", "attribute_key?,suffix?", quantiles_to_gauge,
     FN_NO_PATTERN, false, ON_METRICS | FN_ADDS_ITEMS, check_texts},
    {"copy_metric", "name?,description?,unit?", copy_metric, FN_NO_PATTERN, false,
     ON_METRICS | FN_ADDS_ITEMS, NULL},
    {"scale_metric", "multiplier,unit?", scale_metric, FN_NO_PATTERN, false, ON_METRICS,
     check_scale},
    {0},
};
