/*
 * Metrics that every component of a kind has, under the Collector's names and labels, and
 * spanlink's own beside them. Any thread; the instance must exist during the call.
 */
#ifndef PIPELINE_TELEMETRY_INSTANCES_H
#define PIPELINE_TELEMETRY_INSTANCES_H

#include "pipeline/graph/graph.h"

/* Adds the metrics of an instance in use, open or not. */
void instance_measure(const struct instance *instance, const struct graph *graph,
                      struct metrics *metrics);

/* Adds what an instance that a reload removed has lost. */
void instance_measure_gone(enum component_kind kind, const struct meter *meter,
                           struct metrics *metrics);

#endif
