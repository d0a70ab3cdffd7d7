/* The batch of a pprof that was pushed (receivers/pyroscope/pyroscope.h). */
#include "receivers/pyroscope/pyroscope.h"

#include "lib/wire/pprof/pprof_agents.h"
#include "pipeline/pprof_request.h"

/* The time under which the server stores the profile. Push takes a time in 1970 literally and
 * refuses it. */
static uint64_t time_of(const struct pprof_source *way, const struct pprof_facts *facts)
{
    struct pprof asked = {.time_nanos = facts->time_nanos};
    return facts->time_nanos && (!way->by_ingest || pprof_has_time(&asked))
               ? (uint64_t)facts->time_nanos
               : way->no_time_ns;
}

static struct outcome read(const struct pyroscope_receiver *self, struct view pprof,
                           const struct pprof_source *way, const struct series *series,
                           struct bytes *raw, bool *repaired)
{
    struct pprof_facts facts;
    struct outcome outcome = pprof_request_inflate(pprof, raw);
    if (outcome.verdict == VERDICT_OK && way->is_dotnet && !pprof_repair_dotnet(raw, repaired))
        return outcome_no_memory();
    if (outcome.verdict != VERDICT_OK || raw->size == 0)
        return outcome;
    outcome = pprof_request_check(raw, &facts);
    if (outcome.verdict == VERDICT_OK && facts.dashed)
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                          "a sample type has a '-' in its name, which Pyroscope does not accept");
    return outcome.verdict == VERDICT_OK ? check_time(self, series, time_of(way, &facts)) : outcome;
}

struct outcome pprof_batch(const struct pyroscope_receiver *self, struct view pprof,
                           const struct pprof_source *way, struct series *series,
                           struct batch **batch)
{
    struct bytes raw;
    bool repaired = false;
    *batch = NULL;
    bytes_init(&raw, budget_cap(self->env->budget, (size_t)self->http.max_request_body_size),
               self->env->budget);
    struct outcome outcome = check_labels(self, series);
    if (outcome.verdict == VERDICT_OK)
        outcome = read(self, pprof, way, series, &raw, &repaired);
    if (outcome.verdict == VERDICT_OK && raw.size > 0) {
        *batch = pprof_request_batch(&raw, repaired ? VIEW("") : pprof, series_ref(series));
        if (!*batch)
            outcome = outcome_no_memory();
    }
    bytes_release(&raw);
    series_unref(series);
    return outcome;
}
