/*
 * Profiles in the form that an exporter takes: a pprof as an OTLP request, and a pprof in parts
 * where that request would be too large. Any thread.
 */
#ifndef PIPELINE_OTLP_FORM_H
#define PIPELINE_OTLP_FORM_H

#include "pipeline/batch.h"

/* The batch as OTLP: itself (referenced) where it is, or a new one with its metadata, receipts and
 * place, its bytes forced on the budget; items are then the OTLP Profiles, one a sample type. NULL:
 * *why says why not (REJECT, or RETRY without memory). */
struct batch *otlp_form(struct batch *batch, struct outcome *why);

/* Cuts a pprof by samples into a list of at least two, the caller's, so that each part has
 * at most max_samples and max_bytes of the pprof's own bytes, or one sample
 * (lib/wire/pprof/pprof_split.h; limits of 0 mean none). NULL: it cannot be cut, or there is no
 * memory. */
struct batch_part *pprof_parts(const struct batch *batch, size_t max_samples, size_t max_bytes);

/* An OTLP batch of profiles without what its dictionary holds for others, its bytes forced on the
 * budget; NULL: nothing is to be gained, or there is no memory. */
struct batch *otlp_pruned(const struct batch *batch);

#endif
