#include "processors/correlation/release/release.h"

#include "processors/correlation/release/release_write.h"
#include "processors/correlation/tell.h"

#include <stdlib.h>

#define AGAIN_AFTER (100 * NS_PER_MS)

/* Asks for a tick unless one is due sooner. Under the lock. */
static void ask_tick(struct correlation *self)
{
    self->outgoing_due = clock_mono(self->env->clock) + AGAIN_AFTER;
    env_tick_at(self->env, self->outgoing_due);
}

void release_at_tick(struct correlation *self, struct release *release)
{
    release_join(&self->unwritten, release);
    self->outgoing_due = clock_mono(self->env->clock);
    env_tick_at(self->env, self->outgoing_due);
}

static void keep_unwritten(struct correlation *self, struct release *release)
{
    pthread_mutex_lock(&self->lock);
    release_join(&self->unwritten, release);
    ask_tick(self);
    pthread_mutex_unlock(&self->lock);
}

static void keep_outgoing(struct correlation *self, struct outgoing *outgoing)
{
    pthread_mutex_lock(&self->lock);
    outgoing->next = NULL;
    *(self->outgoing ? self->batches_end : &self->outgoing) = outgoing;
    self->batches_end = &outgoing->next;
    ask_tick(self);
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

static struct batch *make_batch(struct correlation *self, const struct release_part *part)
{
    struct buffer *payload = release_write(part, &self->policy, self->env->budget);
    if (!payload)
        return NULL;
    struct batch *batch = batch_new(SIGNAL_TRACES, BATCH_OTLP, payload, part->count, NULL);
    if (!batch)
        return NULL;
    struct metadata *metadata = segment_of(part->first)->origin->metadata;
    if (metadata)
        batch_set_metadata(batch, metadata_ref(metadata));
    if (!add_receipts(batch, part)) {
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

static struct outgoing *make_outgoing(struct correlation *self, const struct release_part *part)
{
    struct outgoing *outgoing = calloc(1, sizeof *outgoing);
    if (!outgoing)
        return NULL;
    outgoing->outlet = segment_of(part->first)->origin->outlet;
    outgoing->batch = make_batch(self, part);
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

static void release_offer(struct correlation *self, struct outgoing *outgoing)
{
    if (tell_push(self, outgoing->batch, outgoing->outlet, outgoing->linked) == VERDICT_RETRY)
        keep_outgoing(self, outgoing);
    else
        free_outgoing(outgoing);
}

void release_send(struct correlation *self, struct release *release)
{
    release_sort(release);
    while (release->first) {
        struct release_part part = release_part(release->first);
        struct outgoing *outgoing = make_outgoing(self, &part);
        if (!outgoing) {
            keep_unwritten(self, release);
            return;
        }
        release->count -= part.count;
        release->first = part.behind;
        forget_part(&part);
        release_offer(self, outgoing);
    }
}

void release_resume(struct correlation *self)
{
    pthread_mutex_lock(&self->lock);
    struct release unwritten = self->unwritten;
    struct outgoing *outgoing = self->outgoing;
    self->unwritten = (struct release){0};
    self->outgoing = NULL;
    self->outgoing_due = TIME_NEVER;
    pthread_mutex_unlock(&self->lock);
    while (outgoing) {
        struct outgoing *next = outgoing->next;
        release_offer(self, outgoing);
        outgoing = next;
    }
    release_send(self, &unwritten);
}

static void note_receipts(struct receipt **receipts, size_t count, const struct outcome *outcome)
{
    for (size_t i = 0; i < count; i++)
        receipt_note(receipts[i], outcome);
}

static void note_given_up(struct receipt **receipts, size_t count, enum cause cause)
{
    struct outcome outcome =
        outcome_of(VERDICT_RETRY, cause, "stopped before it could be handed on");
    note_receipts(receipts, count, &outcome);
}

/* Takes the first batch off the list. */
static struct outgoing *take_outgoing(struct correlation *self)
{
    struct outgoing *outgoing = self->outgoing;
    if (outgoing)
        self->outgoing = outgoing->next;
    return outgoing;
}

void release_give_up(struct correlation *self)
{
    struct meter *meter = self->env->meter;
    struct outgoing *outgoing;
    while ((outgoing = take_outgoing(self))) {
        struct batch *batch = outgoing->batch;
        note_given_up(batch->receipts, batch->receipt_count, CAUSE_SHUTDOWN);
        meter_drop(meter, CAUSE_SHUTDOWN, SIGNAL_TRACES, batch->items);
        free_outgoing(outgoing);
    }
    while (self->unwritten.first) {
        struct release_part part = release_part(self->unwritten.first);
        for (struct held *held = part.first; held != part.behind; held = held->next) {
            struct origin *origin = segment_of(held)->origin;
            note_given_up(origin->receipts, origin->receipt_count, CAUSE_MEMORY);
        }
        meter_drop(meter, CAUSE_MEMORY, SIGNAL_TRACES, part.count);
        self->unwritten.first = part.behind;
        forget_part(&part);
    }
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
    forget_part(&(struct release_part){release->first, NULL, (uint32_t)release->count});
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
