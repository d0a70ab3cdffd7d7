/*
 * What was measured at one moment: points of rows with labels, gathered from all that has figures,
 * then written as a page or as OTLP. One thread. A failed allocation sticks and is asked for at
 * the end.
 */
#ifndef LIB_METRICS_METRICS_H
#define LIB_METRICS_METRICS_H

#include "lib/base/bytes.h"
#include "lib/metrics/metric.h"

/* A list of labels ends with one without a name. An empty value is left out, as Prometheus reads
 * it as an absent label. */
struct metric_label {
    const char *name;
    struct view value;
};
#define METRIC_LABELS(...) ((const struct metric_label[]){__VA_ARGS__, {0}})
#define NO_LABELS          ((const struct metric_label[]){{0}})

struct metrics {
    enum metric_level level; /* rows above it are left out */
    struct bytes points;     /* struct metrics_point */
    struct bytes labels;     /* of all points, each with the scope's */
    struct bytes counts;     /* of histograms: uint64_t */
    const char *scope, *scope_value;
    bool failed; /* no memory for all: what is there is not the whole */
};

struct metrics_point {
    const struct metric *row;
    size_t number; /* in the order of adding */
    size_t labels; /* from here in the labels, ... */
    size_t labels_size;
    double value;  /* a histogram's sum */
    size_t counts; /* a histogram's: the first bucket's, as an index of uint64_t */
};

void metrics_init(struct metrics *metrics, enum metric_level level);
void metrics_release(struct metrics *metrics);

/* A label that all points have from here on, e.g. processor="batch". Borrowed; name NULL: none. */
void metrics_scope(struct metrics *metrics, const char *name, const char *value);

void metrics_add(struct metrics *metrics, const struct metric *row, double value,
                 const struct metric_label *labels);
void metrics_add_histogram(struct metrics *metrics, const struct metric *row,
                           const struct histogram *histogram, const struct metric_label *labels);

/* Adds every row of a table that has a field in self. */
void metrics_add_fields(struct metrics *metrics, const struct metric *table, const void *self);

/* The points by name, each name in one run. NULL: none, or no memory. */
const struct metrics_point *metrics_sorted(struct metrics *metrics, size_t *count);

/* The next label of a point from *at on (0 first). False: no more. */
bool metrics_label(const struct metrics *metrics, const struct metrics_point *point, size_t *at,
                   struct view *name, struct view *value);

static inline const uint64_t *metrics_counts(const struct metrics *metrics,
                                             const struct metrics_point *point)
{
    return (const uint64_t *)(const void *)metrics->counts.data + point->counts;
}

#endif
