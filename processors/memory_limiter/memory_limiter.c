/* Sets the process's memory budget; data pass through. Requests are refused at the intake. */
#include "pipeline/component.h"
#include "pipeline/memory_limit.h"

static enum verdict limiter_consume(void *self, struct batch *batch, struct outlet *next)
{
    (void)self;
    return outlet_push(next, batch);
}

static size_t limiter_limit(const void *self, size_t total)
{
    return memory_limit_of(self, total);
}

const struct component processor_memory_limiter = {
    .type = "memory_limiter",
    .text = "sets the memory budget of the process",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNALS_ALL,
    .size = sizeof(struct memory_limit_settings),
    .keys = memory_limit_keys,
    .check = memory_limit_check,
    .consume = limiter_consume,
    .memory_limit = limiter_limit,
};
