/* What receivers of pprof do with one before it becomes a batch. Any thread. */
#ifndef PIPELINE_PPROF_REQUEST_H
#define PIPELINE_PPROF_REQUEST_H

#include "pipeline/batch.h"

/* Appends a gzip or plain pprof to raw (empty), inflated, and checks it. OK with raw empty: there
 * was nothing in it. Else the outcome for the client. */
struct outcome pprof_request_read(struct view pprof, struct bytes *raw);

/* What a pprof says of itself. */
struct pprof_facts {
    int64_t time_nanos; /* 0: none, or one that the server takes for none */
    bool dashed;        /* a sample type has a '-', which Pyroscope refuses */
};

/* The two halves of it, for one who has to repair what was inflated. facts: filled where it is
 * good; NULL: not wanted. */
struct outcome pprof_request_inflate(struct view pprof, struct bytes *raw);
struct outcome pprof_request_check(struct view raw, struct pprof_facts *facts);

/* A batch of such bytes, which are moved into it; the series is taken over in every case. came: as
 * they came, borrowed; kept beside them where it is gzip, to be sent on as it is (VIEW(""): they
 * were changed). NULL: no memory. */
struct batch *pprof_request_batch(struct bytes *raw, struct view came, struct series *series);

#endif
