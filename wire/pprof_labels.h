/* Which labels the samples of a pprof carry. Pure. */
#ifndef WIRE_PPROF_LABELS_H
#define WIRE_PPROF_LABELS_H

#include "wire/pprof.h"

/* How many distinct label keys with string values the samples carry, without span_id, profile_id
 * and trace_id: Pyroscope makes series labels of them. SIZE_MAX: the arena has no room. */
size_t pprof_promoted_labels(const struct pprof *pprof, struct arena *arena);

#endif
