#include "receivers/pyroscope/pyroscope.h"

#include "pipeline/pprof_request.h"

struct outcome pprof_batch(const struct pyroscope_receiver *self, struct view pprof,
                           struct series *series, struct batch **batch)
{
    struct bytes raw;
    *batch = NULL;
    bytes_init(&raw, budget_cap(self->env->budget, (size_t)self->max_request_body_size),
               self->env->budget);
    struct outcome outcome = pprof_request_read(pprof, &raw);
    if (outcome.verdict == VERDICT_OK && raw.size > 0) {
        *batch = pprof_request_batch(&raw, pprof, series_ref(series));
        if (!*batch)
            outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    }
    bytes_release(&raw);
    series_unref(series);
    return outcome;
}
