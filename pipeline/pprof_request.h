/* What receivers of pprof do with one before it becomes a batch. Any thread. */
#ifndef PIPELINE_PPROF_REQUEST_H
#define PIPELINE_PPROF_REQUEST_H

#include "pipeline/batch.h"

/* Appends a gzip or plain pprof to raw (empty), inflated, and checks it. OK with raw empty: there
 * was nothing in it. Else the outcome for the client. */
struct outcome pprof_request_read(struct view pprof, struct bytes *raw);

/* A batch of such bytes, which are moved into it; the series is taken over in every case. came: as
 * they came, borrowed; kept beside them where it is gzip, to be sent on as it is (VIEW(""): they
 * were changed). NULL: no memory. */
struct batch *pprof_request_batch(struct bytes *raw, struct view came, struct series *series);

#endif
