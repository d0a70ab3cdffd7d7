#include "processors/correlation/lanes/lanes.h"

#include "processors/correlation/lanes/state.h"
#include "processors/correlation/release/release.h"
#include "processors/correlation/tell.h"

#include <stdlib.h>

#define FLUSH_EACH  NS_PER_S
#define AGAIN_AFTER (100 * NS_PER_MS)

void lanes_init(struct lanes *lanes)
{
    pthread_mutex_init(&lanes->lock, NULL);
}

static uint64_t lane_time_now(const struct clock *clock)
{
    const struct lane_time *time = (const struct lane_time *)(const void *)clock;
    return atomic_load_explicit(&time->now, memory_order_relaxed);
}

static struct lane_state *state_of(struct lane_user *user)
{
    return (struct lane_state *)(void *)user;
}

static void state_unref(struct lane_state *state)
{
    if (atomic_fetch_sub_explicit(&state->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct budget *budget = state->env.budget;
    pthread_mutex_destroy(&state->lock);
    lane_unref(state->lane);
    free(state);
    budget_give(budget, sizeof *state);
}

/* Sets when the lane wakes the state, and when the ticker does. */
static void schedule(struct lane_state *state, bool was_dirty)
{
    const struct env *env = state->top->env;
    uint64_t mono = clock_mono(env->clock);
    atomic_store_explicit(&state->user.due, state->stalled ? TIME_NEVER : state_due(state),
                          memory_order_relaxed);
    if (state->dirty && mono - state->flushed >= FLUSH_EACH)
        state_flush(state);
    if (state->stalled)
        env_tick_at(env, mono + AGAIN_AFTER);
    else if (state->dirty && !was_dirty)
        env_tick_at(env, mono + FLUSH_EACH);
}

static void on_wake(struct lane_user *user)
{
    env_tick_at(state_of(user)->top->env, 0);
}

static void take_out(struct lane_state *state)
{
    struct lanes *lanes = &state->top->lanes;
    pthread_mutex_lock(&lanes->lock);
    struct lane_state **at = &lanes->first;
    while (*at != state)
        at = &(*at)->next;
    *at = state->next;
    atomic_fetch_sub(&lanes->count, 1);
    pthread_mutex_unlock(&lanes->lock);
}

/* Frees what it knows. Under its lock. */
static void state_finish(struct lane_state *state)
{
    struct correlation *self = &state->self;
    state->gone = true;
    state_flush(state);
    if (self->open)
        correlation_release(self);
    state_note_use(state);
}

static void on_end(struct lane_user *user, enum cause cause)
{
    struct lane_state *state = state_of(user);
    struct outcome outcome =
        outcome_of(VERDICT_RETRY, cause, "partition %u of %s is no longer read here",
                   (unsigned)lane_partition(state->lane), lane_name(state->lane));
    pthread_mutex_lock(&state->lock);
    state_drop_parked(state, &outcome);
    if (state->self.open)
        release_drop(&state->self, &outcome);
    state_finish(state);
    pthread_mutex_unlock(&state->lock);
    take_out(state);
    env_tick_at(state->top->env, 0); /* its neighbour's tick may have been skipped */
    state_unref(state);
}

static void init_env(struct lane_state *state)
{
    const struct env *env = state->top->env;
    state->env = (struct env){
        .id = env->id,
        .clock = &state->time.clock,
        .budget = env->budget,
        .meter = env->meter,
        .watch = env->watch,
    };
}

static struct lane_state *state_new(struct correlation *top, struct lane *lane)
{
    struct lane_state *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    budget_force(top->env->budget, sizeof *state);
    state->user.owner = top;
    state->user.due = TIME_NEVER;
    state->user.wake = on_wake;
    state->user.end = on_end;
    state->refs = 1;
    state->lane = lane_ref(lane);
    state->top = top;
    state->time.clock = (struct clock){lane_time_now, lane_time_now};
    state->flushed = clock_mono(top->env->clock);
    pthread_mutex_init(&state->lock, NULL);
    init_env(state);
    state->self.config = top->config;
    state->self.remap = top->remap;
    state->self.profile_remap = top->profile_remap;
    state->self.env = &state->env;
    state->self.top = top;
    state->self.lane = lane_partition(lane) + 1;
    return state;
}

/* One thread at a time pushes into a lane, so no other adds the state meanwhile. */
static struct lane_state *state_add(struct correlation *top, struct lane *lane)
{
    struct lanes *lanes = &top->lanes;
    struct lane_state *state = state_new(top, lane);
    if (!state)
        return NULL;
    pthread_mutex_lock(&lanes->lock);
    state->next = lanes->first;
    lanes->first = state;
    atomic_fetch_add(&lanes->count, 1);
    pthread_mutex_unlock(&lanes->lock);
    if (lane_join(lane, &state->user))
        return state;
    take_out(state);
    state_unref(state);
    return NULL;
}

/* Tenants may begin to be separated after a reload, or spans to wait for their local roots. */
static void refresh_env(struct lane_state *state)
{
    atomic_store_explicit(
        &state->env.whole_traces,
        atomic_load_explicit(&state->top->env->whole_traces, memory_order_relaxed),
        memory_order_relaxed);
    atomic_store_explicit(
        &state->env.metadata_signals,
        atomic_load_explicit(&state->top->env->metadata_signals, memory_order_relaxed),
        memory_order_relaxed);
}

enum verdict lanes_consume(struct correlation *top, struct batch *batch, struct outlet *next)
{
    struct lane_user *user = lane_find_user(batch->lane, top);
    struct lane_state *state = user ? state_of(user) : state_add(top, batch->lane);
    if (!state)
        return VERDICT_RETRY;
    pthread_mutex_lock(&state->lock);
    bool was_dirty = state->dirty;
    refresh_env(state);
    state_limit(state);
    enum verdict verdict = state_consume(state, batch, next);
    state_run(state, lane_clock(state->lane));
    state_note_use(state);
    schedule(state, was_dirty);
    pthread_mutex_unlock(&state->lock);
    return verdict;
}

/* Returns the state after another one, with a reference, and drops that of the other. NULL: no
 * more. */
static struct lane_state *next_state(struct correlation *top, struct lane_state *after)
{
    struct lanes *lanes = &top->lanes;
    pthread_mutex_lock(&lanes->lock);
    struct lane_state *each = lanes->first;
    if (after) {
        while (each && each != after)
            each = each->next;
        each = each ? each->next : NULL;
    }
    if (each)
        atomic_fetch_add_explicit(&each->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lanes->lock);
    if (after)
        state_unref(after);
    return each;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Under its lock. */
static uint64_t state_tick(struct lane_state *state, uint64_t mono)
{
    state_limit(state);
    state_run(state, lane_clock(state->lane));
    state_note_use(state);
    if (state->dirty)
        state_flush(state);
    schedule(state, true);
    return state->stalled ? mono + AGAIN_AFTER : TIME_NEVER;
}

uint64_t lanes_tick(struct correlation *top, uint64_t mono)
{
    uint64_t next = TIME_NEVER;
    struct lane_state *each = NULL;
    if (atomic_load_explicit(&top->lanes.count, memory_order_relaxed) == 0)
        return TIME_NEVER;
    while ((each = next_state(top, each))) {
        /* The thread that has the lock runs what is due, and asks for a tick if needed. */
        if (pthread_mutex_trylock(&each->lock) != 0)
            continue;
        if (!each->gone)
            next = sooner(next, state_tick(each, mono));
        pthread_mutex_unlock(&each->lock);
    }
    return next;
}

/* Hands on what it holds, as an instance does when it closes. */
static void state_close(struct lane_state *state)
{
    struct outcome outcome =
        outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "stopped before it could be handed on");
    pthread_mutex_lock(&state->lock);
    state_run_all(state);
    state_drop_parked(state, &outcome);
    if (state->self.open)
        correlation_hand_on(&state->self);
    state_finish(state);
    pthread_mutex_unlock(&state->lock);
    take_out(state);
    state_unref(state);
}

void lanes_close(struct correlation *top)
{
    struct lane_state *each;
    while ((each = next_state(top, NULL))) {
        /* If the lane ended meanwhile, its end has closed it. */
        if (lane_leave(each->lane, &each->user))
            state_close(each);
        state_unref(each);
    }
    pthread_mutex_destroy(&top->lanes.lock);
}

/* ---- for readers ---- */

bool lanes_wait(struct correlation *top, uint64_t span_id, struct watch_waiting *waiting)
{
    bool found = false;
    struct lane_state *each = NULL;
    while ((each = next_state(top, each))) {
        pthread_mutex_lock(&each->lock);
        found = found || (each->self.open && correlation_waits(&each->self, span_id, waiting));
        pthread_mutex_unlock(&each->lock);
    }
    return found;
}

bool lanes_visit(struct correlation *top, size_t *left, watch_held_fn *visit, void *visitor)
{
    bool all = true;
    struct lane_state *each = NULL;
    while ((each = next_state(top, each))) {
        pthread_mutex_lock(&each->lock);
        all = (!each->self.open || correlation_visit(&each->self, left, visit, visitor)) && all;
        pthread_mutex_unlock(&each->lock);
    }
    return all;
}

uint64_t lanes_oldest_age(struct correlation *top)
{
    uint64_t age = 0;
    pthread_mutex_lock(&top->lanes.lock);
    for (struct lane_state *each = top->lanes.first; each; each = each->next) {
        uint64_t oldest = atomic_load_explicit(&each->self.published.oldest, memory_order_relaxed);
        uint64_t now = lane_time_now(&each->time.clock);
        if (oldest && now > oldest && now - oldest > age)
            age = now - oldest;
    }
    pthread_mutex_unlock(&top->lanes.lock);
    return age;
}

static void explain_state(struct lane_state *state, struct bytes *out)
{
    uint64_t wall = clock_wall(state->top->env->clock), clock = lane_clock(state->lane);
    size_t ahead = 0;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        ahead += state->parked[signal].bytes;
    bytes_printf(out, "%s: partition %u of %s: ", state->env.id,
                 (unsigned)lane_partition(state->lane), lane_name(state->lane));
    if (clock)
        bytes_printf(out, "read up to %.1f s ago", wall > clock ? (double)(wall - clock) / 1e9 : 0);
    else
        bytes_printf(out, "not every signal has been read");
    bytes_printf(out, "; %zu bytes of one signal wait for the other%s\n", ahead,
                 state->stalled ? "; waits for room in the next queue" : "");
    if (state->self.open)
        correlation_explain_known(&state->self, out);
}

void lanes_explain(struct correlation *top, struct bytes *out)
{
    struct lane_state *each = NULL;
    while ((each = next_state(top, each))) {
        pthread_mutex_lock(&each->lock);
        if (!each->gone)
            explain_state(each, out);
        pthread_mutex_unlock(&each->lock);
    }
}
