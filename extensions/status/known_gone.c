/* What is remembered of a part of the spans only: which ids are looked up where there are too many,
 * and the numbers of spans that have given way to newer ones. */
#include "extensions/status/known_find.h"

#include <stdlib.h>

/* From the decision about a span until its request is kept. */
#define KEPT_WITHIN (60 * NS_PER_S)

void known_refill(struct known *known, uint64_t now)
{
    uint64_t ms = (now - known->tokens_at) / NS_PER_MS, more = ms * TOKENS_A_SECOND / 1000;
    if (!known->tokens_at || ms > 1000 * 60 || known->tokens + more > TOKENS_MAX)
        known->tokens = TOKENS_MAX;
    else
        known->tokens += more;
    known->tokens_at = now;
    uint64_t share = known->tokens * UINT32_MAX / (TOKENS_MAX / 8);
    known->share = share < UINT32_MAX ? (uint32_t)share : UINT32_MAX;
}

uint32_t known_figures_service(struct view name)
{
    return (uint32_t)view_hash(name) & ~(uint32_t)FIGURES_TIME_CPU;
}

void known_note_gone(struct known *known, const struct known_span *span)
{
    if (!span->trace || !(span->samples || span->wall_samples) ||
        (span->decided && span->decided + KEPT_WITHIN < known->gone_before))
        return;
    if (!known->gone)
        known->gone = malloc(KNOWN_GONE * sizeof *known->gone);
    if (!known->gone || known->gone_count == KNOWN_GONE) {
        known->gone_lost = known->tokens_at;
        return;
    }
    known->gone[known->gone_count++] = (struct known_figures){
        .id = span->id,
        .trace = span->trace,
        .cpu_ns = span->cpu_ns,
        .wall_ns = span->wall_ns,
        .samples = (uint32_t)known_samples(known, span),
        .service = known->services[span->service]->hash |
                   (known_times_cpu(known, span) ? FIGURES_TIME_CPU : 0),
    };
}

struct known_figures *known_take_gone(struct known *known, uint64_t before, size_t *count)
{
    struct known_figures *gone = known->gone;
    *count = known->gone_count;
    known->gone = NULL;
    known->gone_count = 0;
    known->gone_before = before;
    return gone;
}
