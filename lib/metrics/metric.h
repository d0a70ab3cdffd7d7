/*
 * Metric tables: what a component author writes to have metrics on the metrics page and in OTLP. A
 * row over a field of the component's struct needs no further code; code adds the values of other
 * rows (lib/metrics/metrics.h), with their own labels.
 */
#ifndef LIB_METRICS_METRIC_H
#define LIB_METRICS_METRIC_H

#include "lib/metrics/histogram.h"

#include <stdbool.h>
#include <stddef.h>

enum metric_kind {
    METRIC_COUNTER,  /* only grows, from 0 at startup */
    METRIC_GAUGE,    /* goes up and down */
    METRIC_HISTOGRAM /* struct histogram */
};

/* The lowest `service.telemetry.metrics.level` at which a metric is exported. */
enum metric_level { METRIC_NONE, METRIC_BASIC, METRIC_NORMAL, METRIC_DETAILED };

/* A row without a field. */
#define METRIC_NO_FIELD SIZE_MAX

struct metric {
    const char *name; /* [a-zA-Z_][a-zA-Z0-9_]*; NULL: the end of a table */
    enum metric_kind kind;
    enum metric_level level;
    const char *unit;                      /* UCUM, as in OTLP: "By", "s", "{spans}" */
    const char *help;                      /* one human-readable line */
    const struct histogram_bounds *bounds; /* HISTOGRAM */
    size_t offset; /* of an _Atomic uint64_t or a struct histogram, or METRIC_NO_FIELD */
};

/* A row whose values are added by code. */
#define METRIC_ROW(metric_name, metric_kind, from_level, metric_unit, text)                        \
    {                                                                                              \
        .name = metric_name, .kind = metric_kind, .level = from_level, .unit = metric_unit,        \
        .help = text, .offset = METRIC_NO_FIELD                                                    \
    }
#define METRIC_HISTOGRAM_ROW(metric_name, its_bounds, from_level, metric_unit, text)               \
    {                                                                                              \
        .name = metric_name, .kind = METRIC_HISTOGRAM, .level = from_level, .unit = metric_unit,   \
        .help = text, .bounds = its_bounds, .offset = METRIC_NO_FIELD                              \
    }
/* A row over a member of T, an `_Atomic uint64_t`: a counter or a gauge. */
#define METRIC_FIELD(T, member, metric_name, metric_kind, from_level, metric_unit, text)           \
    {                                                                                              \
        .name = metric_name, .kind = metric_kind, .level = from_level, .unit = metric_unit,        \
        .help = text, .offset = offsetof(T, member)                                                \
    }
/* A row over a member of T, a `struct histogram`. */
#define METRIC_HISTOGRAM_FIELD(T, member, metric_name, its_bounds, from_level, metric_unit, text)  \
    {                                                                                              \
        .name = metric_name, .kind = METRIC_HISTOGRAM, .level = from_level, .unit = metric_unit,   \
        .help = text, .bounds = its_bounds, .offset = offsetof(T, member)                          \
    }
/* clang-format off */
#define METRIC_END {.name = NULL}
/* clang-format on */

/* The level of this process; METRIC_NONE until set. Any thread. Check it before measuring anything
 * that costs time per request. */
void metric_set_level(enum metric_level level);
enum metric_level metric_level(void);

static inline bool metric_wanted(enum metric_level level)
{
    return metric_level() >= level;
}

#endif
