#include "lib/metrics/metrics.h"

#include "lib/base/heap.h"
#include "lib/base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Far more than a hundred services and components need. */
enum { MAX_BYTES = 16 << 20 };

static _Atomic int level_in_force = METRIC_NONE;

void metric_set_level(enum metric_level level)
{
    atomic_store(&level_in_force, (int)level);
}

enum metric_level metric_level(void)
{
    return (enum metric_level)atomic_load_explicit(&level_in_force, memory_order_relaxed);
}

void metrics_init(struct metrics *metrics, enum metric_level level)
{
    *metrics = (struct metrics){.level = level};
    bytes_init(&metrics->points, MAX_BYTES, NULL);
    bytes_init(&metrics->labels, MAX_BYTES, NULL);
    bytes_init(&metrics->counts, MAX_BYTES, NULL);
    /* A snapshot must not enlarge the heap of an idle process. */
    bytes_reserve(&metrics->points, HEAP_MAPPED);
    bytes_reserve(&metrics->labels, HEAP_MAPPED);
}

void metrics_release(struct metrics *metrics)
{
    bytes_release(&metrics->points);
    bytes_release(&metrics->labels);
    bytes_release(&metrics->counts);
}

void metrics_scope(struct metrics *metrics, const char *name, const char *value)
{
    metrics->scope = name;
    metrics->scope_value = value;
}

static void metrics_put(struct metrics *metrics, struct bytes *out, const void *data, size_t size)
{
    if (bytes_append(out, data, size) != BYTES_OK)
        metrics->failed = true;
}

/* Whether a character would control the terminal on which the page is read: C0 and C1 save the
 * newline, which is escaped. */
static bool is_control(struct view character)
{
    uint8_t c = character.data[0];
    return (c < 0x20 && c != '\n') || c == 0x7f ||
           (c == 0xc2 && character.size == 2 && character.data[1] < 0xa0);
}

static bool is_clean(struct view value)
{
    for (size_t i = 0; i < value.size; i++)
        if (is_control((struct view){value.data + i, value.size - i > 1 ? 2 : 1}))
            return false;
    return utf8_valid(value);
}

/* Writes U+FFFD for each control character and each invalid byte. */
static void put_repaired(struct metrics *metrics, struct bytes *out, struct view value)
{
    while (value.size) {
        size_t size = utf8_character(value);
        struct view character = {value.data, size ? size : 1};
        value = (struct view){value.data + character.size, value.size - character.size};
        if (!size || is_control(character))
            character = VIEW("\xef\xbf\xbd");
        metrics_put(metrics, out, character.data, character.size);
    }
}

/* Writes both sizes, then both texts. */
static void metrics_put_label(struct metrics *metrics, const char *name, struct view value)
{
    struct bytes *out = &metrics->labels;
    uint32_t sizes[2] = {(uint32_t)strlen(name), (uint32_t)value.size};
    size_t at = out->size;
    if (value.size == 0)
        return;
    metrics_put(metrics, out, sizes, sizeof sizes);
    metrics_put(metrics, out, name, sizes[0]);
    if (is_clean(value)) {
        metrics_put(metrics, out, value.data, value.size);
        return;
    }
    size_t text = out->size;
    metrics->repaired = true;
    put_repaired(metrics, out, value);
    if (metrics->failed)
        return;
    sizes[1] = (uint32_t)(out->size - text);
    memcpy(out->data + at, sizes, sizeof sizes);
}

static void put_labels(struct metrics *metrics, const struct metric_label *labels)
{
    if (metrics->scope)
        metrics_put_label(metrics, metrics->scope, view_of(metrics->scope_value));
    for (; labels->name; labels++)
        metrics_put_label(metrics, labels->name, labels->value);
}

static void put_point(struct metrics *metrics, struct metrics_point point,
                      const struct metric_label *labels)
{
    point.number = metrics->points.size / sizeof point;
    point.labels = metrics->labels.size;
    put_labels(metrics, labels);
    point.labels_size = metrics->labels.size - point.labels;
    metrics_put(metrics, &metrics->points, &point, sizeof point);
}

void metrics_add(struct metrics *metrics, const struct metric *row, double value,
                 const struct metric_label *labels)
{
    if (row->level <= metrics->level)
        put_point(metrics, (struct metrics_point){.row = row, .value = value}, labels);
}

void metrics_add_histogram(struct metrics *metrics, const struct metric *row,
                           const struct histogram *histogram, const struct metric_label *labels)
{
    uint64_t counts[HISTOGRAM_BUCKETS], sum;
    if (row->level > metrics->level)
        return;
    sum = atomic_load_explicit(&histogram->sum, memory_order_relaxed);
    for (unsigned i = 0; i <= row->bounds->count; i++)
        counts[i] = atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
    struct metrics_point point = {.row = row,
                                  .value = (double)sum * row->bounds->scale,
                                  .counts = metrics->counts.size / sizeof *counts};
    metrics_put(metrics, &metrics->counts, counts, (row->bounds->count + 1) * sizeof *counts);
    put_point(metrics, point, labels);
}

void metrics_add_fields(struct metrics *metrics, const struct metric *table, const void *self)
{
    for (; table && table->name; table++) {
        const void *field = (const char *)self + table->offset;
        if (table->offset == METRIC_NO_FIELD)
            continue;
        if (table->kind == METRIC_HISTOGRAM)
            metrics_add_histogram(metrics, table, field, NO_LABELS);
        else
            metrics_add(
                metrics, table,
                (double)atomic_load_explicit((const _Atomic uint64_t *)field, memory_order_relaxed),
                NO_LABELS);
    }
}

static void carry(const _Atomic uint64_t *from, _Atomic uint64_t *to)
{
    atomic_fetch_add(to, atomic_load(from));
}

static void carry_histogram(const struct histogram *from, struct histogram *to)
{
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        carry(&from->buckets[i], &to->buckets[i]);
    carry(&from->sum, &to->sum);
}

void metrics_carry_fields(const struct metric *table, const void *from, void *to)
{
    for (; table && table->name; table++) {
        const void *old = (const char *)from + table->offset;
        void *fresh = (char *)to + table->offset;
        if (table->offset == METRIC_NO_FIELD || table->kind == METRIC_GAUGE)
            continue;
        if (table->kind == METRIC_HISTOGRAM)
            carry_histogram(old, fresh);
        else
            carry(old, fresh);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct metrics_point *left = a, *right = b;
    int order = left->row == right->row ? 0 : strcmp(left->row->name, right->row->name);
    return order ? order : (left->number > right->number) - (left->number < right->number);
}

static bool same_series(const struct metrics *metrics, const struct metrics_point *a,
                        const struct metrics_point *b)
{
    const uint8_t *labels = metrics->labels.data;
    return a->row == b->row && a->labels_size == b->labels_size &&
           (a->labels_size == 0 ||
            memcmp(labels + a->labels, labels + b->labels, a->labels_size) == 0);
}

static void add_up(struct metrics *metrics, struct metrics_point *sum,
                   const struct metrics_point *more)
{
    uint64_t *counts = (uint64_t *)(void *)metrics->counts.data;
    sum->value += more->value;
    if (sum->row->kind == METRIC_HISTOGRAM)
        for (unsigned i = 0; i <= sum->row->bounds->count; i++)
            counts[sum->counts + i] += counts[more->counts + i];
}

/* Adds up points of the same series, of which Prometheus refuses all but one. Returns how many
 * points are left. */
static size_t join_series(struct metrics *metrics, struct metrics_point *points, size_t count)
{
    size_t left = 0;
    for (size_t i = 0, row = 0; i < count; i++) {
        if (left == 0 || points[i].row != points[left - 1].row)
            row = left;
        size_t at = row;
        while (at < left && !same_series(metrics, &points[at], &points[i]))
            at++;
        if (at < left)
            add_up(metrics, &points[at], &points[i]);
        else
            points[left++] = points[i];
    }
    metrics->points.size = left * sizeof *points;
    metrics->repaired = false;
    return left;
}

const struct metrics_point *metrics_sorted(struct metrics *metrics, size_t *count)
{
    struct metrics_point *points = (void *)metrics->points.data;
    *count = metrics->failed ? 0 : metrics->points.size / sizeof *points;
    if (*count)
        qsort(points, *count, sizeof *points, by_name);
    if (*count && metrics->repaired)
        *count = join_series(metrics, points, *count);
    return *count ? points : NULL;
}

bool metrics_label(const struct metrics *metrics, const struct metrics_point *point, size_t *at,
                   struct view *name, struct view *value)
{
    uint32_t sizes[2];
    const uint8_t *label = metrics->labels.data + point->labels + *at;
    if (*at >= point->labels_size)
        return false;
    memcpy(sizes, label, sizeof sizes);
    *name = (struct view){label + sizeof sizes, sizes[0]};
    *value = (struct view){name->data + sizes[0], sizes[1]};
    *at += sizeof sizes + sizes[0] + sizes[1];
    return true;
}
