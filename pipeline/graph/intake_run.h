/* The steps of accepting a batch, for callers that do other work in between
 * (pipeline/graph/journaling.c). */
#ifndef PIPELINE_GRAPH_INTAKE_RUN_H
#define PIPELINE_GRAPH_INTAKE_RUN_H

#include "pipeline/graph/graph.h"

/* Reserves a place in every downstream queue and memory for work on the batch: all of it, or
 * nothing and the answer is RETRY. intake_release must be called with the same batch. Call both
 * only while inside the gate. */
struct outcome intake_reserve(struct intake *intake, const struct batch *batch);
void intake_release(struct intake *intake, const struct batch *batch);

/* Hands a batch with reserved places to each pipeline in turn, and stops at the first that does not
 * take it. RETRY: that pipeline's processor had no memory; REJECT: it refused the batch. Pipelines
 * before it have taken the batch in either case, so a client that offers it again after RETRY
 * doubles the data there. REJECT with CAUSE_UNAVAILABLE: one of its statements cannot be evaluated.
 * Any thread. */
struct outcome intake_run(struct intake *intake, struct batch *batch);

/* What a client is told of an outcome of intake_run: to retry where a statement cannot be
 * evaluated, as the Collector does, since a reload may mend it. What a journal holds is not tried
 * again. */
struct outcome intake_answer_of(const struct outcome *outcome);

#endif
