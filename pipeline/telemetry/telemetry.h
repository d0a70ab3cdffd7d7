/*
 * What the process tells of itself, to those that service.telemetry.metrics names: pages that are
 * fetched. Opened before anything else of a configuration and closed after all of it, so that a
 * start and a stop can be watched too.
 */
#ifndef PIPELINE_TELEMETRY_TELEMETRY_H
#define PIPELINE_TELEMETRY_TELEMETRY_H

#include "lib/metrics/metrics.h"
#include "lib/settings/problems.h"
#include "pipeline/telemetry/settings.h"

struct telemetry;

/* Adds all points of the process. Called from a reader's thread; takes no lock that data need. */
typedef void telemetry_measure_fn(void *ctx, struct metrics *metrics);

struct telemetry_options {
    const struct telemetry_settings *settings; /* read by open alone */
    const struct node *section;                /* service, for places; NULL: not given */
    telemetry_measure_fn *measure;
    void *ctx;
    bool has_default; /* a page on localhost:8888 where nothing is configured */
};

/* Opens the readers. A default page whose port is taken is a warning in the log. NULL: problems
 * were added. */
struct telemetry *telemetry_open(const struct telemetry_options *options,
                                 struct problems *problems);

/* Its sockets are to be taken over by one that is about to be opened, or (false) are not. */
void telemetry_yield(struct telemetry *telemetry, bool yields);

void telemetry_close(struct telemetry *telemetry); /* NULL is legal */

#endif
