/*
 * Batches whose senders have had their answer (`answered` of struct batch): nothing of them can be
 * refused any more. What a processor cannot pass is dropped, counted as lost, and logged. Any
 * thread.
 */
#ifndef PIPELINE_ANSWERED_H
#define PIPELINE_ANSWERED_H

#include "pipeline/env.h"

/* A batch that is answered, with one reference: the same one, or a copy with its notes. NULL: no
 * memory. */
struct batch *answered_batch(struct batch *batch);

/* As outlet_push for an answered batch (borrowed), which env's instance holds. A batch that is
 * rejected is lost, so that there is only OK or RETRY. */
enum verdict answered_push(const struct env *env, struct outlet *outlet, struct batch *batch);

/* Counts items of an answered batch that env's instance dropped, and tells its receipts and, once
 * a minute, the log. why: an outcome of REJECT. */
void answered_lose(const struct env *env, const struct batch *batch, uint32_t items,
                   const struct outcome *why);

#endif
