/* One pass of edits over a batch: what a processor does that edits or drops records. Any thread. */
#ifndef PIPELINE_BATCH_PASS_H
#define PIPELINE_BATCH_PASS_H

#include "lib/wire/edit/request_edit.h"
#include "pipeline/batch_edit.h"

enum pass_result {
    PASS_DONE,    /* *result is the batch as it is now, with one reference */
    PASS_EMPTY,   /* nothing is left of it */
    PASS_ABORTED, /* a step aborted */
    PASS_NO_ROOM  /* no memory */
};

/* Runs the edit (its levels, step and ctx are set, the rest is zero) over an OTLP batch. Where it
 * drops items their number is gone from the result's. */
enum pass_result batch_pass_run(struct batch *batch, struct request_edit *edit,
                                struct batch **result);

/* The same, and hands the result on: OK where nothing is left, REJECT where a step aborted, RETRY
 * without memory. A batch that is no OTLP goes on as it is. */
enum verdict batch_pass(struct batch *batch, struct request_edit *edit, struct outlet *next);

#endif
