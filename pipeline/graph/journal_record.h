/*
 * A batch as the journal stores it: one protobuf message with the batch's other members first and
 * the payload as its last field. It contains the request headers that are sent on, including
 * authorization.
 */
#ifndef PIPELINE_GRAPH_JOURNAL_RECORD_H
#define PIPELINE_GRAPH_JOURNAL_RECORD_H

#include "pipeline/batch.h"

/* Writes everything except the payload to head (empty at the call), so that the payload's bytes can
 * follow. receiver: the id of the receiver that accepted it. False: no memory. */
bool journal_record_begin(const struct batch *batch, const char *receiver, struct bytes *head);

/* Makes a batch from a record; its payload is copied and charged to the budget even past the limit.
 * *receiver points into the record. NULL: *reason (static text). */
struct batch *journal_record_read(struct view record, struct budget *budget, struct view *receiver,
                                  const char **reason);

#endif
