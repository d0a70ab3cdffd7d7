/* More about a row of the running graph (pipeline/life/runtime.h), while it is visited. */
#ifndef PIPELINE_LIFE_ROWS_H
#define PIPELINE_LIFE_ROWS_H

#include "pipeline/admission.h"
#include "pipeline/life/runtime.h"

/* Whether the row is a receiver that refuses requests for want of memory or of room in a queue. */
bool runtime_row_pressure(const struct runtime_row *row, struct admission_pressure *out);

/* When the row last refused a request for a cause, and last lost what it had accepted; wall, ns; 0:
 * never. */
uint64_t runtime_row_last_refusal(const struct runtime_row *row, enum cause cause);
uint64_t runtime_row_last_drop(const struct runtime_row *row, enum cause cause);

/* The sentence of a late refusal for a cause, as in the log; "": there is none. */
struct outcome runtime_row_last_outcome(const struct runtime_row *row, enum cause cause);

/* Appends what an operator should see of the row's component though data pass. False: nothing. */
bool runtime_row_concern(const struct runtime_row *row, struct bytes *out);

/* Appends sentences about exporters that a reload removed: what still waits in them, and what they
 * dropped in the last ten minutes; "; " between them, and before them if there is text already.
 * Any thread. */
void runtime_removed(struct runtime *runtime, struct bytes *out);

/* Appends in the same way what damaged files of the journal cost. Any thread. */
void runtime_damaged(struct runtime *runtime, struct bytes *out);

#endif
