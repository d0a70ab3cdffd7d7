/*
 * Where a receiver hands over a request; its outcome alone determines the client's response. A
 * receiver has one intake for each signal of the pipelines that name it.
 */
#ifndef PIPELINE_INTAKE_H
#define PIPELINE_INTAKE_H

#include "pipeline/batch.h"

struct intake;

/* Called exactly once per call of intake_accept, inline or later from another thread. OK: the
 * pipelines now own the data. REJECT: never offer it again. RETRY: offer it again. No exporter has
 * the data after RETRY or REJECT, with two exceptions: where clients wait for the backend, some
 * exporters may have delivered it; and where several pipelines have the receiver, the first ones
 * may have taken the batch before a processor of a later one had no memory or rejected it
 * (intake_run). */
typedef void intake_done_fn(void *ctx, const struct outcome *outcome);

/* Offers a batch (borrowed; its receipts are set here). First reserves a place in every downstream
 * queue; if one has none, no branch takes the batch, and the answer is RETRY; at once, or, if that
 * queue has block_on_overflow and the batch no lane, if there is no room within some seconds. If a
 * downstream exporter has no queue (or wait_for_result), done follows its backend's response to
 * what no processor holds or takes over; otherwise, with a journal, the write to disk. A batch in
 * an encoding that no downstream exporter accepts is answered REJECT (CAUSE_UNSUPPORTED). Any
 * thread; blocks only while a reload swaps the pipelines. */
void intake_accept(struct intake *intake, struct batch *batch, intake_done_fn *done, void *ctx);

#endif
