/*
 * What is told of every component by its kind, under the Collector's names and labels, and of our
 * own beside them. Any thread; the instance stays for the call.
 */
#ifndef PIPELINE_TELEMETRY_INSTANCES_H
#define PIPELINE_TELEMETRY_INSTANCES_H

#include "pipeline/graph/graph.h"

/* Adds what is counted around an instance in use: open or not. */
void instance_measure(const struct instance *instance, const struct graph *graph,
                      struct metrics *metrics);

#endif
