/*
 * A reader that sends all metrics at intervals, and once more when it closes: a thread with an
 * exporter, otlp_http or otlp_grpc, or with standard output, where a request is a line of OTLP
 * JSON. A failed request is not retried; the next one has newer figures.
 */
#ifndef PIPELINE_TELEMETRY_PERIODIC_H
#define PIPELINE_TELEMETRY_PERIODIC_H

#include "lib/settings/problems.h"
#include "pipeline/telemetry/telemetry.h"

#include <stdio.h>

struct periodic;

/* Appends an ExportMetricsServiceRequest. False: no memory. */
typedef bool periodic_write_fn(void *ctx, struct bytes *out, uint32_t *points);

/* Where the reader is configured, for problems. */
struct periodic_place {
    const char *key;            /* "service.telemetry.metrics.readers[0].periodic.exporter.otlp" */
    const struct node *section; /* service; NULL: not given */
};

/* NULL: problems were added. Borrows nothing of settings and place. */
struct periodic *periodic_open(const struct telemetry_periodic *settings,
                               const struct periodic_place *place, periodic_write_fn *write,
                               void *ctx, struct problems *problems);
void periodic_close(struct periodic *periodic); /* may be NULL */

/* Asks the backend of settings->otlp with one empty request; blocks for as long as its timeout
 * allows. Prints to out where metrics are accepted, or adds a problem. */
void periodic_probe(const struct telemetry_periodic *settings, const struct periodic_place *place,
                    struct problems *problems, FILE *out);

#endif
