/* Limits that lanes share, and the sums of what they count. */
#include "processors/correlation/lanes/state.h"

#define MIB ((size_t)1 << 20)

/* Half of a limit is split evenly; lanes share the other half, whoever needs it first. One lane
 * alone has all of it. */
static uint64_t share_own(uint64_t all, unsigned lanes)
{
    return all / 2 / lanes;
}

static uint64_t share_limit(uint64_t all, unsigned lanes, uint64_t common, uint64_t excess)
{
    uint64_t others = common > excess ? common - excess : 0, half = all - all / 2;
    return share_own(all, lanes) + (half > others ? half - others : 0);
}

static unsigned lane_count(const struct lane_state *state)
{
    unsigned count = atomic_load_explicit(&state->top->lanes.count, memory_order_relaxed);
    return count ? count : 1;
}

static uint64_t common(const _Atomic uint64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

void state_limit(struct lane_state *state)
{
    struct correlation *self = &state->self;
    const struct correlation_config *config = &self->config;
    const struct lanes *lanes = &state->top->lanes;
    unsigned count = lane_count(state);
    if (!self->open)
        return;
    uint64_t bytes = (uint64_t)config->hold_max_mib * MIB, spans = (uint64_t)config->hold_max_spans;
    pthread_mutex_lock(&self->lock);
    self->hold.max_bytes =
        share_limit(bytes, count, common(&lanes->common_bytes), state->excess_bytes);
    if (spans)
        self->hold.max_spans =
            1 + share_limit(spans - 1, count, common(&lanes->common_spans), state->excess_spans);
    if (state->lanes != count) {
        size_t index = (size_t)config->index_max_mib * MIB / count;
        uint32_t second = correlation_second(self, clock_mono(self->env->clock));
        id_table_limit(&self->index.table, index, second);
        id_table_limit(&self->ancestry, index, second);
        state->lanes = count;
    }
    pthread_mutex_unlock(&self->lock);
}

static uint64_t beyond(uint64_t used, uint64_t own)
{
    return used > own ? used - own : 0;
}

void state_note_use(struct lane_state *state)
{
    struct correlation *self = &state->self;
    const struct correlation_config *config = &self->config;
    struct lanes *lanes = &state->top->lanes;
    unsigned count = lane_count(state);
    uint64_t bytes = 0, spans = 0;
    if (self->open) {
        pthread_mutex_lock(&self->lock);
        bytes = beyond(self->hold.bytes, share_own((uint64_t)config->hold_max_mib * MIB, count));
        spans = beyond(self->hold.spans, share_own((uint64_t)config->hold_max_spans, count));
        pthread_mutex_unlock(&self->lock);
    }
    if (bytes != state->excess_bytes)
        atomic_fetch_add(&lanes->common_bytes, bytes - state->excess_bytes);
    if (spans != state->excess_spans)
        atomic_fetch_add(&lanes->common_spans, spans - state->excess_spans);
    state->excess_bytes = bytes;
    state->excess_spans = spans;
}

static bool has_counts(const struct service_counts *counts)
{
    const uint64_t *words = (const uint64_t *)(const void *)counts;
    for (size_t i = 0; i < sizeof *counts / sizeof *words; i++)
        if (words[i])
            return true;
    return false;
}

/* service NULL: of services that are no longer known. */
static void tally_counts(struct tallies *tallies, struct service *service,
                         const struct service_counts *counts, uint64_t mono)
{
    if (counts->linked)
        tally_add(tallies, service, TALLY_LINKED, counts->linked, mono);
    for (unsigned reason = 0; reason < REASON_COUNT; reason++)
        if (counts->unlinked[reason])
            tally_add(tallies, service, TALLY_UNLINKED + reason, counts->unlinked[reason], mono);
}

static void flush_gone(struct correlation *top, struct service_counts *counts, uint64_t mono)
{
    service_counts_add(&top->services.gone, counts);
    tally_counts(top->services.tallies, NULL, counts, mono);
    *counts = (struct service_counts){0};
}

/* Moves the counts of a service to the one of that name in the top. Until that has data of its own,
 * it is as new to the top's rules as if it had not been seen. */
static void flush_service(struct correlation *top, struct service *service, uint64_t mono)
{
    struct service *sum =
        services_see(&top->services, service_tenant(service), service_name(service), mono);
    if (!sum) {
        flush_gone(top, &service->counts, mono);
        return;
    }
    if (!sum->first_candidate && !sum->processes)
        sum->first_seen = mono;
    service_counts_add(&sum->counts, &service->counts);
    tally_counts(top->services.tallies, sum, &service->counts, mono);
    service->counts = (struct service_counts){0};
}

void state_flush(struct lane_state *state)
{
    struct correlation *self = &state->self, *top = state->top;
    uint64_t mono = clock_mono(top->env->clock);
    state->flushed = mono;
    state->dirty = false;
    if (!self->open)
        return;
    pthread_mutex_lock(&self->lock);
    pthread_mutex_lock(&top->lock);
    for (struct service *each = NULL; (each = services_next(&self->services, each));)
        if (has_counts(&each->counts))
            flush_service(top, each, mono);
    if (has_counts(&self->services.gone))
        flush_gone(top, &self->services.gone, mono);
    correlation_publish_known(top);
    pthread_mutex_unlock(&top->lock);
    pthread_mutex_unlock(&self->lock);
}
