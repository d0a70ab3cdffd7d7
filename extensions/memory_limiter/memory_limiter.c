/* Sets the process's memory budget. */
#include "pipeline/component.h"
#include "pipeline/memory_limit.h"

static size_t limiter_limit(const void *self, size_t total)
{
    return memory_limit_of(self, total);
}

const struct component extension_memory_limiter = {
    .type = "memory_limiter",
    .text = "sets the memory budget of the process",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct memory_limit_settings),
    .keys = memory_limit_keys,
    .check = memory_limit_check,
    .memory_limit = limiter_limit,
};
