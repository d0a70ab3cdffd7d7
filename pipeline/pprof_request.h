/* Reading a request's pprof, before it becomes a batch. Any thread. */
#ifndef PIPELINE_PPROF_REQUEST_H
#define PIPELINE_PPROF_REQUEST_H

#include "pipeline/batch.h"

/* Inflates a pprof (gzip or plain), appends it to raw (empty at the call) and checks it. If the
 * pprof was empty: OK, and raw stays empty. Otherwise the outcome for the client. Memory for the
 * check is charged to the budget of raw; a profile whose entries would need more than the budget
 * has is too large. */
struct outcome pprof_request_read(struct view pprof, struct bytes *raw);

/* Facts found while checking a pprof. */
struct pprof_facts {
    int64_t time_nanos; /* 0: none, or one that the server ignores */
    bool dashed;        /* a sample type has a '-', which Pyroscope refuses */
};

/* The two halves of pprof_request_read, for callers that repair what was inflated. facts: filled if
 * the pprof is valid; NULL: not wanted. */
struct outcome pprof_request_inflate(struct view pprof, struct bytes *raw);
struct outcome pprof_request_check(const struct bytes *raw, struct pprof_facts *facts);

/* Makes a batch of the checked bytes, which are moved into it. The series is taken over even on
 * failure. received: the bytes as received, borrowed; if they are gzip they are kept beside the
 * batch and sent on unchanged (VIEW(""): they were changed). NULL: no memory. */
struct batch *pprof_request_batch(struct bytes *raw, struct view received, struct series *series);

#endif
