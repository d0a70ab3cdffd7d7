/*
 * A snapshot of all metrics: data points with labels, collected from every component, then written
 * as a page or as OTLP. One thread. A failed allocation sets `failed`, to be checked at the end.
 * Label values are written as valid UTF-8, with U+FFFD for each invalid byte; points of one row
 * whose labels become equal by that are added up.
 */
#ifndef LIB_METRICS_METRICS_H
#define LIB_METRICS_METRICS_H

#include "lib/base/bytes.h"
#include "lib/metrics/metric.h"

/* A list of labels ends with one whose name is NULL. Labels with an empty value are left out:
 * Prometheus treats them as absent. */
struct metric_label {
    const char *name;
    struct view value;
};
#define METRIC_LABELS(...) ((const struct metric_label[]){__VA_ARGS__, {0}})
#define NO_LABELS          ((const struct metric_label[]){{0}})

struct metrics {
    enum metric_level level; /* rows with a higher level are left out */
    struct bytes points;     /* struct metrics_point */
    struct bytes labels;     /* of all points, including the scope's label */
    struct bytes counts;     /* bucket counts of histograms: uint64_t */
    const char *scope, *scope_value;
    bool failed;   /* out of memory: points are missing */
    bool repaired; /* a label value was not valid UTF-8 */
};

struct metrics_point {
    const struct metric *row;
    size_t number; /* in the order of addition */
    size_t labels; /* offset in `labels` */
    size_t labels_size;
    double value;  /* HISTOGRAM: the sum */
    size_t counts; /* HISTOGRAM: index of the first bucket's count */
};

void metrics_init(struct metrics *metrics, enum metric_level level);
void metrics_release(struct metrics *metrics);

/* Sets a label for all points added from now on, e.g. processor="batch". Borrowed; name NULL:
 * none. */
void metrics_scope(struct metrics *metrics, const char *name, const char *value);

void metrics_add(struct metrics *metrics, const struct metric *row, double value,
                 const struct metric_label *labels);
void metrics_add_histogram(struct metrics *metrics, const struct metric *row,
                           const struct histogram *histogram, const struct metric_label *labels);

/* Adds every row of the table that has a field; self is the component's struct. */
void metrics_add_fields(struct metrics *metrics, const struct metric *table, const void *self);

/* Adds each counter and histogram of `from` that has a field to that of `to`, an instance of the
 * same component that takes its place. Nobody counts in `from` any more. */
void metrics_carry_fields(const struct metric *table, const void *from, void *to);

/* Returns the points sorted by name. NULL: none, or no memory. */
const struct metrics_point *metrics_sorted(struct metrics *metrics, size_t *count);

/* Iterates over a point's labels; *at is 0 at first. False: no more. */
bool metrics_label(const struct metrics *metrics, const struct metrics_point *point, size_t *at,
                   struct view *name, struct view *value);

static inline const uint64_t *metrics_counts(const struct metrics *metrics,
                                             const struct metrics_point *point)
{
    return (const uint64_t *)(const void *)metrics->counts.data + point->counts;
}

#endif
