/*
 * The process's own metrics, for the readers that service.telemetry.metrics names: pages to scrape,
 * and periodic exports. Opened before anything else of a configuration and closed after all of it,
 * so that a start and a stop can be watched too.
 */
#ifndef PIPELINE_TELEMETRY_TELEMETRY_H
#define PIPELINE_TELEMETRY_TELEMETRY_H

#include "lib/metrics/metrics.h"
#include "lib/settings/problems.h"
#include "pipeline/telemetry/settings.h"

#include <stdio.h>

struct telemetry;

/* Adds all points of the process. Called on a reader's thread; takes no lock that the data path
 * needs. */
typedef void telemetry_measure_fn(void *ctx, struct metrics *metrics);

struct telemetry_options {
    const struct telemetry_settings *settings; /* read only by open */
    const struct node *section;                /* service, for places; NULL: not given */
    telemetry_measure_fn *measure;
    void *ctx;
    bool has_default; /* a page on localhost:8888 if nothing is configured */
};

/* Opens the readers. If the default page's port is taken, that is only a warning in the log. NULL:
 * problems were added. */
struct telemetry *telemetry_open(const struct telemetry_options *options,
                                 struct problems *problems);

/* Sets whether the next instance may take over its sockets. */
void telemetry_yield(struct telemetry *telemetry, bool yields);

/* Asks the backends of the readers as periodic_probe does; nothing else is opened. Prints those
 * that accept metrics to out, and adds a problem for each other one. */
void telemetry_probe(const struct telemetry_options *options, struct problems *problems, FILE *out);

void telemetry_close(struct telemetry *telemetry); /* may be NULL */

#endif
