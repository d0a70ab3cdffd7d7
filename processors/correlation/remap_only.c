#include "processors/correlation/remap_only.h"

#include "pipeline/batch_edit.h"

enum verdict remap_only_consume(const struct remap *remap, struct batch *batch, struct outlet *next)
{
    struct batch_edit edit;
    batch_edit_begin(&edit, batch);
    otlp_remap(batch->signal, edit.request, remap->pairs, remap->count, &edit.splice);
    return batch_edit_push(&edit, next);
}
