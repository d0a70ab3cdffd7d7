/* Field numbers of Metric and what it holds (opentelemetry-proto 1.11, metrics.proto). For lib/ottl
 * alone. */
#ifndef LIB_OTTL_METRIC_NUMBERS_H
#define LIB_OTTL_METRIC_NUMBERS_H

enum {
    METRIC_NAME = 1,
    METRIC_DESCRIPTION = 2,
    METRIC_UNIT = 3,
    METRIC_GAUGE = 5,
    METRIC_SUM = 7,
    METRIC_HISTOGRAM = 9,
    METRIC_EXPONENTIAL = 10,
    METRIC_SUMMARY = 11
};
/* Of Gauge, Sum and so on; of ScopeMetrics. */
enum { DATA_POINTS = 1, DATA_TEMPORALITY = 2, SUM_MONOTONIC = 3, SCOPE_METRICS = 2 };
enum { TEMPORALITY_DELTA = 1, TEMPORALITY_CUMULATIVE = 2 };

/* Of every kind of data point. */
enum { POINT_FIELD_START = 2, POINT_FIELD_TIME = 3 };
enum { NUMBER_DOUBLE = 4, NUMBER_INT = 6, NUMBER_ATTRIBUTES = 7 };
/* Of Histogram-, ExponentialHistogram- and SummaryDataPoint. */
enum { POINT_FIELD_COUNT = 4, POINT_FIELD_SUM = 5 };
enum {
    HISTOGRAM_BUCKETS = 6,
    HISTOGRAM_BOUNDS = 7,
    HISTOGRAM_EXEMPLARS = 8,
    HISTOGRAM_FLAGS = 10,
    HISTOGRAM_MIN = 11,
    HISTOGRAM_MAX = 12
};
enum {
    EXPONENTIAL_SCALE = 6,
    EXPONENTIAL_ZEROS = 7,
    EXPONENTIAL_POSITIVE = 8,
    EXPONENTIAL_NEGATIVE = 9,
    EXPONENTIAL_FLAGS = 10,
    EXPONENTIAL_EXEMPLARS = 11,
    EXPONENTIAL_MIN = 12,
    EXPONENTIAL_MAX = 13,
    BUCKETS_OFFSET = 1,
    BUCKETS_COUNTS = 2
};
enum { SUMMARY_QUANTILES = 6, QUANTILE_QUANTILE = 1, QUANTILE_VALUE = 2 };
enum { EXEMPLAR_DOUBLE = 3, EXEMPLAR_INT = 6 };

#endif
