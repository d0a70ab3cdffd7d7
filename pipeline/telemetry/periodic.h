/*
 * A reader that sends all metrics to an OTLP endpoint at intervals, and once more when it closes: a
 * thread with an exporter, otlp_http or otlp_grpc. A failed request is not retried; the next one
 * has newer figures.
 */
#ifndef PIPELINE_TELEMETRY_PERIODIC_H
#define PIPELINE_TELEMETRY_PERIODIC_H

#include "lib/settings/problems.h"
#include "pipeline/telemetry/telemetry.h"

struct periodic;

/* Appends an ExportMetricsServiceRequest. False: no memory. */
typedef bool periodic_write_fn(void *ctx, struct bytes *out, uint32_t *points);

/* key: the exporter's, for problems ("telemetry.metrics.readers[0].periodic.exporter.otlp"). NULL:
 * problems were added. */
struct periodic *periodic_open(const struct telemetry_periodic *settings, const char *key,
                               periodic_write_fn *write, void *ctx, struct problems *problems);
void periodic_close(struct periodic *periodic); /* may be NULL */

#endif
