/*
 * Profiles in the form that an exporter accepts: a pprof as an OTLP request, and a pprof in parts
 * where that request would be too large. Any thread.
 */
#ifndef PIPELINE_OTLP_FORM_H
#define PIPELINE_OTLP_FORM_H

#include "pipeline/batch.h"

/* Returns the batch as OTLP: a reference to itself if it already is, or a new batch with its
 * metadata, receipts and place, its bytes charged to the budget even past the limit. Its items are
 * then OTLP Profiles, one for each sample type; its samples count as those of the pprof. NULL: *why
 * says why (REJECT, or RETRY without memory). */
struct batch *otlp_form(struct batch *batch, struct outcome *why);

/* Cuts a pprof by samples into a list of at least two, owned by the caller. Each part has at most
 * max_samples samples and max_bytes of the pprof's own bytes, or one sample
 * (lib/wire/pprof/pprof_split.h; 0: no limit). NULL: it cannot be cut, or no memory. */
struct batch_part *pprof_parts(const struct batch *batch, size_t max_samples, size_t max_bytes);

/* Returns an OTLP profiles batch without the dictionary entries that its profiles do not use, its
 * bytes charged to the budget even past the limit. NULL: nothing to remove, or no memory. */
struct batch *otlp_pruned(const struct batch *batch);

#endif
