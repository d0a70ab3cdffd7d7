/* Whether another process delivers a batch (receipt_is_elsewhere), so that it must not be sent. Any
 * thread. */
#ifndef PIPELINE_BATCH_VETO_H
#define PIPELINE_BATCH_VETO_H

#include "lib/base/veto.h"
#include "pipeline/batch.h"

/* Whether that is so for all of its data: what is merged with other data goes with these. */
bool batch_is_elsewhere(const struct batch *batch);

/* For the requests that send the batch, which must exist as long: given once
 * batch_is_elsewhere. */
struct veto batch_veto(const struct batch *batch);

#endif
