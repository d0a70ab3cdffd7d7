/* More about a row of the running graph (pipeline/life/runtime.h), while it is visited. */
#ifndef PIPELINE_LIFE_ROWS_H
#define PIPELINE_LIFE_ROWS_H

#include "pipeline/admission.h"
#include "pipeline/life/runtime.h"

/* Whether the row is a receiver that refuses requests for want of memory or of room in a queue. */
bool runtime_row_pressure(const struct runtime_row *row, struct admission_pressure *out);

#endif
