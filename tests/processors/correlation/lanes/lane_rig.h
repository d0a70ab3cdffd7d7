/* Single batches with a lane, into the instance of a rig. Times are after RIG_START. */
#ifndef TESTS_PROCESSORS_CORRELATION_LANES_LANE_RIG_H
#define TESTS_PROCESSORS_CORRELATION_LANES_LANE_RIG_H

#include "pipeline/lane.h"
#include "tests/processors/correlation/rig.h"

#define LANE_SIGNALS (SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES))

static inline struct lane *lane_made(uint32_t number)
{
    struct lane *lane = lane_new("kafka", number, LANE_SIGNALS);
    lane_set_since(lane, RIG_START);
    return lane;
}

static inline void lane_at(struct lane *lane, uint64_t traces, uint64_t profiles)
{
    lane_at_end(lane, SIGNAL_TRACES, RIG_START + traces);
    lane_at_end(lane, SIGNAL_PROFILES, RIG_START + profiles);
}

static inline enum verdict lane_push(struct rig *rig, struct lane *lane, struct batch *batch,
                                     uint64_t at)
{
    struct outlet *next =
        batch->signal == SIGNAL_TRACES ? &rig->traces.outlet : &rig->profiles.outlet;
    if (rig->receipt)
        batch_add_receipt(batch, rig->receipt);
    lane_reached(lane, batch->signal, RIG_START + at);
    batch_set_lane(batch, lane, RIG_START + at);
    enum verdict verdict = processor_correlation.consume(rig->self, batch, next);
    batch_unref(batch);
    return verdict;
}

/* Local roots of one second, just ended. */
static inline enum verdict lane_roots(struct rig *rig, struct lane *lane, uint64_t first,
                                      unsigned count, uint64_t at)
{
    struct rig_span *spans = calloc(count, sizeof *spans);
    for (unsigned i = 0; i < count; i++)
        spans[i] = (struct rig_span){.id = first + i, .start = at - S, .end = at};
    struct bytes request = rig_request(spans, count);
    free(spans);
    return lane_push(rig, lane,
                     batch_new(SIGNAL_TRACES, BATCH_OTLP, rig_buffer(rig, &request), count, NULL),
                     at);
}

/* A window of the ten seconds before. */
static inline enum verdict lane_window(struct rig *rig, struct lane *lane, uint64_t id, uint64_t at)
{
    struct rig_profile profile = {.time = at - 10 * S, .duration = 10 * S, .ids = {id}};
    return lane_push(rig, lane, rig_profile_batch(rig, &profile), at);
}

static inline void lane_revoke(struct lane *lane)
{
    lane_end(lane, CAUSE_REVOKED);
    lane_unref(lane);
}

static inline uint64_t rig_tick(struct rig *rig)
{
    return processor_correlation.tick(rig->self, rig->clock.mono);
}

#endif
