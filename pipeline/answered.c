#include "pipeline/answered.h"

#include "lib/base/refusal.h"
#include "pipeline/batch_parts.h"
#include "pipeline/pace.h"

#define MINUTE (60 * NS_PER_S)

/* How long parts are pushed before others have their turn on the thread, which may be a
 * receiver's. */
#define SLICE (50 * NS_PER_MS)

/* Of what does not pass, such a part is tried; and so many items are looked for one by one, each in
 * parts that get smaller, before all of a part is given up. */
enum { NEXT_PART = 4, LOST_ALONE = 16 };

struct batch *answered_batch(struct batch *batch)
{
    if (batch->answered)
        return batch_ref(batch);
    struct batch *copy = batch_with_payload(batch, buffer_ref(batch->payload), batch->items);
    if (!copy)
        return NULL;
    copy->notes = batch->notes ? buffer_ref(batch->notes) : NULL;
    copy->answered = true;
    return copy;
}

void answered_lose(const struct env *env, const struct batch *batch, uint32_t items,
                   const struct outcome *why)
{
    meter_drop(env->meter, why->cause, batch->signal, items);
    /* A client that still waits has most of its request delivered: to it, that is partial success.
     */
    struct outcome partial = *why;
    partial.verdict = VERDICT_OK;
    partial.rejected = items;
    for (size_t i = 0; i < batch->receipt_count; i++) {
        bool awaited = receipt_is_awaited(batch->receipts[i]);
        receipt_note(batch->receipts[i], awaited ? &partial : why);
    }
    if (!meter_tells_loss(env->meter, clock_mono(&clock_system), MINUTE))
        return;
    uint64_t all = meter_get(env->meter, METER_DROPPED, batch->signal);
    env_error(env, "dropped %u %s of what is accepted: %s (%llu dropped so far)", items,
              signal_items(batch->signal, items), why->text, (unsigned long long)all);
}

void answered_give_up(const struct env *env, enum signal signal, uint32_t items,
                      struct receipt *const *receipts, size_t count)
{
    const struct outcome why =
        outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "stopped before it could be handed on");
    bool durable = count > 0;
    for (size_t i = 0; i < count; i++) {
        durable = durable && receipt_is_durable(receipts[i]);
        receipt_note(receipts[i], &why);
    }
    if (!durable)
        meter_drop(env->meter, why.cause, signal, items);
}

/* Pushes a part. why: of a verdict other than OK; its cause is MEMORY where that lacks. */
static enum verdict push_part(const struct answered *to, struct batch *part, struct outcome *why)
{
    char text[REFUSAL_MAX];
    enum cause cause;
    (void)refusal_take(text, &cause);
    enum verdict verdict = outlet_push(to->outlet, part);
    if (verdict != VERDICT_OK)
        *why = refusal_outcome(verdict);
    else if (to->passed)
        to->passed(to->ctx, part);
    return verdict;
}

/* The next part: so many items (0: all), or all that is left. *last: nothing is behind it. NULL: no
 * memory. */
static struct batch *next_part(struct batch_parts *parts, uint32_t items, bool *last)
{
    struct batch *part = items && items < parts->left ? batch_parts_next(parts, items, 0) : NULL;
    *last = !part;
    return part ? part : batch_parts_rest(parts);
}

/* What the next part is after one that is done with. */
static uint32_t larger(const struct answered *to, uint32_t size, bool passed, unsigned lost)
{
    if (!size || lost >= LOST_ALONE)
        return to->most;
    size = passed ? 2 * size : size;
    return to->most && size > to->most ? to->most : size;
}

/* Counts as lost what is left and cannot be written. */
static void lose_rest(const struct answered *to, const struct batch_parts *parts)
{
    const struct outcome why =
        outcome_of(VERDICT_REJECT, CAUSE_MEMORY, "no memory to divide the batch");
    answered_lose(to->env, parts->batch, parts->left, &why);
}

struct parting {
    struct batch_parts parts;
    struct part_pace *pace; /* NULL: none */
    uint32_t size;          /* of the next part */
    unsigned lost;          /* parts */
    bool forced;            /* the next part is */
    bool moved;             /* a part passed */
    bool done;              /* nothing is left */
};

/* Pushes a part as the pace has it. why: as of push_part. */
static enum verdict push_paced(const struct answered *to, struct parting *parting,
                               struct batch *part, struct outcome *why)
{
    struct part_pace *pace = parting->pace;
    if (!pace || (!parting->forced && !pace_size(pace)))
        return push_part(to, part, why);
    struct batch *own = parting->forced ? pace_force(pace, part) : pace_track(pace, part);
    if (!own) {
        *why = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "no memory");
        return VERDICT_RETRY;
    }
    size_t before = budget_used(part->payload->budget);
    enum verdict verdict = push_part(to, own, why);
    uint64_t now = clock_mono(to->env->clock);
    size_t after = budget_used(part->payload->budget);
    if (parting->forced && verdict == VERDICT_OK)
        pace_forced(pace, part, after > before ? after - before : 0, now);
    else if (verdict == VERDICT_OK)
        pace_passed(pace, part->items, now);
    batch_unref(own);
    return verdict;
}

static uint32_t smaller(uint32_t items)
{
    return items < NEXT_PART && items > 1 ? 1 : items / NEXT_PART;
}

/* What is tried after a part that found no memory: a smaller one, or one by force. 0: nothing. */
static uint32_t after_starved(struct parting *parting, const struct batch *part, bool divides,
                              uint64_t now)
{
    uint32_t next = divides ? smaller(part->items) : 0;
    if (parting->moved || parting->forced) /* what passed makes room once it is delivered */
        next = 0;
    else if (pace_may_wait(parting->pace, now))
        next = 0;
    else if (next == 0) {
        parting->forced = true;
        return pace_forced_items(parting->pace);
    }
    pace_starved(parting->pace, part, next, now);
    return next;
}

/* How many items to try after a part that did not pass, 0: it is not parted further. divides: it
 * can be. */
static uint32_t after_failed(const struct answered *to, struct parting *parting,
                             const struct batch *part, bool divides, const struct outcome *why)
{
    if (why->verdict == VERDICT_REJECT) /* each attempt may take as much memory as one may */
        return divides && parting->lost < LOST_ALONE ? smaller(part->items) : 0;
    /* A full queue takes smaller ones neither. */
    if (why->cause != CAUSE_MEMORY || !parting->pace)
        return 0;
    return after_starved(parting, part, divides, clock_mono(to->env->clock));
}

/* Pushes the next part, after which a smaller one may begin where it did. False: no more is to be
 * tried. */
static bool push_next(const struct answered *to, struct parting *parting)
{
    struct outcome why;
    bool last, forced = parting->forced;
    uint32_t size = parting->size;
    struct batch *part = next_part(&parting->parts, size, &last);
    if (!part)
        return false;
    bool divides = !last || !size || size >= part->items; /* else it has only one piece */
    enum verdict verdict = push_paced(to, parting, part, &why);
    uint32_t next = verdict == VERDICT_OK ? 0 : after_failed(to, parting, part, divides, &why);
    bool stays = next || verdict == VERDICT_RETRY;
    if (!stays && verdict == VERDICT_REJECT) {
        answered_lose(to->env, part, part->items, &why);
        parting->lost++;
    }
    parting->moved |= verdict == VERDICT_OK;
    batch_unref(part);
    if (stays && !last)
        batch_parts_undo(&parting->parts);
    parting->done = !stays && last;
    parting->size = next ? next : larger(to, size, verdict == VERDICT_OK, parting->lost);
    return next || (!stays && !last && !forced);
}

struct batch *answered_push(const struct answered *to, struct batch *batch)
{
    struct parting parting = {.pace = outlet_pace(to->outlet), .size = to->most};
    struct batch *rest = NULL;
    uint64_t until = clock_mono(&clock_system) + SLICE;
    uint32_t size = parting.pace ? pace_size(parting.pace) : 0;
    if (parting.pace && pace_waits(parting.pace, batch, clock_mono(to->env->clock)))
        return batch;
    if (size && (!to->most || size < to->most))
        parting.size = size;
    batch_parts_begin(&parting.parts, batch);
    batch_unref(batch);
    while (push_next(to, &parting))
        if (parting.pace && (parting.moved || parting.lost) && clock_mono(&clock_system) >= until) {
            pace_cut(parting.pace, parting.size == to->most ? 0 : parting.size,
                     clock_mono(to->env->clock));
            break;
        }
    if (!parting.done && !(rest = batch_parts_rest(&parting.parts)))
        lose_rest(to, &parting.parts);
    batch_parts_end(&parting.parts);
    return rest;
}
