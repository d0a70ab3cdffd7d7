/* The steps of accepting a batch, for what does them one by one (pipeline/graph/journaling.c). */
#ifndef PIPELINE_GRAPH_INTAKE_RUN_H
#define PIPELINE_GRAPH_INTAKE_RUN_H

#include "pipeline/graph/graph.h"

/* Reserves a place in every queue ahead and memory for work on the batch, or nothing and answers
 * RETRY. Release comes with the same batch. */
struct outcome intake_reserve(struct intake *intake, const struct batch *batch);
void intake_release(struct intake *intake, const struct batch *batch);

/* Hands a batch for which places are reserved to the pipelines that the intake feeds, one after the
 * other. OK: all have taken it. RETRY (no memory) and REJECT come from the first pipeline that
 * refuses: those before it have taken the batch and deliver it, those behind it are not asked. What
 * a client sends again then arrives twice where it was taken. Any thread. */
struct outcome intake_run(struct intake *intake, struct batch *batch);

#endif
