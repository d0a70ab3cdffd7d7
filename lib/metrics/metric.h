/*
 * Rows of metrics: what a component author writes to have figures on the metrics page and in OTLP.
 * A row whose figure is a field of the component's own struct needs nothing more; the others are
 * added by code (lib/metrics/metrics.h), with labels of their own.
 */
#ifndef LIB_METRICS_METRIC_H
#define LIB_METRICS_METRIC_H

#include "lib/metrics/histogram.h"

#include <stdbool.h>
#include <stddef.h>

enum metric_kind {
    METRIC_COUNTER,  /* only grows, from 0 at the start */
    METRIC_GAUGE,    /* goes up and down */
    METRIC_HISTOGRAM /* struct histogram */
};

/* What is told from which `service.telemetry.metrics.level` on. */
enum metric_level { METRIC_NONE, METRIC_BASIC, METRIC_NORMAL, METRIC_DETAILED };

/* A row without a field. */
#define METRIC_NO_FIELD SIZE_MAX

struct metric {
    const char *name; /* [a-zA-Z_][a-zA-Z0-9_]*; NULL: the end of a table */
    enum metric_kind kind;
    enum metric_level level;
    const char *unit;                      /* UCUM, as in OTLP: "By", "s", "{spans}" */
    const char *help;                      /* one line for people */
    const struct histogram_bounds *bounds; /* of a histogram */
    size_t offset; /* of an _Atomic uint64_t or a struct histogram; METRIC_NO_FIELD: none */
};

/* A row that code gives values to. */
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
/* A row over the member of T, an `_Atomic uint64_t`: a counter or a gauge. */
#define METRIC_FIELD(T, member, metric_name, metric_kind, from_level, metric_unit, text)           \
    {                                                                                              \
        .name = metric_name, .kind = metric_kind, .level = from_level, .unit = metric_unit,        \
        .help = text, .offset = offsetof(T, member)                                                \
    }
/* A row over the member of T, a `struct histogram`. */
#define METRIC_HISTOGRAM_FIELD(T, member, metric_name, its_bounds, from_level, metric_unit, text)  \
    {                                                                                              \
        .name = metric_name, .kind = METRIC_HISTOGRAM, .level = from_level, .unit = metric_unit,   \
        .help = text, .bounds = its_bounds, .offset = offsetof(T, member)                          \
    }
/* clang-format off */
#define METRIC_END {.name = NULL}
/* clang-format on */

/* The level that is in force in this process; METRIC_NONE until it is set. Any thread. What costs
 * something a request asks first. */
void metric_set_level(enum metric_level level);
enum metric_level metric_level(void);

static inline bool metric_wanted(enum metric_level level)
{
    return metric_level() >= level;
}

#endif
