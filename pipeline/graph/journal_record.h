/*
 * A batch as the journal keeps it: what stands beside its payload goes in front of it, as one
 * protobuf message with the payload as its last field. What a request carries to be sent on, its
 * authorization too, is in it.
 */
#ifndef PIPELINE_GRAPH_JOURNAL_RECORD_H
#define PIPELINE_GRAPH_JOURNAL_RECORD_H

#include "pipeline/batch.h"

/* Writes all but the payload to head (empty at the call), so that the payload's bytes can follow.
 * receiver: the id of who accepted it. False: no memory. */
bool journal_record_begin(const struct batch *batch, const char *receiver, struct bytes *head);

/* A batch from a record's bytes; its payload is copied and forced on the budget. *receiver lies in
 * the record. NULL: *reason (static text). */
struct batch *journal_record_read(struct view record, struct budget *budget, struct view *receiver,
                                  const char **reason);

#endif
