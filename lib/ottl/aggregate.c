/* Editors that merge data points of a metric. */
#include "lib/ottl/counts.h"
#include "lib/ottl/function.h"
#include "lib/ottl/metric_numbers.h"
#include "lib/ottl/path.h"
#include "lib/wire/proto/proto_write.h"
#include "lib/wire/proto/view_set.h"

#include <math.h>
#include <stdlib.h>

enum { KEY_MOST = 16 << 20 };

enum aggregation {
    AGGREGATE_SUM,
    AGGREGATE_MEAN,
    AGGREGATE_MIN,
    AGGREGATE_MAX,
    AGGREGATE_MEDIAN,
    AGGREGATE_COUNT
};
static const char *const aggregations[] = {"sum", "mean", "min", "max", "median", "count", NULL};

/* A data point. Those with equal attributes and times are a group, in order. */
struct point {
    struct proto_field field;
    struct point *next;
};

struct group {
    struct point *first, *last;
    size_t count;
};

typedef void prepare_fn(struct attributes *list, const struct ottl_node *call);

struct merging {
    struct ottl_run *run;
    const struct ottl_node *call;
    prepare_fn *prepare;
    uint32_t list;         /* number of a point's attributes */
    struct arena *scratch; /* for one point after another, or one group: see renew */
    struct record point;   /* in it */
    enum aggregation how;
    uint32_t kind; /* METRIC_GAUGE and so on */
    bool delta;
    struct group *groups;
    struct view_set keys;
};

static uint64_t fixed(const struct record *record, uint32_t number)
{
    struct proto_field field;
    return record_get(record, number, &field) ? field.value : 0;
}

static bool has(const struct record *record, uint32_t number)
{
    struct proto_field field;
    return record_get(record, number, &field);
}

static double number_of(const struct record *record, uint32_t number)
{
    uint64_t bits = fixed(record, number);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void set_number(struct record *record, uint32_t number, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    record_set_fixed64(record, number, bits);
}

/* The earliest start is used. */
static void merge_start(struct record *base, const struct record *other)
{
    if (fixed(other, POINT_FIELD_START) < fixed(base, POINT_FIELD_START))
        record_set_fixed64(base, POINT_FIELD_START, fixed(other, POINT_FIELD_START));
}

/* ---- numbers ---- */

static double as_double(const struct record *point)
{
    return has(point, NUMBER_DOUBLE) ? number_of(point, NUMBER_DOUBLE)
                                     : (double)(int64_t)fixed(point, NUMBER_INT);
}

static int64_t as_int(const struct record *point)
{
    double number = number_of(point, NUMBER_DOUBLE);
    bool fits = number > -9223372036854775808.0 && number < 9223372036854775808.0;
    if (has(point, NUMBER_DOUBLE))
        return fits ? (int64_t)number : INT64_MIN;
    return (int64_t)fixed(point, NUMBER_INT);
}

static int by_double(const void *a, const void *b)
{
    const double *one = a, *two = b; /* NaNs come first */
    return (*one > *two || (*one == *one && *two != *two)) -
           (*one < *two || (*one != *one && *two == *two));
}

static int by_int(const void *a, const void *b)
{
    const int64_t *one = a, *two = b;
    return (*one > *two) - (*one < *two);
}

/* As Go has them: a NaN stays unless the other is infinite in that direction; -0 is below 0. */
static double lesser(double a, double b)
{
    if (a != a || b != b)
        return a == -INFINITY || b == -INFINITY ? -INFINITY : NAN;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static double aggregate_doubles(enum aggregation how, double *values, size_t count)
{
    double result = values[0];
    for (size_t i = 1; i < count; i++)
        result = how == AGGREGATE_MIN   ? lesser(result, values[i])
                 : how == AGGREGATE_MAX ? -lesser(-result, -values[i])
                                        : result + values[i];
    if (how == AGGREGATE_MEAN)
        result /= (double)count;
    if (how == AGGREGATE_COUNT)
        result = (double)count;
    if (how == AGGREGATE_MEDIAN) {
        qsort(values, count, sizeof *values, by_double);
        result = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    }
    return result;
}

/* Sums wrap around, as those of the Collector do. */
static int64_t aggregate_ints(enum aggregation how, int64_t *values, size_t count)
{
    if (count == 0)
        return 0;
    uint64_t sum = 0;
    int64_t least = values[0], most = values[0];
    for (size_t i = 0; i < count; i++) {
        sum += (uint64_t)values[i];
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if (how == AGGREGATE_MIN || how == AGGREGATE_MAX)
        return how == AGGREGATE_MIN ? least : most;
    if (how == AGGREGATE_COUNT)
        return (int64_t)count;
    if (how == AGGREGATE_MEAN)
        return (int64_t)sum / (int64_t)count;
    if (how == AGGREGATE_SUM)
        return (int64_t)sum;
    qsort(values, count, sizeof *values, by_int);
    uint64_t middle = (uint64_t)values[count / 2 - 1] + (uint64_t)values[count / 2];
    return count % 2 ? values[count / 2] : (int64_t)middle / 2;
}

enum { RENEW_AT = 256 << 10 };

/* Lets go what was made for earlier points, once it is much. */
static void renew(struct merging *merging)
{
    if (merging->scratch->used < RENEW_AT)
        return;
    arena_release(merging->scratch);
    merging->point = (struct record){0};
}

/* The point as a record, without its attributes. */
static struct record *open_other(struct merging *merging, const struct point *point)
{
    record_begin(&merging->point, &point->field, merging->list, NULL, merging->scratch);
    return &merging->point;
}

/* The result has the type of the first. A single point is left unchanged, even by "count". */
static bool merge_numbers(struct merging *merging, struct record *base, const struct group *group)
{
    bool integer = !has(base, NUMBER_DOUBLE);
    bool adds = merging->how == AGGREGATE_SUM || merging->how == AGGREGATE_MEAN;
    double *doubles = arena_array_raw(merging->scratch, group->count, sizeof *doubles);
    int64_t *ints = arena_array_raw(merging->scratch, group->count, sizeof *ints);
    size_t count = 0;
    if (!doubles || !ints)
        return false;
    if (integer && !has(base, NUMBER_INT))
        return true;
    for (const struct point *at = group->first; at; at = at->next, count++) {
        const struct record *point = open_other(merging, at);
        doubles[count] = as_double(point);
        ints[count] = adds ? (int64_t)fixed(point, NUMBER_INT) : as_int(point);
        merge_start(base, point);
    }
    if (integer)
        record_set_fixed64(base, NUMBER_INT, (uint64_t)aggregate_ints(merging->how, ints, count));
    else
        set_number(base, NUMBER_DOUBLE, aggregate_doubles(merging->how, doubles, count));
    return true;
}

/* ---- histograms ---- */

/* The fields with a number, of one and then of the other. */
static bool join_fields(struct ottl_run *run, struct record *base, const struct record *other,
                        uint32_t number)
{
    struct view bodies[] = {record_body(base), other->body};
    struct bytes out;
    bool ok = bodies[0].data;
    bytes_init(&out, bodies[0].size + bodies[1].size, NULL);
    for (size_t i = 0; ok && i < 2; i++) {
        struct proto_scan scan = proto_scan_begin(bodies[i]);
        struct proto_field field;
        while (ok && proto_scan_next(&scan, &field))
            if (field.number == number)
                ok = bytes_append_view(&out, view_between(field.start, field.end)) == BYTES_OK;
    }
    struct view kept = ok ? ottl_keep(run, bytes_view(&out)) : (struct view){0};
    bytes_release(&out);
    if (kept.size)
        record_set_fields(base, number, kept);
    return kept.data;
}

/* Count, sum, minimum and maximum, at numbers of their own in each kind of histogram. */
static void merge_figures(struct record *base, const struct record *other, uint32_t least,
                          uint32_t most)
{
    record_set_fixed64(base, POINT_FIELD_COUNT,
                       fixed(base, POINT_FIELD_COUNT) + fixed(other, POINT_FIELD_COUNT));
    set_number(base, POINT_FIELD_SUM,
               number_of(base, POINT_FIELD_SUM) + number_of(other, POINT_FIELD_SUM));
    if (has(base, least) && number_of(base, least) > number_of(other, least))
        set_number(base, least, number_of(other, least));
    if (has(base, most) && number_of(base, most) < number_of(other, most))
        set_number(base, most, number_of(other, most));
    merge_start(base, other);
}

static bool merge_histogram(struct ottl_run *run, struct record *base, const struct record *other)
{
    struct counts one = ottl_read_counts(run, record_body(base), HISTOGRAM_BUCKETS, false);
    struct counts two = ottl_read_counts(run, other->body, HISTOGRAM_BUCKETS, false);
    uint8_t *text = arena_array_raw(ottl_arena(run), one.count + 1, 8);
    if (!one.of || !two.of || !text)
        return false;
    merge_figures(base, other, HISTOGRAM_MIN, HISTOGRAM_MAX);
    for (size_t i = 0; i < one.count; i++) {
        uint64_t sum = one.of[i] + (i < two.count ? two.of[i] : 0);
        for (unsigned j = 0; j < 8; j++)
            text[8 * i + j] = (uint8_t)(sum >> (8 * j));
    }
    if (one.count)
        record_set_bytes(base, HISTOGRAM_BUCKETS, (struct view){text, 8 * one.count});
    return join_fields(run, base, other, HISTOGRAM_EXEMPLARS);
}

/* ---- exponential histograms ---- */

struct buckets {
    int64_t offset;
    struct counts counts;
};

static int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static struct buckets read_buckets(struct ottl_run *run, const struct record *point,
                                   uint32_t number)
{
    struct proto_field field, offset;
    struct view body = record_get(point, number, &field) ? field.bytes : VIEW("");
    int64_t first =
        proto_find(body, BUCKETS_OFFSET, WIRE_VARINT, &offset) ? unzigzag(offset.value) : 0;
    return (struct buckets){first, ottl_read_counts(run, body, BUCKETS_COUNTS, true)};
}

enum { BUCKETS_MOST = 100000 };

/* Adds the buckets of another point. False: no room, or too far apart. */
static bool merge_buckets(struct ottl_run *run, struct record *base, const struct record *other,
                          uint32_t number)
{
    struct buckets one = read_buckets(run, base, number), two = read_buckets(run, other, number);
    struct buckets *both[] = {&one, &two};
    if (!one.counts.of || !two.counts.of || !two.counts.count)
        return one.counts.of && two.counts.of;
    int64_t first = one.counts.count && one.offset < two.offset ? one.offset : two.offset,
            end = first;
    for (size_t i = 0; i < 2; i++)
        if (both[i]->counts.count && both[i]->offset + (int64_t)both[i]->counts.count > end)
            end = both[i]->offset + (int64_t)both[i]->counts.count;
    uint64_t *sums = end - first <= BUCKETS_MOST
                         ? arena_array(ottl_arena(run), (size_t)(end - first), sizeof *sums)
                         : NULL;
    if (!sums)
        return false;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < both[i]->counts.count; j++)
            sums[(size_t)(both[i]->offset - first) + j] += both[i]->counts.of[j];
    struct bytes out;
    bytes_init(&out, (size_t)16 * BUCKETS_MOST, NULL);
    struct proto_write write = proto_write_begin(&out);
    proto_write_number(&write, BUCKETS_OFFSET, zigzag(first));
    size_t opened = proto_write_open(&write, BUCKETS_COUNTS);
    for (size_t i = 0; i < (size_t)(end - first); i++)
        proto_write_packed(&write, sums[i]);
    proto_write_close(&write, opened);
    if (write.result == BYTES_OK)
        record_set_bytes(base, number, bytes_view(&out));
    bytes_release(&out);
    return write.result == BYTES_OK;
}

static bool merge_exponential(struct ottl_run *run, struct record *base, const struct record *other)
{
    merge_figures(base, other, EXPONENTIAL_MIN, EXPONENTIAL_MAX);
    record_set_fixed64(base, EXPONENTIAL_ZEROS,
                       fixed(base, EXPONENTIAL_ZEROS) + fixed(other, EXPONENTIAL_ZEROS));
    return merge_buckets(run, base, other, EXPONENTIAL_POSITIVE) &&
           merge_buckets(run, base, other, EXPONENTIAL_NEGATIVE) &&
           join_fields(run, base, other, EXPONENTIAL_EXEMPLARS);
}

/* Histograms are always added up. Empty ones change nothing. */
static bool merge_group(struct merging *merging, struct record *base, const struct group *group)
{
    bool ok = true;
    if (group->count == 1)
        return true;
    if (merging->kind == METRIC_GAUGE || merging->kind == METRIC_SUM)
        return merge_numbers(merging, base, group);
    for (const struct point *at = group->first->next; ok && at; at = at->next) {
        const struct record *point = open_other(merging, at);
        if (!fixed(point, POINT_FIELD_COUNT))
            continue;
        ok = merging->kind == METRIC_HISTOGRAM ? merge_histogram(merging->run, base, point)
                                               : merge_exponential(merging->run, base, point);
    }
    return ok;
}

/* ---- groups ---- */

/* What the points of a group have in common, other than their attributes. */
static bool key_more(const struct merging *merging, const struct record *point, struct bytes *key)
{
    bool plain = merging->kind == METRIC_HISTOGRAM;
    bool ok = true;
    if (merging->delta)
        ok = bytes_printf(key, " %llu", (unsigned long long)fixed(point, POINT_FIELD_START)) ==
             BYTES_OK;
    if (merging->kind != METRIC_HISTOGRAM && merging->kind != METRIC_EXPONENTIAL)
        return ok;
    struct proto_scan scan = proto_scan_begin(point->body);
    struct proto_field field;
    while (ok && plain && proto_scan_next(&scan, &field))
        if (field.number == HISTOGRAM_BOUNDS)
            ok = bytes_append_view(key, view_between(field.start, field.end)) == BYTES_OK;
    return ok && bytes_printf(key, " %d %d %llu %llu",
                              has(point, plain ? HISTOGRAM_MIN : EXPONENTIAL_MIN),
                              has(point, plain ? HISTOGRAM_MAX : EXPONENTIAL_MAX),
                              (unsigned long long)fixed(point, HISTOGRAM_FLAGS),
                              plain ? 0ULL : (unsigned long long)fixed(point, EXPONENTIAL_SCALE)) ==
                     BYTES_OK;
}

/* The point as a record, with its attributes prepared. */
static void open_point(const struct merging *merging, const struct point *point,
                       struct record *record)
{
    record_begin(record, &point->field, merging->list, NULL, merging->scratch);
    merging->prepare(record_attributes(record), merging->call);
}

static bool add_point(struct merging *merging, struct point *point)
{
    struct record *record = &merging->point;
    renew(merging);
    open_point(merging, point, record);
    struct value attributes = attributes_map(record_attributes(record));
    struct bytes key;
    bytes_init(&key, KEY_MOST, NULL);
    bool ok = attributes.bytes.data && value_json(&attributes, &key) &&
              bytes_printf(&key, " %llu", (unsigned long long)fixed(record, POINT_FIELD_TIME)) ==
                  BYTES_OK &&
              key_more(merging, record, &key);
    uint32_t number = ok ? view_set_add(&merging->keys, bytes_view(&key)) : UINT32_MAX;
    bytes_release(&key);
    if (number == UINT32_MAX)
        return false;
    struct group *group = &merging->groups[number];
    if (group->last)
        group->last->next = point;
    else
        group->first = point;
    group->last = point;
    group->count++;
    return true;
}

static size_t count_points(struct view data)
{
    struct proto_scan scan = proto_scan_begin(data);
    struct proto_field field;
    size_t count = 0;
    while (proto_scan_next(&scan, &field))
        count += field.number == DATA_POINTS;
    return count;
}

/* Reads the points, prepared, into groups. False: no room. */
static bool read_points(struct merging *merging, const struct proto_field *data)
{
    struct arena *arena = ottl_arena(merging->run);
    struct proto_scan scan = proto_scan_begin(data->bytes);
    struct proto_field field;
    view_set_init(&merging->keys, arena);
    merging->groups = arena_array(arena, count_points(data->bytes) + 1, sizeof *merging->groups);
    while (merging->groups && proto_scan_next(&scan, &field)) {
        if (field.number != DATA_POINTS)
            continue;
        struct point *point = arena_alloc(arena, sizeof *point);
        if (!point)
            return false;
        point->field = field;
        if (!add_point(merging, point))
            return false;
    }
    return merging->groups;
}

/* Writes a group as one point. What is made for it is scratch. False: no room. */
static bool write_group(struct merging *merging, const struct group *group,
                        struct proto_write *write)
{
    struct arena **arena = &merging->run->at->splice->arena, *whole = *arena;
    struct record base = {0};
    renew(merging);
    *arena = merging->scratch;
    open_point(merging, group->first, &base);
    bool ok = merge_group(merging, &base, group);
    struct view body = record_body(&base);
    *arena = whole;
    if (ok && body.data)
        proto_write_bytes(write, DATA_POINTS, body);
    return ok && body.data;
}

/* The metric's data with a point for each group. Data NULL: no room. */
static struct view write_groups(struct merging *merging, const struct proto_field *data)
{
    struct proto_scan scan = proto_scan_begin(data->bytes);
    struct proto_field field;
    struct bytes out;
    bytes_init(&out, 2 * data->bytes.size + KEY_MOST, NULL);
    struct proto_write write = proto_write_begin(&out);
    size_t opened = proto_write_open(&write, data->number);
    bool ok = true;
    for (size_t i = 0; ok && i < merging->keys.count; i++)
        ok = write_group(merging, &merging->groups[i], &write);
    while (proto_scan_next(&scan, &field))
        if (field.number != DATA_POINTS)
            proto_write_raw(&write, view_between(field.start, field.end));
    proto_write_close(&write, opened);
    struct view made = {0};
    if (ok && write.result == BYTES_OK)
        made = ottl_keep(merging->run, bytes_view(&out));
    bytes_release(&out);
    return made;
}

static struct ottl_value aggregate(struct ottl_run *run, const struct ottl_node *call,
                                   prepare_fn *prepare)
{
    struct record *metric = &run->at->records[EDIT_ITEM];
    struct arena scratch;
    struct merging merging = {.run = run, .call = call, .prepare = prepare, .scratch = &scratch};
    struct proto_field data, field;
    if (!ottl_metric_data(metric, &data))
        return ottl_nil();
    if (data.number == METRIC_SUMMARY)
        return ottl_fail(run, "%s does not take a summary", call->function->name);
    merging.kind = data.number;
    merging.list = edit_list(SIGNAL_METRICS, EDIT_POINT, edit_point_of(data.number));
    merging.delta = data.number != METRIC_GAUGE &&
                    proto_find(data.bytes, DATA_TEMPORALITY, WIRE_VARINT, &field) &&
                    field.value == TEMPORALITY_DELTA;
    while (!view_eq(call->items[0]->value.bytes, view_of(aggregations[merging.how])))
        merging.how++;
    struct view made = {0};
    arena_init_scratch(&scratch, ottl_arena(run));
    if (read_points(&merging, &data))
        made = write_groups(&merging, &data);
    arena_release(&scratch);
    if (!made.data)
        return run->failed ? ottl_nil() : ottl_fail(run, "out of memory");
    run->at->items_dropped += (uint32_t)(count_points(data.bytes) - merging.keys.count);
    record_set_fields(metric, data.number, made);
    return ottl_nil();
}

/* ---- the editors ---- */

static bool is_in(const struct ottl_node *list, struct view text)
{
    for (size_t i = 0; i < list->count; i++)
        if (view_eq(list->items[i]->value.bytes, text))
            return true;
    return false;
}

/* Keeps the named attributes, or all of them if none is named. */
static void keep_named(struct attributes *list, const struct ottl_node *call)
{
    for (size_t i = 0; ottl_has(call, 1) && i < list->count; i++)
        if (!list->items[i].gone && !is_in(call->items[1], list->items[i].key))
            attributes_remove(list, &list->items[i]);
}

static struct ottl_value on_attributes(struct ottl_run *run, const struct ottl_node *call)
{
    return aggregate(run, call, keep_named);
}

static void rename_value(struct attributes *list, const struct ottl_node *call)
{
    struct value value, renamed = value_string(call->items[3]->value.bytes);
    if (attributes_get(list, call->items[1]->value.bytes, &value) && value.kind == VALUE_STRING &&
        is_in(call->items[2], value.bytes))
        attributes_set(list, call->items[1]->value.bytes, &renamed);
}

static struct ottl_value on_value(struct ottl_run *run, const struct ottl_node *call)
{
    return aggregate(run, call, rename_value);
}

static const char *check_function(const struct ottl_node *call)
{
    return ottl_is_one_of(call->items[0], aggregations)
               ? NULL
               : "expected \"sum\", \"mean\", \"min\", \"max\", \"median\" or \"count\"";
}

static const char *check_attributes(const struct ottl_node *call)
{
    if (ottl_has(call, 1) && !ottl_is_list_of_texts(call->items[1]))
        return "expected a list of string literals";
    return check_function(call);
}

static const char *check_values(const struct ottl_node *call)
{
    if (!ottl_is_text(call->items[1]) || !ottl_is_list_of_texts(call->items[2]) ||
        !ottl_is_text(call->items[3]))
        return "expected an attribute, a list of its values and the new value, as literals";
    return check_function(call);
}

const struct ottl_function ottl_aggregate_editors[] = {
    {"aggregate_on_attributes", "aggregation_function,attributes?", on_attributes, FN_NO_PATTERN,
     false, 1u << OTTL_METRIC, check_attributes},
    {"aggregate_on_attribute_value", "aggregation_function,attribute,values,new_value", on_value,
     FN_NO_PATTERN, false, 1u << OTTL_METRIC, check_values},
    {0},
};
