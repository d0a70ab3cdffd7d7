#include "pipeline/answered.h"

#include "lib/base/refusal.h"

#define MINUTE (60 * NS_PER_S)

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

enum verdict answered_push(const struct env *env, struct outlet *outlet, struct batch *batch)
{
    char text[REFUSAL_MAX];
    enum cause cause;
    (void)refusal_take(text, &cause);
    enum verdict verdict = outlet_push(outlet, batch);
    if (verdict != VERDICT_REJECT)
        return verdict;
    struct outcome why = refusal_take(text, &cause)
                             ? outcome_of(VERDICT_REJECT, cause, "%s", text)
                             : outcome_of(VERDICT_REJECT, CAUSE_INVALID, "refused by a processor");
    answered_lose(env, batch, batch->items, &why);
    return VERDICT_OK;
}
