/* Editors of histograms: percentiles, and fewer buckets. */
#include "lib/ottl/counts.h"
#include "lib/ottl/function.h"
#include "lib/ottl/making.h"
#include "lib/ottl/metric_numbers.h"
#include "lib/ottl/path.h"

#include <math.h>
#include <stdio.h>

static double double_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* ---- extract_percentile_metric ---- */

enum found { FOUND, SKIPPED, MALFORMED };

/* A data point whose percentile is looked for. */
struct point {
    struct ottl_run *run;
    struct view body;
    uint64_t target; /* the rank that is looked for, from 1 */
};

static bool number_of(struct view message, uint32_t number, double *out)
{
    struct proto_field field;
    bool there = proto_find(message, number, WIRE_I64, &field);
    *out = there ? double_of(field.value) : 0;
    return there;
}

static uint64_t fixed_of(struct view message, uint32_t number)
{
    struct proto_field field;
    return proto_find(message, number, WIRE_I64, &field) ? field.value : 0;
}

static enum found between(double low, double high, double ratio, double *out)
{
    *out = low + ratio * (high - low);
    return ratio >= 0 && ratio <= 1 ? FOUND : MALFORMED;
}

/* The bounds of a bucket. False: *low is the answer, since the bucket has no end. */
static bool bounds_of(const struct point *point, const struct counts *bounds, size_t bucket,
                      double *low, double *high)
{
    double least, most;
    bool has_least = number_of(point->body, HISTOGRAM_MIN, &least);
    bool has_most = number_of(point->body, HISTOGRAM_MAX, &most);
    if (bucket == 0) {
        *high = double_of(bounds->of[0]);
        *low = has_least && least < *high ? least : 0;
        bool open = !(has_least && least < *high) && *high < 0;
        *low = open ? *high : *low;
        return !open;
    }
    *low = double_of(bounds->of[bucket - 1]);
    *high = bucket < bounds->count ? double_of(bounds->of[bucket]) : most;
    return bucket < bounds->count || (has_most && most > *low);
}

static enum found of_histogram(const struct point *point, double *out)
{
    struct counts counts = ottl_read_counts(point->run, point->body, HISTOGRAM_BUCKETS, false);
    struct counts bounds = ottl_read_counts(point->run, point->body, HISTOGRAM_BOUNDS, false);
    double low, high;
    uint64_t before = 0;
    if (!counts.of || !bounds.of)
        return MALFORMED;
    if (!counts.count)
        return SKIPPED;
    if (counts.count != bounds.count + 1)
        return MALFORMED;
    if (counts.count == 1)
        return number_of(point->body, HISTOGRAM_MIN, &low) &&
                       number_of(point->body, HISTOGRAM_MAX, &high)
                   ? between(low, high, (double)point->target / (double)counts.of[0], out)
                   : SKIPPED;
    for (size_t i = 0; i < counts.count; before += counts.of[i++]) {
        if (before + counts.of[i] < point->target)
            continue;
        if (!bounds_of(point, &bounds, i, &low, &high)) {
            *out = low;
            return FOUND;
        }
        return between(low, high, (double)(point->target - before) / (double)counts.of[i], out);
    }
    return MALFORMED;
}

static int64_t signed_of(struct view message, uint32_t number)
{
    uint64_t zigzag = proto_find_number(message, number);
    return (int32_t)(uint32_t)(zigzag >> 1) ^ -(int32_t)(zigzag & 1);
}

/* The lower bound of an exponential bucket (OpenTelemetry's metrics data model, exponential
 * histograms). */
static double exponential_bound(int64_t index, int64_t scale)
{
    if (scale > 0)
        return exp((double)index * ldexp(M_LN2, (int)-scale));
    int64_t exponent = scale <= -63 ? 0 : (int64_t)((uint64_t)index << -scale);
    return ldexp(1, (int)(exponent > 10000 ? 10000 : exponent < -10000 ? -10000 : exponent));
}

/* At a ratio of a bucket, on the logarithm of its values. */
static enum found in_bucket(int64_t index, int64_t scale, double ratio, double *out)
{
    double low = exponential_bound(index, scale), high = exponential_bound(index + 1, scale);
    if (!(ratio >= 0 && ratio <= 1) || low <= 0 || high <= 0 || low >= high)
        return MALFORMED;
    low = log2(low);
    *out = exp2(low + (log2(high) - low) * ratio);
    return FOUND;
}

static enum found of_exponential(const struct point *point, double *out)
{
    struct view positive = proto_find_bytes(point->body, EXPONENTIAL_POSITIVE);
    struct view negative = proto_find_bytes(point->body, EXPONENTIAL_NEGATIVE);
    struct counts above = ottl_read_counts(point->run, positive, BUCKETS_COUNTS, true);
    struct counts below = ottl_read_counts(point->run, negative, BUCKETS_COUNTS, true);
    uint64_t zeros = fixed_of(point->body, EXPONENTIAL_ZEROS), before = 0;
    int64_t scale = signed_of(point->body, EXPONENTIAL_SCALE);
    double threshold;
    if (!above.of || !below.of)
        return MALFORMED;
    if (!above.count && !below.count && !zeros)
        return SKIPPED;
    for (size_t i = below.count; i-- > 0; before += below.of[i])
        if (before + below.of[i] >= point->target) {
            double ratio = (double)(point->target - before) / (double)below.of[i];
            enum found found =
                in_bucket(signed_of(negative, BUCKETS_OFFSET) + (int64_t)i, scale, 1 - ratio, out);
            *out = -*out;
            return found;
        }
    if (before + zeros >= point->target) {
        number_of(point->body, EXPONENTIAL_ZERO_THRESHOLD, &threshold);
        return between(!below.count && above.count ? 0 : -threshold,
                       !above.count && below.count ? 0 : threshold,
                       (double)(point->target - before) / (double)zeros, out);
    }
    before += zeros;
    for (size_t i = 0; i < above.count; before += above.of[i++])
        if (before + above.of[i] >= point->target)
            return in_bucket(signed_of(positive, BUCKETS_OFFSET) + (int64_t)i, scale,
                             (double)(point->target - before) / (double)above.of[i], out);
    return MALFORMED;
}

/* Writes the percentile of a point. False: it has none. */
static bool put_percentile(struct making *making, struct ottl_run *run,
                           const struct ottl_node *call, struct view body, uint32_t kind)
{
    double percentile = call->items[0]->value.number, value = 0;
    uint64_t count = fixed_of(body, POINT_FIELD_COUNT);
    double target = ceil((double)count * (percentile / 100.0));
    struct point point = {run, body, target < (double)UINT64_MAX ? (uint64_t)target : UINT64_MAX};
    enum found found = !count                     ? SKIPPED
                       : kind == METRIC_HISTOGRAM ? of_histogram(&point, &value)
                                                  : of_exponential(&point, &value);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (found == MALFORMED)
        ottl_fail(run, "%s: the buckets of a data point do not match its count or its bounds",
                  call->function->name);
    if (found != FOUND)
        return false;
    size_t opened = proto_write_open(&making->write, DATA_POINTS);
    making_copy_frame(making, body, edit_list(SIGNAL_METRICS, EDIT_POINT, edit_point_of(kind)));
    proto_write_fixed64(&making->write, NUMBER_DOUBLE, bits);
    proto_write_close(&making->write, opened);
    return true;
}

static struct ottl_value extract_percentile(struct ottl_run *run, const struct ottl_node *call)
{
    const struct record *metric = &run->at->records[EDIT_ITEM];
    char number[400], note[410], suffix[410];
    struct view own = ottl_text_or(call, 1, "");
    struct proto_field data, field;
    struct making making;
    bool any = false;
    if (!ottl_metric_data(metric, &data) ||
        (data.number != METRIC_HISTOGRAM && data.number != METRIC_EXPONENTIAL))
        return ottl_nil();
    number[value_decimal_text(call->items[0]->value.number, number)] = '\0';
    snprintf(note, sizeof note, "p%s", number);
    snprintf(suffix, sizeof suffix, "_p%s", number);
    making_begin(&making, metric, own.size ? own : view_of(suffix), NULL, note, METRIC_GAUGE);
    struct proto_scan scan = proto_scan_begin(data.bytes);
    while (!run->failed && proto_scan_next(&scan, &field))
        if (field.number == DATA_POINTS &&
            put_percentile(&making, run, call, field.bytes, data.number))
            any = true;
    making_end(&making, run, call, any && !run->failed);
    return ottl_nil();
}

static const char *check_percentile(const struct ottl_node *call)
{
    const struct ottl_node *percentile = call->items[0];
    bool number = percentile->kind == NODE_LITERAL && percentile->value.type == TYPE_DOUBLE;
    if (!number || !(percentile->value.number > 0 && percentile->value.number < 100))
        return "expected a percentile above 0 and below 100 with a decimal point, such as 95.0";
    return !ottl_has(call, 1) || ottl_is_text(call->items[1])
               ? NULL
               : "the suffix must be a string literal";
}

/* ---- merge_histogram_buckets ---- */

static void set_packed(struct record *point, uint32_t number, const struct counts *counts,
                       struct ottl_run *run)
{
    uint8_t *out = arena_array_raw(ottl_arena(run), counts->count + 1, 8);
    if (!out) {
        ottl_fail(run, "out of memory");
        return;
    }
    for (size_t i = 0; i < 8 * counts->count; i++)
        out[i] = (uint8_t)(counts->of[i / 8] >> (8 * (i % 8)));
    record_set_bytes(point, number, (struct view){out, 8 * counts->count});
}

/* Merges the bucket below a bound with the next one. False: there is no such bound. */
static bool remove_bound(struct counts *counts, struct counts *bounds, double bound)
{
    for (size_t i = 0; i < bounds->count; i++) {
        if (!(fabs(double_of(bounds->of[i]) - bound) < 1e-12)) /* as the Collector */
            continue;
        counts->of[i + 1] += counts->of[i];
        memmove(bounds->of + i, bounds->of + i + 1, (bounds->count - i - 1) * sizeof *bounds->of);
        memmove(counts->of + i, counts->of + i + 1, (counts->count - i - 1) * sizeof *counts->of);
        bounds->count--;
        counts->count--;
        return true;
    }
    return false;
}

/* Merges every few neighbours. False: there are no more than that, or their bounds do not rise. */
static bool limit_buckets(struct counts *counts, struct counts *bounds, uint64_t most)
{
    if (counts->count <= most)
        return false;
    for (size_t i = 1; i < bounds->count; i++)
        if (!(double_of(bounds->of[i]) > double_of(bounds->of[i - 1])))
            return false;
    size_t each = (counts->count - 1) / (size_t)most + 1, made = 0, kept = 0;
    for (size_t i = 0; i < counts->count; i++) {
        made += i % each == 0;
        counts->of[made - 1] = counts->of[i] + (i % each ? counts->of[made - 1] : 0);
    }
    for (size_t i = each - 1; i < bounds->count; i += each)
        bounds->of[kept++] = bounds->of[i];
    counts->count = made;
    bounds->count = kept;
    return true;
}

static bool limits(const struct ottl_node *call)
{
    return view_eq(ottl_text_or(call, 1, ""), VIEW("limit_buckets"));
}

static bool is_limit(double target)
{
    return target >= 1 && trunc(target) == target && target <= (double)INT64_MAX;
}

/* The argument as Double reads it. */
static bool target_of(struct ottl_run *run, const struct ottl_node *call, double *target)
{
    const struct ottl_function *converter = ottl_function_find(VIEW("Double"));
    struct ottl_node inner = {
        .kind = NODE_CALL, .function = converter, .items = call->items, .count = 1};
    struct ottl_value value = converter->fn(run, &inner);
    if (!run->failed && value.type != TYPE_DOUBLE)
        ottl_fail(run, "merge_histogram_buckets takes a number");
    else if (!run->failed && limits(call) && !is_limit(value.number))
        ottl_fail(run, "merge_histogram_buckets takes a positive integer with limit_buckets");
    *target = run->failed ? 0 : value.number;
    return !run->failed;
}

static struct ottl_value merge_buckets(struct ottl_run *run, const struct ottl_node *call)
{
    struct record *point = &run->at->records[EDIT_POINT];
    double target;
    if (run->at->point_kind != EDIT_HISTOGRAM || !target_of(run, call, &target))
        return ottl_nil();
    struct view body = record_body(point);
    struct counts counts = {0}, bounds = {0};
    if (body.data) {
        counts = ottl_read_counts(run, body, HISTOGRAM_BUCKETS, false);
        bounds = ottl_read_counts(run, body, HISTOGRAM_BOUNDS, false);
    }
    if (!counts.of || !bounds.of)
        return ottl_fail(run, "out of memory");
    if (counts.count != bounds.count + 1 || counts.count == 1)
        return ottl_nil();
    uint64_t most = limits(call) && target < 1e9 ? (uint64_t)target : 1000000000;
    if (limits(call) ? !limit_buckets(&counts, &bounds, most)
                     : !remove_bound(&counts, &bounds, target))
        return ottl_nil();
    set_packed(point, HISTOGRAM_BUCKETS, &counts, run);
    set_packed(point, HISTOGRAM_BOUNDS, &bounds, run);
    return ottl_nil();
}

/* Of a literal text. False: it is no number. */
static bool literal_number(const struct ottl_node *call, double *number)
{
    struct ottl_run run = {0};
    const struct ottl_function *converter = ottl_function_find(VIEW("Double"));
    struct ottl_node inner = {
        .kind = NODE_CALL, .function = converter, .items = call->items, .count = 1};
    *number = converter->fn(&run, &inner).number;
    return !run.failed;
}

static const char *check_merge(const struct ottl_node *call)
{
    static const char *const methods[] = {"remove_explicit_bound", "limit_buckets", NULL};
    const struct ottl_node *target = call->items[0];
    enum ottl_type type = target->kind == NODE_LITERAL ? target->value.type : TYPE_STRING;
    double number = type == TYPE_INT      ? (double)target->value.integer
                    : type == TYPE_DOUBLE ? target->value.number
                                          : 1;
    if (ottl_has(call, 1) && !ottl_is_one_of(call->items[1], methods))
        return "expected the method \"remove_explicit_bound\" or \"limit_buckets\"";
    if (type == TYPE_NIL || (ottl_is_text(target) && !literal_number(call, &number)))
        return "expected a number";
    return limits(call) && !is_limit(number)
               ? "expected a positive integer with the method \"limit_buckets\""
               : NULL;
}

const struct ottl_function ottl_histogram_editors[] = {
    {"extract_percentile_metric", "percentile,suffix?", extract_percentile, FN_NO_PATTERN, false,
     (1u << OTTL_METRIC) | FN_ADDS_ITEMS, check_percentile},
    {"merge_histogram_buckets", "target_value,method?", merge_buckets, FN_NO_PATTERN, false,
     1u << OTTL_DATAPOINT, check_merge},
    {0},
};
