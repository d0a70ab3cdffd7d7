#include "pipeline/batch_veto.h"

bool batch_is_elsewhere(const struct batch *batch)
{
    bool elsewhere = batch->receipt_count > 0;
    for (size_t i = 0; elsewhere && i < batch->receipt_count; i++)
        elsewhere = receipt_is_elsewhere(batch->receipts[i]);
    return elsewhere;
}

static bool is_elsewhere(const void *batch)
{
    return batch_is_elsewhere(batch);
}

struct veto batch_veto(const struct batch *batch)
{
    return (struct veto){is_elsewhere, batch};
}
