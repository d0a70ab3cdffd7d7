/* The steps of accepting a batch, for what does them one by one (pipeline/journaling.c). */
#ifndef PIPELINE_INTAKE_RUN_H
#define PIPELINE_INTAKE_RUN_H

#include "pipeline/graph.h"

/* Reserves a place in every queue ahead, or none and answers RETRY. */
struct outcome intake_reserve(struct intake *intake);
void intake_release(struct intake *intake);

/* Hands a batch for which places are reserved to the pipelines. */
struct outcome intake_run(struct intake *intake, struct batch *batch);

#endif
