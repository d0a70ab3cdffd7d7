#include "processors/correlation/release/release.h"

#include "pipeline/addressees.h"
#include "pipeline/answered.h"
#include "pipeline/pace.h"
#include "processors/correlation/release/ahead.h"
#include "processors/correlation/release/release_write.h"
#include "processors/correlation/tell.h"

#include <stdlib.h>
#include <time.h>

#define AGAIN_AFTER (100 * NS_PER_MS)

/* A reload, whose clients wait meanwhile, waits so long for a queue to make room. */
#define PATIENCE (200 * NS_PER_MS)
#define POLL_NS  (5 * NS_PER_MS)

/* What a batch takes besides its messages, bytes. */
#define BATCH_USUAL ((size_t)1 << 10)

/* The front of a release list that is being written. */
struct front {
    struct release_part part;
    size_t charged;        /* to the budget, while it is written */
    struct receipt *ahead; /* if the budget has no room; NULL: it has */
};

/* Asks for a tick unless one is due sooner. Under the lock. */
static void ask_tick(struct correlation *self, uint64_t at)
{
    self->outgoing_due = at < self->outgoing_due ? at : self->outgoing_due;
    env_tick_at(self->env, at);
}

void release_at_tick(struct correlation *self, struct release *release)
{
    release_sort(release);
    release_join(&self->unwritten, release);
    self->outgoing_due = clock_mono(self->env->clock);
    env_tick_at(self->env, self->outgoing_due);
}

/* Keeps it before what came to wait meanwhile. */
static void keep_unwritten(struct correlation *self, struct release *release)
{
    pthread_mutex_lock(&self->lock);
    release_join(release, &self->unwritten);
    release_join(&self->unwritten, release);
    self->starved = true;
    ask_tick(self, clock_mono(self->env->clock) + AGAIN_AFTER);
    pthread_mutex_unlock(&self->lock);
}

/* Whether others wait for room; then it waits behind them. */
static bool wait_behind(struct correlation *self, struct release *release)
{
    pthread_mutex_lock(&self->lock);
    bool waits = self->unwritten.first && self->starved;
    if (waits)
        release_join(&self->unwritten, release);
    pthread_mutex_unlock(&self->lock);
    return waits;
}

static bool has_receipts(const struct release_part *part)
{
    for (const struct held *held = part->first; held != part->behind; held = held->next)
        if (segment_of(held)->origin->receipt_count > 0)
            return true;
    return false;
}

static bool take_room(struct correlation *self, struct front *front)
{
    struct budget *budget = self->env->budget;
    if (!budget_grow(budget, front->part.work + front->part.bytes))
        return false;
    budget_give(budget, front->part.bytes); /* writing charges the request */
    front->charged = front->part.work;
    return true;
}

/* Chooses what to write next. False: there is no room for it now. */
static bool begin_front(struct correlation *self, struct held *first, bool force,
                        struct front *front)
{
    *front = (struct front){.part = release_part(first, RELEASE_PART_MAX)};
    if (force || take_room(self, front))
        return true;
    front->part = release_part(first, RELEASE_PART_SHORT);
    if (take_room(self, front))
        return true;
    size_t bytes = front->part.bytes + BATCH_USUAL;
    front->ahead = ahead_begin(self, bytes, has_receipts(&front->part));
    return front->ahead;
}

static void end_front(struct correlation *self, struct front *front)
{
    budget_give(self->env->budget, front->charged);
    receipt_unref(front->ahead);
}

static void keep_outgoing(struct correlation *self, struct outgoing *outgoing)
{
    pthread_mutex_lock(&self->lock);
    outgoing->next = NULL;
    *(self->outgoing ? self->batches_end : &self->outgoing) = outgoing;
    self->batches_end = &outgoing->next;
    ask_tick(self, pace_again(outlet_pace(outgoing->outlet), clock_mono(self->env->clock)));
    pthread_mutex_unlock(&self->lock);
}

static bool add_origin(struct batch *batch, const struct origin *origin)
{
    for (size_t i = 0; i < origin->receipt_count; i++)
        if (!batch_add_receipt(batch, origin->receipts[i]))
            return false;
    return true;
}

/* Adds the receipts of every request that a span of the part came from. */
static bool add_receipts(struct batch *batch, const struct release_part *part)
{
    const struct origin *last = NULL;
    for (struct held *held = part->first; held != part->behind; held = held->next) {
        const struct origin *origin = segment_of(held)->origin;
        if (origin != last && !add_origin(batch, origin))
            return false;
        last = origin;
    }
    return true;
}

static struct batch *make_batch(struct correlation *self, const struct front *front)
{
    const struct release_part *part = &front->part;
    struct buffer *payload = release_write(part, &self->policy, self->env->budget);
    if (!payload)
        return NULL;
    struct batch *batch = batch_new(SIGNAL_TRACES, BATCH_OTLP, payload, part->count, NULL);
    if (!batch)
        return NULL;
    const struct origin *origin = segment_of(part->first)->origin;
    if (origin->metadata)
        batch_set_metadata(batch, metadata_ref(origin->metadata));
    batch->delivered_to = addressees_ref(origin->delivered_to);
    batch->answered = true;
    if (!add_receipts(batch, part) || (front->ahead && !batch_add_receipt(batch, front->ahead))) {
        batch_unref(batch);
        return NULL;
    }
    return batch;
}

static void free_outgoing(struct outgoing *outgoing)
{
    if (outgoing)
        batch_unref(outgoing->batch);
    free(outgoing);
}

static bool has_links(const struct release_part *part)
{
    for (const struct held *held = part->first; held != part->behind; held = held->next)
        if (held->action == ACTION_LINK)
            return true;
    return false;
}

static struct outgoing *make_outgoing(struct correlation *self, const struct front *front)
{
    const struct release_part *part = &front->part;
    struct outgoing *outgoing = calloc(1, sizeof *outgoing);
    if (!outgoing)
        return NULL;
    outgoing->outlet = segment_of(part->first)->origin->outlet;
    outgoing->batch = make_batch(self, front);
    outgoing->linked = watch_on(self->env->watch) && has_links(part);
    if (!outgoing->batch) {
        free_outgoing(outgoing);
        return NULL;
    }
    return outgoing;
}

/* Tells the segments that the spans were written; adjacent ones in one call. */
static void forget_part(const struct release_part *part)
{
    struct held *held = part->first;
    while (held != part->behind) {
        struct segment *segment = segment_of(held);
        uint32_t n = 0;
        for (; held != part->behind && segment_of(held) == segment; held = held->next)
            n++;
        segment_written(segment, n);
    }
}

/* Parts of an outgoing batch, and whose it is. */
struct offer {
    const struct correlation *self;
    bool linked;
};

static void release_passed(void *ctx, const struct batch *part)
{
    const struct offer *offer = ctx;
    watch_passed(offer->self->env->watch, part, offer->linked);
}

static void release_offer(struct correlation *self, struct outgoing *outgoing)
{
    struct offer offer = {self, outgoing->linked};
    const struct answered to = {
        .env = self->env, .outlet = outgoing->outlet, .passed = release_passed, .ctx = &offer};
    outgoing->batch = answered_push(&to, outgoing->batch);
    if (outgoing->batch)
        keep_outgoing(self, outgoing);
    else
        free_outgoing(outgoing);
}

/* Writes and offers the front of the list. False: not now. */
static bool send_front(struct correlation *self, struct release *release, bool force)
{
    struct front front;
    if (!begin_front(self, release->first, force, &front))
        return false;
    struct outgoing *outgoing = make_outgoing(self, &front);
    if (outgoing) {
        release->count -= front.part.count;
        release->first = front.part.behind;
        forget_part(&front.part);
    }
    end_front(self, &front);
    if (outgoing)
        release_offer(self, outgoing);
    return outgoing;
}

/* force: whatever memory that takes. */
static void send_all(struct correlation *self, struct release *release, bool force)
{
    while (release->first && send_front(self, release, force))
        continue;
    if (release->first)
        keep_unwritten(self, release);
}

void release_send(struct correlation *self, struct release *release)
{
    if (!release->first)
        return;
    release_sort(release);
    if (!wait_behind(self, release))
        send_all(self, release, false);
}

static void resume(struct correlation *self, bool force)
{
    pthread_mutex_lock(&self->lock);
    struct release unwritten = self->unwritten;
    struct outgoing *outgoing = self->outgoing;
    self->unwritten = (struct release){0};
    self->starved = false;
    self->outgoing = NULL;
    self->outgoing_due = TIME_NEVER;
    pthread_mutex_unlock(&self->lock);
    while (outgoing) {
        struct outgoing *next = outgoing->next;
        release_offer(self, outgoing);
        outgoing = next;
    }
    send_all(self, &unwritten, force);
}

void release_resume(struct correlation *self)
{
    resume(self, false);
}

static void note_receipts(struct receipt **receipts, size_t count, const struct outcome *outcome)
{
    for (size_t i = 0; i < count; i++)
        receipt_note(receipts[i], outcome);
}

/* Takes the first batch off the list. */
static struct outgoing *take_outgoing(struct correlation *self)
{
    struct outgoing *outgoing = self->outgoing;
    if (outgoing)
        self->outgoing = outgoing->next;
    return outgoing;
}

static void give_up_unwritten(struct correlation *self)
{
    struct held *held = self->unwritten.first, *next;
    for (; held; held = next) {
        struct origin *origin = segment_of(held)->origin;
        next = held->next;
        answered_give_up(self->env, SIGNAL_TRACES, 1, origin->receipts, origin->receipt_count);
        segment_written(segment_of(held), 1);
    }
    self->unwritten = (struct release){0};
}

static bool is_done(struct correlation *self, size_t *left)
{
    pthread_mutex_lock(&self->lock);
    *left = self->unwritten.count;
    bool done = !self->unwritten.first && !self->outgoing;
    pthread_mutex_unlock(&self->lock);
    return done;
}

/* Whether a stop, or a reload while queues downstream still deliver, lets it wait for room. */
static bool may_wait(const struct env *env, size_t before, size_t left, uint64_t *patience)
{
    uint64_t by = atomic_load(&env->stop_by), now = clock_mono(&clock_system);
    if (by)
        return clock_mono(env->clock) < by;
    if (left < before)
        *patience = now + PATIENCE;
    return left > 0 && now < *patience;
}

static void wait_a_moment(void)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    nanosleep(&pause, NULL);
}

void release_finish(struct correlation *self)
{
    const struct env *env = self->top ? self->top->env : self->env;
    size_t before = SIZE_MAX, left;
    uint64_t patience = 0;
    struct outgoing *outgoing;
    resume(self, false);
    while (!is_done(self, &left) && may_wait(env, before, left, &patience)) {
        before = left;
        wait_a_moment();
        resume(self, false);
    }
    if (!atomic_load(&env->stop_by))
        resume(self, true);
    while ((outgoing = take_outgoing(self))) {
        struct batch *batch = outgoing->batch;
        answered_give_up(self->env, SIGNAL_TRACES, batch->items, batch->receipts,
                         batch->receipt_count);
        free_outgoing(outgoing);
    }
    give_up_unwritten(self);
}

static void take_all_held(struct hold *hold, struct release *release)
{
    const struct edit as_came = {.action = ACTION_AS_CAME};
    struct held *held;
    while ((held = hold_oldest(hold)))
        hold_take(hold, held, &as_came, release);
}

static void drop_spans(struct release *release, const struct outcome *outcome)
{
    const struct origin *last = NULL;
    for (struct held *held = release->first; held; held = held->next) {
        struct origin *origin = segment_of(held)->origin;
        if (origin != last)
            note_receipts(origin->receipts, origin->receipt_count, outcome);
        last = origin;
    }
    const struct release_part all = {.first = release->first, .count = (uint32_t)release->count};
    forget_part(&all);
}

void release_drop(struct correlation *self, const struct outcome *outcome)
{
    struct release release = {0};
    struct outgoing *outgoing;
    pthread_mutex_lock(&self->lock);
    take_all_held(&self->hold, &release);
    release_join(&release, &self->unwritten);
    correlation_publish_hold(self);
    pthread_mutex_unlock(&self->lock);
    release_sort(&release);
    drop_spans(&release, outcome);
    while ((outgoing = take_outgoing(self))) {
        note_receipts(outgoing->batch->receipts, outgoing->batch->receipt_count, outcome);
        free_outgoing(outgoing);
    }
}
