/* convert_exponential_histogram_to_histogram: counts of exponential buckets, put into buckets with
 * given bounds. As in the Collector, there are as many buckets as bounds, and negative values are
 * left out. */
#include "lib/ottl/counts.h"
#include "lib/ottl/function.h"
#include "lib/ottl/metric_numbers.h"
#include "lib/ottl/path.h"
#include "lib/wire/proto/proto_write.h"

#include <math.h>
#include <sys/random.h>

enum { MADE_MOST = 64 << 20 };

/* One data point while it is converted. */
struct spread {
    const double *bounds;
    uint64_t *counts; /* one for each bound */
    size_t count;
    uint64_t random; /* state of splitmix64 */
};

typedef void distribution(struct spread *spread, uint64_t count, double low, double high);

static uint64_t next_random(struct spread *spread)
{
    uint64_t word = spread->random += 0x9e3779b97f4a7c15;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
    word = (word ^ word >> 27) * 0x94d049bb133111eb;
    return word ^ word >> 31;
}

/* The first bound that is not below a value, or how many there are. */
static size_t bound_from(const struct spread *spread, double value)
{
    size_t i = 0;
    while (i < spread->count && !(value <= spread->bounds[i]))
        i++;
    return i;
}

static size_t in_range(const struct spread *spread, size_t bucket)
{
    return bucket < spread->count ? bucket : spread->count - 1;
}

static void by_upper(struct spread *spread, uint64_t count, double low, double high)
{
    (void)low;
    spread->counts[in_range(spread, bound_from(spread, high))] += count;
}

static void by_midpoint(struct spread *spread, uint64_t count, double low, double high)
{
    size_t bound = bound_from(spread, (low + high) / 2);
    spread->counts[bound == spread->count ? bound - 1 : bound - (bound > 0)] += count;
}

/* How many buckets a range overlaps, from *first on. */
static uint64_t overlapped(const struct spread *spread, double low, double high, size_t *first)
{
    size_t last = in_range(spread, bound_from(spread, high));
    *first = in_range(spread, bound_from(spread, low));
    return last > *first ? last - *first + 1 : 1;
}

static void by_uniform(struct spread *spread, uint64_t count, double low, double high)
{
    size_t first;
    uint64_t buckets = overlapped(spread, low, high, &first);
    for (size_t i = 0; i < buckets; i++)
        spread->counts[first + i] += count / buckets + (i < count % buckets);
}

/* A random part of each bucket's share; the rest is shared out evenly, what is left of it at
 * random. */
static void by_random(struct spread *spread, uint64_t count, double low, double high)
{
    size_t first;
    uint64_t buckets = overlapped(spread, low, high, &first), left = count;
    for (size_t i = first; buckets > 1 && i < first + buckets; i++) {
        double from = i ? fmax(spread->bounds[i - 1], low) : low;
        double share = (fmin(spread->bounds[i], high) - from) / (high - low);
        double random = (double)(next_random(spread) >> 11) * 0x1p-53;
        double part = random * share * (double)count;
        uint64_t taken = part > 0 && part < (double)left ? (uint64_t)part : 0;
        spread->counts[i] += taken;
        left -= taken;
    }
    uint64_t turn = next_random(spread) >> 1;
    for (size_t i = 0; i < buckets; i++)
        spread->counts[first + i] += left / buckets + ((turn + i) % buckets < left % buckets);
}

static const struct {
    const char *name;
    distribution *put;
} distributions[] = {
    {"random", by_random}, {"upper", by_upper}, {"midpoint", by_midpoint}, {"uniform", by_uniform}};

static distribution *distribution_of(struct view name)
{
    for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++)
        if (view_eq(name, view_of(distributions[i].name)) || !name.size)
            return distributions[i].put;
    return NULL;
}

static int64_t signed_of(struct view message, uint32_t number)
{
    uint64_t zigzag = proto_find_number(message, number);
    return (int32_t)(uint32_t)(zigzag >> 1) ^ -(int32_t)(zigzag & 1);
}

static void put_bucket(struct spread *spread, distribution *put, uint64_t count, double low,
                       double high)
{
    if (low > spread->bounds[spread->count - 1]) {
        spread->counts[spread->count - 1] += count;
        return;
    }
    for (size_t i = 1; i < spread->count; i++)
        if (low > spread->bounds[i - 1] && high <= spread->bounds[i]) {
            spread->counts[i - 1] += count;
            return;
        }
    put(spread, count, low, high);
}

/* Fills the counts of a data point. False: no memory. */
static bool fill(struct spread *spread, struct ottl_run *run, struct view point, distribution *put)
{
    struct proto_field field;
    struct view positive = proto_find_bytes(point, EXPONENTIAL_POSITIVE);
    struct counts counts = ottl_read_counts(run, positive, BUCKETS_COUNTS, true);
    int64_t scale = signed_of(point, EXPONENTIAL_SCALE);
    int64_t offset = signed_of(positive, BUCKETS_OFFSET);
    int exponent = scale > 5000 ? -5000 : scale < -5000 ? 5000 : (int)-scale;
    double factor = ldexp(M_LN2, exponent);
    memset(spread->counts, 0, spread->count * sizeof *spread->counts);
    if (spread->bounds[0] == 0 && proto_find(point, EXPONENTIAL_ZEROS, WIRE_I64, &field))
        spread->counts[0] += field.value;
    for (size_t i = 0; counts.of && i < counts.count; i++) {
        int64_t index = offset + (int64_t)i;
        put_bucket(spread, put, counts.of[i], exp((double)index * factor),
                   exp((double)(index + 1) * factor));
    }
    return counts.of;
}

static void put_numbers(struct proto_write *write, uint32_t number, const void *numbers,
                        size_t count)
{
    size_t opened = proto_write_open(write, number);
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        uint8_t bytes[8];
        memcpy(&word, (const uint8_t *)numbers + 8 * i, sizeof word);
        for (unsigned k = 0; k < 8; k++)
            bytes[k] = (uint8_t)(word >> (8 * k));
        proto_write_raw(write, (struct view){bytes, sizeof bytes});
    }
    proto_write_close(write, opened);
}

/* Writes the data point as one of a histogram. The Collector sets sum, minimum and maximum even if
 * they are absent. */
static void put_point(struct proto_write *write, struct view point, const struct spread *spread)
{
    static const uint32_t numbers[][2] = {
        {POINT_FIELD_START, POINT_FIELD_START}, {POINT_FIELD_TIME, POINT_FIELD_TIME},
        {POINT_FIELD_COUNT, POINT_FIELD_COUNT}, {POINT_FIELD_SUM, POINT_FIELD_SUM},
        {EXPONENTIAL_MIN, HISTOGRAM_MIN},       {EXPONENTIAL_MAX, HISTOGRAM_MAX}};
    size_t opened = proto_write_open(write, DATA_POINTS);
    struct proto_scan scan = proto_scan_begin(point);
    struct proto_field field;
    uint32_t list = edit_list(SIGNAL_METRICS, EDIT_POINT, EDIT_EXPONENTIAL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        proto_write_fixed64(write, numbers[i][1],
                            proto_find(point, numbers[i][0], WIRE_I64, &field) ? field.value : 0);
    while (proto_scan_next(&scan, &field))
        if (field.number == list && field.type == WIRE_LEN)
            proto_write_bytes(write, edit_list(SIGNAL_METRICS, EDIT_POINT, EDIT_HISTOGRAM),
                              field.bytes);
        else if (field.number == EXPONENTIAL_EXEMPLARS && field.type == WIRE_LEN)
            proto_write_bytes(write, HISTOGRAM_EXEMPLARS, field.bytes);
    put_numbers(write, HISTOGRAM_BUCKETS, spread->counts, spread->count);
    put_numbers(write, HISTOGRAM_BOUNDS, spread->bounds, spread->count);
    proto_write_close(write, opened);
}

/* The bounds and room for the counts. False: no memory. */
static bool begin(struct spread *spread, struct ottl_run *run, const struct ottl_node *list)
{
    double *bounds = arena_array_raw(ottl_arena(run), list->count, sizeof *bounds);
    *spread = (struct spread){.count = list->count};
    spread->counts = arena_array_raw(ottl_arena(run), list->count, sizeof *spread->counts);
    spread->bounds = bounds;
    for (size_t i = 0; bounds && i < list->count; i++)
        bounds[i] = list->items[i]->value.number;
    if (getrandom(&spread->random, sizeof spread->random, GRND_NONBLOCK) < 0)
        spread->random = 1;
    return bounds && spread->counts;
}

static struct ottl_value convert(struct ottl_run *run, const struct ottl_node *call)
{
    struct record *metric = &run->at->records[EDIT_ITEM];
    distribution *put = distribution_of(call->items[0]->value.bytes);
    struct proto_field data, field;
    struct spread spread;
    struct bytes out;
    if (!ottl_metric_data(metric, &data) || data.number != METRIC_EXPONENTIAL)
        return ottl_nil();
    bytes_init(&out, MADE_MOST, NULL);
    struct proto_write write = proto_write_begin(&out);
    bool ok = begin(&spread, run, call->items[1]);
    size_t opened = proto_write_open(&write, METRIC_HISTOGRAM);
    proto_write_number(&write, DATA_TEMPORALITY, proto_find_number(data.bytes, DATA_TEMPORALITY));
    struct proto_scan scan = proto_scan_begin(data.bytes);
    while (ok && proto_scan_next(&scan, &field))
        if (field.number == DATA_POINTS && (ok = fill(&spread, run, field.bytes, put)))
            put_point(&write, field.bytes, &spread);
    proto_write_close(&write, opened);
    struct view made = VIEW("");
    if (!ok || write.result != BYTES_OK)
        ottl_fail(run, "out of memory");
    else
        made = ottl_keep(run, bytes_view(&out));
    bytes_release(&out);
    if (run->failed)
        return ottl_nil();
    record_clear(metric, METRIC_EXPONENTIAL);
    record_clear(metric, METRIC_METADATA);
    record_set_fields(metric, METRIC_HISTOGRAM, made);
    return ottl_nil();
}

static const char *check_convert(const struct ottl_node *call)
{
    const struct ottl_node *bounds = call->items[1];
    bool ok = bounds->kind == NODE_LIST_OF && bounds->count;
    for (size_t i = 0; ok && i < bounds->count; i++)
        ok = bounds->items[i]->kind == NODE_LITERAL && bounds->items[i]->value.type == TYPE_DOUBLE;
    if (!ottl_is_text(call->items[0]) || !distribution_of(call->items[0]->value.bytes))
        return "expected the distribution \"random\", \"upper\", \"midpoint\" or \"uniform\"";
    return ok ? NULL : "expected a list of bounds with a decimal point, such as [0.0, 10.0]";
}

const struct ottl_function ottl_exponential_editors[] = {
    {"convert_exponential_histogram_to_histogram", "distribution_fn,explicit_bounds", convert,
     FN_NO_PATTERN, false, 1u << OTTL_METRIC, check_convert},
    {0},
};
