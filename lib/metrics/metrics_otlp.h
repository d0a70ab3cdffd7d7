/* Writes collected points as an OTLP request (opentelemetry-proto, metrics/v1/metrics.proto):
 * cumulative, one data point per series. */
#ifndef LIB_METRICS_METRICS_OTLP_H
#define LIB_METRICS_METRICS_OTLP_H

#include "lib/metrics/metrics.h"

struct metrics_origin {
    const struct metric_label *resource; /* attributes; ended by one without a name */
    const char *scope, *version;         /* instrumentation scope and its version */
    uint64_t started, now;               /* wall, ns */
};

/* Appends an ExportMetricsServiceRequest; *points is set to the number of data points. The row
 * target_info is left out, as it is the resource. False: no memory. */
bool metrics_write_otlp(struct metrics *metrics, const struct metrics_origin *origin,
                        struct bytes *out, uint32_t *points);

#endif
