/*
 * Accepting through the journal: a request is written there before its client is answered, and
 * stays until its receipt settles. What a stop leaves undelivered stays for the next process.
 */
#ifndef PIPELINE_GRAPH_JOURNALING_H
#define PIPELINE_GRAPH_JOURNALING_H

#include "pipeline/graph/graph.h"

/* Continues with a batch for which places are reserved: writes it to the journal, hands it to the
 * pipelines and calls done, on a thread of the journal. Takes over the reservation and leaves the
 * gate. */
void journaling_accept(struct intake *intake, struct batch *batch, intake_done_fn *done, void *ctx);

/* Offers a batch (borrowed) that is in the journal as entry to the pipelines, inside the gate.
 * RETRY: a queue was full or memory short, and the caller keeps the entry. Else the entry is taken
 * over. *kept_for_another: all of its exporters have it, so it was kept for one that is gone. */
struct outcome journaling_replay(struct intake *intake, struct batch *batch,
                                 struct journal_entry *entry, bool *kept_for_another);

#endif
