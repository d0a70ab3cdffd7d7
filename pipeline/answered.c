#include "pipeline/answered.h"

#include "lib/base/refusal.h"
#include "pipeline/batch_parts.h"

#define MINUTE (60 * NS_PER_S)

/* Of what does not fit in memory, such a part is tried; and so many items are looked for one by
 * one, each in parts that get smaller, before all of a part is given up. */
enum { STARVED_PART = 16, REJECTED_PART = 4, LOST_ALONE = 16 };

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
    if (verdict == VERDICT_OK)
        to->passed(to->ctx, part);
    else
        *why = refusal_outcome(verdict);
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

/* How many items to try after a part that did not pass; 0: it is not parted further. moved: others
 * passed before. */
static uint32_t smaller(const struct batch *part, bool moved, const struct outcome *why)
{
    if (why->verdict == VERDICT_REJECT) /* each attempt may take as much memory as one may */
        return part->items < REJECTED_PART && part->items > 1 ? 1 : part->items / REJECTED_PART;
    /* A full queue takes smaller ones neither, and what passed makes room once it is delivered. */
    if (why->cause != CAUSE_MEMORY || moved || part->items < 2)
        return 0;
    return part->items < STARVED_PART ? 1 : part->items / STARVED_PART;
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

/* Of all that cannot pass for lack of memory, which what waits may fill, one item passes at a time,
 * past the limit, until it is delivered. */
static _Atomic bool forced_one;

static void on_forced_settled(void *ctx, const struct outcome *worst)
{
    (void)ctx;
    (void)worst;
    atomic_store(&forced_one, false);
}

static enum verdict push_by_force(const struct answered *to, const struct batch *part,
                                  struct outcome *why)
{
    if (atomic_exchange(&forced_one, true))
        return VERDICT_RETRY;
    struct receipt *receipt = receipt_new(on_forced_settled, NULL);
    if (!receipt) {
        atomic_store(&forced_one, false);
        return VERDICT_RETRY;
    }
    if (part->receipt_count)
        receipt_set_neutral(receipt);
    struct batch *forced = batch_with_payload(part, buffer_ref(part->payload), part->items);
    enum verdict verdict = VERDICT_RETRY;
    if (forced && batch_add_receipt(forced, receipt)) {
        forced->forced = true;
        verdict = push_part(to, forced, why);
    }
    batch_unref(forced);
    receipt_unref(receipt);
    return verdict;
}

struct parting {
    struct batch_parts parts;
    uint32_t size; /* of the next part */
    unsigned lost; /* parts */
    bool moved;    /* a part passed */
    bool done;     /* nothing is left */
};

/* Pushes the next part, after which a smaller one may begin where it did. False: no more is to be
 * tried. */
static bool push_next(const struct answered *to, struct parting *parting)
{
    struct outcome why;
    bool last;
    uint32_t size = parting->size;
    struct batch *part = next_part(&parting->parts, size, &last);
    if (!part)
        return false;
    bool divides = !last || !size || size >= part->items; /* else it has only one piece */
    enum verdict verdict = push_part(to, part, &why);
    if (verdict == VERDICT_RETRY && why.cause == CAUSE_MEMORY && !parting->moved &&
        (part->items < 2 || !divides))
        verdict = push_by_force(to, part, &why);
    uint32_t next = verdict != VERDICT_OK && divides && parting->lost < LOST_ALONE
                        ? smaller(part, parting->moved, &why)
                        : 0;
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
    return next || (!stays && !last);
}

struct batch *answered_push(const struct answered *to, struct batch *batch)
{
    struct parting parting = {.size = to->most};
    struct batch *rest = NULL;
    batch_parts_begin(&parting.parts, batch);
    batch_unref(batch);
    while (push_next(to, &parting))
        continue;
    if (!parting.done && !(rest = batch_parts_rest(&parting.parts)))
        lose_rest(to, &parting.parts);
    batch_parts_end(&parting.parts);
    return rest;
}
