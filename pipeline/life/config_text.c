#include "pipeline/life/runtime_state.h"

void runtime_config(struct runtime *runtime, struct bytes *out)
{
    (void)runtime;
    (void)out;
}

void runtime_defaults(struct runtime *runtime, runtime_default_fn *visit, void *ctx)
{
    (void)runtime;
    (void)visit;
    (void)ctx;
}
