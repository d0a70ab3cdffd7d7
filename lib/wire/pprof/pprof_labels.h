/* Which labels the samples of a pprof carry. Pure. */
#ifndef LIB_WIRE_PPROF_PPROF_LABELS_H
#define LIB_WIRE_PPROF_PPROF_LABELS_H

#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/series.h"

/* Pyroscope makes series labels of a sample's labels with string values, but for span_id,
 * profile_id and trace_id, and of each set of them a series of its own; a series label of that name
 * stays instead. How many a series of these labels gets more, at most. */
size_t pprof_promoted_labels(const struct pprof *pprof, const struct series *series);

#endif
