/* The events of a lane, in the order of its time. */
#include "processors/correlation/lanes/state.h"
#include "processors/correlation/release/release.h"

#include <stdlib.h>

/* Of hold_max_mib, for each signal of all lanes together. */
enum { PARKED_SHARE = 8 };

static void set_time(struct lane_state *state, uint64_t at)
{
    if (at > atomic_load_explicit(&state->time.now, memory_order_relaxed))
        atomic_store_explicit(&state->time.now, at, memory_order_relaxed);
}

static void begin(struct lane_state *state, uint64_t at)
{
    uint64_t since = lane_since(state->lane);
    set_time(state, since && since < at ? since : at);
    correlation_begin(&state->self);
    state_limit(state);
}

static struct parking *earliest(struct lane_state *state)
{
    struct parking *found = NULL;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++) {
        struct parking *each = &state->parked[signal];
        if (each->first && (!found || each->first->batch->recorded < found->first->batch->recorded))
            found = each;
    }
    return found;
}

static uint64_t parked_due(const struct parking *parking)
{
    return parking ? parking->first->batch->recorded : TIME_NEVER;
}

static uint64_t tick_due(struct lane_state *state)
{
    struct correlation *self = &state->self;
    if (!self->open)
        return TIME_NEVER;
    pthread_mutex_lock(&self->lock);
    uint64_t due = self->tick_at;
    pthread_mutex_unlock(&self->lock);
    return due;
}

uint64_t state_due(struct lane_state *state)
{
    uint64_t parked = parked_due(earliest(state)), tick = tick_due(state);
    return parked < tick ? parked : tick;
}

static bool has_outgoing(struct correlation *self)
{
    pthread_mutex_lock(&self->lock);
    bool has = self->outgoing || self->unwritten.first;
    pthread_mutex_unlock(&self->lock);
    return has;
}

/* Offers what the next stage refused again; returns whether it still refuses. */
static bool is_stalled(struct lane_state *state)
{
    struct correlation *self = &state->self;
    if (!self->open || !has_outgoing(self))
        return false;
    release_resume(self);
    return has_outgoing(self);
}

static enum verdict state_process(struct lane_state *state, struct batch *batch,
                                  struct outlet *next)
{
    if (!state->self.open)
        begin(state, batch->recorded);
    set_time(state, batch->recorded);
    state->dirty = true;
    if (batch->signal == SIGNAL_TRACES)
        return traces_consume(&state->self, batch, next);
    return profiles_consume(&state->self, batch, next);
}

static void note_all(const struct batch *batch, const struct outcome *outcome)
{
    for (size_t i = 0; i < batch->receipt_count; i++)
        receipt_note(batch->receipts[i], outcome);
}

static void free_first(struct parking *parking)
{
    struct parked *parked = parking->first;
    parking->first = parked->next;
    if (parking->put == parked)
        parking->put = NULL;
    parking->bytes -= parked->batch->payload->size;
    batch_unref(parked->batch);
    free(parked);
}

/* False: the next stage cannot take it yet. */
static bool run_parked(struct lane_state *state, struct parking *parking)
{
    struct parked *parked = parking->first;
    enum verdict verdict = state_process(state, parked->batch, parked->outlet);
    if (verdict == VERDICT_RETRY)
        return false;
    if (verdict == VERDICT_REJECT) {
        struct outcome outcome =
            outcome_of(VERDICT_REJECT, CAUSE_INVALID, "refused by a processor");
        note_all(parked->batch, &outcome);
    }
    free_first(parking);
    return true;
}

/* Runs the next event if it happens by then. */
static bool run_next(struct lane_state *state, uint64_t until)
{
    struct parking *parking = earliest(state);
    uint64_t parked = parked_due(parking), tick = tick_due(state);
    if ((parked > until && tick > until) || is_stalled(state))
        return false;
    if (parked < tick)
        return run_parked(state, parking);
    set_time(state, tick);
    correlation_tick(&state->self, tick);
    state->dirty = true;
    return true;
}

void state_run(struct lane_state *state, uint64_t until)
{
    while (run_next(state, until))
        continue;
    state->stalled = state_due(state) <= until || is_stalled(state);
    if (!state->stalled && state->self.open) /* its time begins with its first event */
        set_time(state, until);
}

void state_run_all(struct lane_state *state)
{
    struct parking *parking;
    while ((parking = earliest(state)) && run_next(state, parked_due(parking)))
        continue;
}

static size_t park_limit(const struct lane_state *state)
{
    size_t all = (size_t)state->top->config.hold_max_mib << 20;
    unsigned lanes = atomic_load_explicit(&state->top->lanes.count, memory_order_relaxed);
    return all / PARKED_SHARE / (lanes ? lanes : 1);
}

/* Keeps the order of times. After an outage, producers send what they kept, each in its own order,
 * so a batch's place is usually right after the previous one's. */
static void put_in(struct parking *parking, struct parked *parked)
{
    uint64_t at = parked->batch->recorded;
    struct parked *before = parking->put;
    if (parking->first && parking->last->batch->recorded <= at)
        before = parking->last;
    else if (before && before->batch->recorded > at)
        before = NULL;
    struct parked **place = before ? &before->next : &parking->first;
    while (*place && (*place)->batch->recorded <= at)
        place = &(*place)->next;
    parked->next = *place;
    *place = parked;
    if (!parked->next)
        parking->last = parked;
    parking->put = parked;
}

/* The copy is not admitted: queues hold a place for the batch only while it is consumed. */
static enum verdict park(struct lane_state *state, const struct batch *batch, struct outlet *next)
{
    struct parking *parking = &state->parked[batch->signal];
    size_t size = batch->payload->size;
    if (parking->first && parking->bytes + size > park_limit(state))
        return VERDICT_RETRY;
    struct parked *parked = malloc(sizeof *parked);
    if (!parked)
        return VERDICT_RETRY;
    *parked = (struct parked){.batch = batch_without_lane(batch), .outlet = next};
    if (!parked->batch) {
        free(parked);
        return VERDICT_RETRY;
    }
    parked->batch->admitted = false;
    put_in(parking, parked);
    parking->bytes += size;
    return VERDICT_OK;
}

static enum verdict consume_now(struct lane_state *state, const struct batch *batch,
                                struct outlet *next)
{
    struct batch *bare = batch_without_lane(batch);
    enum verdict verdict = bare ? state_process(state, bare, next) : VERDICT_RETRY;
    batch_unref(bare);
    return verdict;
}

enum verdict state_consume(struct lane_state *state, struct batch *batch, struct outlet *next)
{
    uint64_t clock = lane_clock(state->lane), at = batch->recorded;
    state_run(state, at < clock ? at : clock);
    if (at > clock || state->stalled) /* else all that is parked is later */
        return park(state, batch, next);
    return consume_now(state, batch, next);
}

void state_drop_parked(struct lane_state *state, const struct outcome *outcome)
{
    struct parking *parking;
    while ((parking = earliest(state))) {
        note_all(parking->first->batch, outcome);
        free_first(parking);
    }
}
