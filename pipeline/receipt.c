#include "pipeline/receipt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct receipt {
    _Atomic unsigned refs;
    receipt_settled_fn *settled;
    void *ctx;
    const struct receipt_store *store; /* NULL: not durable */
    bool awaited;
    pthread_mutex_t lock;
    struct outcome worst; /* under lock */
};

struct receipt *receipt_new(receipt_settled_fn *settled, void *ctx)
{
    struct receipt *receipt = calloc(1, sizeof *receipt);
    if (!receipt)
        return NULL;
    atomic_init(&receipt->refs, 1);
    receipt->settled = settled;
    receipt->ctx = ctx;
    pthread_mutex_init(&receipt->lock, NULL);
    return receipt;
}

struct receipt *receipt_ref(struct receipt *receipt)
{
    atomic_fetch_add_explicit(&receipt->refs, 1, memory_order_relaxed);
    return receipt;
}

void receipt_unref(struct receipt *receipt)
{
    if (!receipt || atomic_fetch_sub_explicit(&receipt->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (receipt->settled)
        receipt->settled(receipt->ctx, &receipt->worst);
    pthread_mutex_destroy(&receipt->lock);
    free(receipt);
}

void receipt_set_durable(struct receipt *receipt, const struct receipt_store *store)
{
    receipt->store = store;
}

bool receipt_is_durable(const struct receipt *receipt)
{
    return receipt->store;
}

void receipt_set_awaited(struct receipt *receipt)
{
    receipt->awaited = true;
}

bool receipt_is_awaited(const struct receipt *receipt)
{
    return receipt->awaited;
}

void receipt_keep(struct receipt *receipt, uint64_t key, const struct progress_mark *mark)
{
    receipt->store->keep(receipt->ctx, key, mark);
}

bool receipt_recall(struct receipt *receipt, uint64_t key, struct progress_mark *mark)
{
    return receipt->store->recall(receipt->ctx, key, mark);
}

bool receipt_is_recalled(const struct receipt *receipt)
{
    return receipt->store && receipt->store->found;
}

bool receipt_is_elsewhere(const struct receipt *receipt)
{
    return receipt->store && receipt->store->is_elsewhere &&
           receipt->store->is_elsewhere(receipt->ctx);
}

/* Data that nobody tried to deliver may be read or replayed again, whatever became of the rest. */
static bool is_left_behind(const struct outcome *outcome)
{
    return outcome->verdict == VERDICT_RETRY &&
           (outcome->cause == CAUSE_SHUTDOWN || outcome->cause == CAUSE_REVOKED);
}

static int gravity(const struct outcome *outcome)
{
    static const int ranks[] = {[VERDICT_OK] = 0, [VERDICT_REJECT] = 1, [VERDICT_RETRY] = 2};
    return ranks[outcome->verdict] + is_left_behind(outcome);
}

void receipt_note(struct receipt *receipt, const struct outcome *outcome)
{
    pthread_mutex_lock(&receipt->lock);
    struct outcome *worst = &receipt->worst;
    if (gravity(outcome) > gravity(worst)) {
        *worst = *outcome;
    } else if (outcome->verdict == VERDICT_OK && worst->verdict == VERDICT_OK) {
        uint32_t rejected = worst->rejected + outcome->rejected;
        if (worst->rejected == 0)
            *worst = *outcome;
        worst->rejected = rejected;
    }
    pthread_mutex_unlock(&receipt->lock);
}
