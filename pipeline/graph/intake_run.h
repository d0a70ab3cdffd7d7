/* The steps of accepting a batch, for what does them one by one (pipeline/graph/journaling.c). */
#ifndef PIPELINE_GRAPH_INTAKE_RUN_H
#define PIPELINE_GRAPH_INTAKE_RUN_H

#include "pipeline/graph/graph.h"

/* Reserves a place in every queue ahead and memory for work on the batch, or nothing and answers
 * RETRY. Release comes with the same batch. */
struct outcome intake_reserve(struct intake *intake, const struct batch *batch);
void intake_release(struct intake *intake, const struct batch *batch);

/* Hands a batch for which places are reserved to the pipelines. */
struct outcome intake_run(struct intake *intake, struct batch *batch);

#endif
