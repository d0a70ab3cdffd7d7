/*
 * A reader that sends all figures to an OTLP endpoint at intervals, and once more at its end: a
 * thread with an exporter of ours, otlp_http or otlp_grpc. A request that is not taken is not tried
 * again; the next one has the newer figures.
 */
#ifndef PIPELINE_TELEMETRY_PERIODIC_H
#define PIPELINE_TELEMETRY_PERIODIC_H

#include "lib/settings/problems.h"
#include "pipeline/telemetry/telemetry.h"

struct periodic;

/* Appends an ExportMetricsServiceRequest. False: no memory. */
typedef bool periodic_write_fn(void *ctx, struct bytes *out, uint32_t *points);

/* key: of the exporter, for problems ("telemetry.metrics.readers[0].periodic.exporter.otlp"). NULL:
 * problems were added. */
struct periodic *periodic_open(const struct telemetry_periodic *settings, const char *key,
                               periodic_write_fn *write, void *ctx, struct problems *problems);
void periodic_close(struct periodic *periodic); /* NULL is legal */

#endif
