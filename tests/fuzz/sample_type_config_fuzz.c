/* A sample_type_config: there is a name if and only if it is valid. */
#include "lib/wire/pprof/pprof.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pprof pprof = {
        .types = {{VIEW("contentions"), VIEW("count")}, {VIEW("delay"), VIEW("nanoseconds")}},
        .type_count = 2,
    };
    struct view config = {data, size};
    struct arena arena;
    arena_init(&arena, 1 << 20);
    if ((pprof_series_name(&pprof, config, &arena).data != NULL) != pprof_config_valid(config))
        abort();
    arena_release(&arena);
    return 0;
}
