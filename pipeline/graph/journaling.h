/*
 * Accepting into the journal: a request stands there before its client is answered, until its
 * receipt settles. What a stop leaves undelivered stays there for the next process.
 */
#ifndef PIPELINE_GRAPH_JOURNALING_H
#define PIPELINE_GRAPH_JOURNALING_H

#include "pipeline/graph/graph.h"

/* Goes on with a batch for which places are reserved: first the journal, then the pipelines, then
 * done, from a thread of the journal. Takes over the reservation and leaves the gate. */
void journaling_accept(struct intake *intake, struct batch *batch, intake_done_fn *done, void *ctx);

/* Offers a batch (borrowed) that stands in the journal as entry to the pipelines, inside the gate.
 * RETRY: there was no place, the caller keeps the entry. Else the entry is taken over. */
struct outcome journaling_replay(struct intake *intake, struct batch *batch,
                                 struct journal_entry *entry);

#endif
