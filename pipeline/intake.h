/*
 * Where a receiver hands over a request, and the only place that decides what its client is told.
 * A receiver has one intake for each signal of the pipelines that name it.
 */
#ifndef PIPELINE_INTAKE_H
#define PIPELINE_INTAKE_H

#include "pipeline/batch.h"

struct intake;

/* Called exactly once per accepted call, inline or later from another thread. OK: the data are
 * ours now. RETRY, REJECT: nothing was kept, unless one of several pipelines had taken the batch
 * before another refused it (pipeline/graph/intake_run.h). */
typedef void intake_done_fn(void *ctx, const struct outcome *outcome);

/* Offers a batch (borrowed; its receipts are set here). A place is reserved in every queue that
 * lies ahead first; if one has none, the answer is RETRY and no branch takes the batch. Where an
 * exporter ahead has no queue, the answer waits for its backend's; else, with a journal, for the
 * disk. A batch in an encoding that no exporter ahead takes is REJECT, unsupported. Any thread;
 * blocks only for the moment in which a reload puts the pipelines together anew. */
void intake_accept(struct intake *intake, struct batch *batch, intake_done_fn *done, void *ctx);

#endif
