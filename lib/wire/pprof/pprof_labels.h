/* The labels of a pprof's samples. Pure. */
#ifndef LIB_WIRE_PPROF_PPROF_LABELS_H
#define LIB_WIRE_PPROF_PPROF_LABELS_H

#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/series.h"

/* Pyroscope promotes a sample's string labels, except span_id, profile_id and trace_id, to series
 * labels, with one series per distinct set; an existing series label of the same name wins. Returns
 * the maximum number of labels that this adds to a series. */
size_t pprof_promoted_labels(const struct pprof *pprof, const struct series *series);

#endif
