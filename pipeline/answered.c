#include "pipeline/answered.h"

#include "lib/base/refusal.h"

#define MINUTE (60 * NS_PER_S)

/* Of what does not fit in memory, such a part is tried; and so many items are looked for one by
 * one, which takes a copy of the rest for each, before all of a part is given up. */
enum { STARVED_PART = 16, LOST_ALONE = 16 };

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
    for (size_t i = 0; i < batch->receipt_count; i++)
        receipt_note(batch->receipts[i], why);
    if (!meter_tells_loss(env->meter, clock_mono(&clock_system), MINUTE))
        return;
    uint64_t all = meter_get(env->meter, METER_DROPPED, batch->signal);
    env_error(env, "dropped %u %s, whose senders have had their answer: %s (%llu dropped so far)",
              items, signal_items(batch->signal, items), why->text, (unsigned long long)all);
}

/* Pushes a part. why: of a verdict other than OK; its cause is MEMORY where that lacks. */
static enum verdict push_part(const struct answered *to, struct batch *part, struct outcome *why)
{
    char text[REFUSAL_MAX];
    enum cause cause;
    (void)refusal_take(text, &cause);
    enum verdict verdict = outlet_push(to->outlet, part);
    bool told = verdict != VERDICT_OK && refusal_take(text, &cause);
    *why = told ? outcome_of(verdict, cause, "%s", text)
                : outcome_of(verdict, CAUSE_INVALID, "refused by a processor");
    if (verdict == VERDICT_OK)
        to->passed(to->ctx, part);
    return verdict;
}

/* The first so many items of a batch (0: all), or all of them. *rest: those behind them; NULL:
 * none.
 */
static struct batch *front_of(struct batch *batch, uint32_t items, struct batch **rest)
{
    struct batch *front;
    *rest = NULL;
    return items && items < batch->items && batch_split(batch, items, 0, &front, rest)
               ? front
               : batch_ref(batch);
}

/* How many items to try after a part that did not pass; 0: it is not parted further. */
static uint32_t smaller(const struct batch *part, bool is_rest, const struct outcome *why)
{
    if (why->verdict == VERDICT_REJECT)
        return part->items / 2;
    /* A full queue takes smaller ones neither; and each attempt copies all. */
    return is_rest && why->cause == CAUSE_MEMORY ? part->items / STARVED_PART : 0;
}

/* What the next part is after one that is done with. */
static uint32_t larger(const struct answered *to, uint32_t size, bool passed, unsigned lost)
{
    if (!size || lost >= LOST_ALONE)
        return to->most;
    size = passed ? 2 * size : size;
    return to->most && size > to->most ? to->most : size;
}

struct batch *answered_push(const struct answered *to, struct batch *batch)
{
    uint32_t size = to->most;
    unsigned lost = 0;
    while (batch) {
        struct outcome why;
        struct batch *rest, *front = front_of(batch, size, &rest);
        bool parts = rest || !size || size >= batch->items; /* else it has only one piece */
        enum verdict verdict = push_part(to, front, &why);
        uint32_t next =
            verdict != VERDICT_OK && parts && lost < LOST_ALONE ? smaller(front, !rest, &why) : 0;
        if (verdict == VERDICT_REJECT && !next) {
            answered_lose(to->env, front, front->items, &why);
            lost++;
        }
        batch_unref(front);
        if (next || verdict == VERDICT_RETRY)
            batch_unref(rest);
        if (!next && verdict == VERDICT_RETRY)
            return batch;
        if (!next) {
            batch_unref(batch);
            batch = rest;
        }
        size = next ? next : larger(to, size, verdict == VERDICT_OK, lost);
    }
    return NULL;
}
