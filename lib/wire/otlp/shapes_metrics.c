/* Metrics: opentelemetry/proto/{metrics,collector/metrics}/v1. */
#include "lib/wire/proto/proto_rows.h"

static const char *const temporalities[] = {
    "AGGREGATION_TEMPORALITY_UNSPECIFIED",
    "AGGREGATION_TEMPORALITY_DELTA",
    "AGGREGATION_TEMPORALITY_CUMULATIVE",
    NULL,
};

static const struct proto_row exemplar_rows[] = {
    [2] = {ROW_FIXED64("time_unix_nano")},
    [3] = {ROW_DOUBLE("as_double"), ONEOF},
    [4] = {ROW_ID("span_id", 8)},
    [5] = {ROW_ID("trace_id", 16)},
    [6] = {ROW_SFIXED64("as_int"), ONEOF},
    [7] = {ROW_MESSAGES("filtered_attributes", shape_key_value)},
};
static const struct proto_shape exemplar = SHAPE_OF("Exemplar", exemplar_rows);

static const struct proto_row number_rows[] = {
    [2] = {ROW_FIXED64("start_time_unix_nano")},
    [3] = {ROW_FIXED64("time_unix_nano")},
    [4] = {ROW_DOUBLE("as_double"), ONEOF},
    [5] = {ROW_MESSAGES("exemplars", exemplar)},
    [6] = {ROW_SFIXED64("as_int"), ONEOF},
    [7] = {ROW_MESSAGES("attributes", shape_key_value)},
    [8] = {ROW_UINT32("flags")},
};
static const struct proto_shape number_point = SHAPE_OF("NumberDataPoint", number_rows);

static const struct proto_row histogram_point_rows[] = {
    [2] = {ROW_FIXED64("start_time_unix_nano")},
    [3] = {ROW_FIXED64("time_unix_nano")},
    [4] = {ROW_FIXED64("count")},
    [5] = {ROW_DOUBLE("sum"), OPTIONAL},
    [6] = {ROW_FIXED64S("bucket_counts")},
    [7] = {ROW_DOUBLES("explicit_bounds")},
    [8] = {ROW_MESSAGES("exemplars", exemplar)},
    [9] = {ROW_MESSAGES("attributes", shape_key_value)},
    [10] = {ROW_UINT32("flags")},
    [11] = {ROW_DOUBLE("min"), OPTIONAL},
    [12] = {ROW_DOUBLE("max"), OPTIONAL},
};
static const struct proto_shape histogram_point =
    SHAPE_OF("HistogramDataPoint", histogram_point_rows);

static const struct proto_row buckets_rows[] = {
    [1] = {ROW_SINT32("offset")},
    [2] = {ROW_UINT64S("bucket_counts")},
};
static const struct proto_shape buckets =
    SHAPE_OF("ExponentialHistogramDataPoint.Buckets", buckets_rows);

static const struct proto_row exponential_point_rows[] = {
    [1] = {ROW_MESSAGES("attributes", shape_key_value)},
    [2] = {ROW_FIXED64("start_time_unix_nano")},
    [3] = {ROW_FIXED64("time_unix_nano")},
    [4] = {ROW_FIXED64("count")},
    [5] = {ROW_DOUBLE("sum"), OPTIONAL},
    [6] = {ROW_SINT32("scale")},
    [7] = {ROW_FIXED64("zero_count")},
    [8] = {ROW_MESSAGE("positive", buckets)},
    [9] = {ROW_MESSAGE("negative", buckets)},
    [10] = {ROW_UINT32("flags")},
    [11] = {ROW_MESSAGES("exemplars", exemplar)},
    [12] = {ROW_DOUBLE("min"), OPTIONAL},
    [13] = {ROW_DOUBLE("max"), OPTIONAL},
    [14] = {ROW_DOUBLE("zero_threshold")},
};
static const struct proto_shape exponential_point =
    SHAPE_OF("ExponentialHistogramDataPoint", exponential_point_rows);

static const struct proto_row quantile_rows[] = {
    [1] = {ROW_DOUBLE("quantile")},
    [2] = {ROW_DOUBLE("value")},
};
static const struct proto_shape quantile =
    SHAPE_OF("SummaryDataPoint.ValueAtQuantile", quantile_rows);

static const struct proto_row summary_point_rows[] = {
    [2] = {ROW_FIXED64("start_time_unix_nano")},
    [3] = {ROW_FIXED64("time_unix_nano")},
    [4] = {ROW_FIXED64("count")},
    [5] = {ROW_DOUBLE("sum")},
    [6] = {ROW_MESSAGES("quantile_values", quantile)},
    [7] = {ROW_MESSAGES("attributes", shape_key_value)},
    [8] = {ROW_UINT32("flags")},
};
static const struct proto_shape summary_point = SHAPE_OF("SummaryDataPoint", summary_point_rows);

static const struct proto_row gauge_rows[] = {
    [1] = {ROW_MESSAGES("data_points", number_point)},
};
static const struct proto_shape gauge = SHAPE_OF("Gauge", gauge_rows);

static const struct proto_row sum_rows[] = {
    [1] = {ROW_MESSAGES("data_points", number_point)},
    [2] = {ROW_ENUM("aggregation_temporality", temporalities)},
    [3] = {ROW_BOOL("is_monotonic")},
};
static const struct proto_shape sum = SHAPE_OF("Sum", sum_rows);

static const struct proto_row histogram_rows[] = {
    [1] = {ROW_MESSAGES("data_points", histogram_point)},
    [2] = {ROW_ENUM("aggregation_temporality", temporalities)},
};
static const struct proto_shape histogram = SHAPE_OF("Histogram", histogram_rows);

static const struct proto_row exponential_rows[] = {
    [1] = {ROW_MESSAGES("data_points", exponential_point)},
    [2] = {ROW_ENUM("aggregation_temporality", temporalities)},
};
static const struct proto_shape exponential = SHAPE_OF("ExponentialHistogram", exponential_rows);

static const struct proto_row summary_rows[] = {
    [1] = {ROW_MESSAGES("data_points", summary_point)},
};
static const struct proto_shape summary = SHAPE_OF("Summary", summary_rows);

static const struct proto_row metric_rows[] = {
    [1] = {ROW_STRING("name")},
    [2] = {ROW_STRING("description")},
    [3] = {ROW_STRING("unit")},
    [5] = {ROW_MESSAGE("gauge", gauge), ONEOF},
    [7] = {ROW_MESSAGE("sum", sum), ONEOF},
    [9] = {ROW_MESSAGE("histogram", histogram), ONEOF},
    [10] = {ROW_MESSAGE("exponential_histogram", exponential), ONEOF},
    [11] = {ROW_MESSAGE("summary", summary), ONEOF},
    [12] = {ROW_MESSAGES("metadata", shape_key_value)},
};
static const struct proto_shape metric = SHAPE_OF("Metric", metric_rows);

static const struct proto_row scope_metrics_rows[] = {
    [1] = {ROW_MESSAGE("scope", shape_scope)},
    [2] = {ROW_MESSAGES("metrics", metric)},
    [3] = {ROW_STRING("schema_url")},
};
static const struct proto_shape scope_metrics = SHAPE_OF("ScopeMetrics", scope_metrics_rows);

static const struct proto_row resource_metrics_rows[] = {
    [1] = {ROW_MESSAGE("resource", shape_resource)},
    [2] = {ROW_MESSAGES("scope_metrics", scope_metrics)},
    [3] = {ROW_STRING("schema_url")},
};
static const struct proto_shape resource_metrics =
    SHAPE_OF("ResourceMetrics", resource_metrics_rows);

static const struct proto_row request_rows[] = {
    [1] = {ROW_MESSAGES("resource_metrics", resource_metrics)},
};
const struct proto_shape shape_metrics_request =
    SHAPE_OF("ExportMetricsServiceRequest", request_rows);
