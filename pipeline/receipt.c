#include "pipeline/receipt.h"

#include "pipeline/shares.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct receipt {
    _Atomic unsigned refs;
    receipt_settled_fn *settled;
    void *ctx;
    const struct receipt_store *store; /* NULL: not durable */
    bool awaited;
    struct receipt *held; /* of an awaited one; NULL: none */
    pthread_mutex_t lock;
    struct outcome worst;  /* under lock */
    struct shares *shares; /* NULL: not shared out; its content: under lock */
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

struct receipt *receipt_ref_of(struct receipt *receipt, uint64_t exporter)
{
    atomic_fetch_add_explicit(&receipt->refs, 1, memory_order_relaxed);
    if (receipt->shares) {
        pthread_mutex_lock(&receipt->lock);
        shares_add(receipt->shares, exporter);
        pthread_mutex_unlock(&receipt->lock);
    }
    return receipt;
}

struct receipt *receipt_ref(struct receipt *receipt)
{
    return receipt_ref_of(receipt, 0);
}

/* The store is told while the reference still keeps its ctx. */
static void drop_share(struct receipt *receipt, uint64_t exporter)
{
    pthread_mutex_lock(&receipt->lock);
    shares_drop(receipt->shares, exporter);
    uint64_t done = shares_next_done(receipt->shares);
    pthread_mutex_unlock(&receipt->lock);
    while (done) {
        receipt->store->delivered(receipt->ctx, done);
        pthread_mutex_lock(&receipt->lock);
        done = shares_next_done(receipt->shares);
        pthread_mutex_unlock(&receipt->lock);
    }
}

void receipt_unref_of(struct receipt *receipt, uint64_t exporter)
{
    if (receipt && receipt->shares)
        drop_share(receipt, exporter);
    if (!receipt || atomic_fetch_sub_explicit(&receipt->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (receipt->settled)
        receipt->settled(receipt->ctx, &receipt->worst);
    receipt_unref(receipt->held);
    pthread_mutex_destroy(&receipt->lock);
    free(receipt->shares);
    free(receipt);
}

void receipt_unref(struct receipt *receipt)
{
    receipt_unref_of(receipt, 0);
}

void receipt_set_durable(struct receipt *receipt, const struct receipt_store *store)
{
    receipt->store = store;
}

static void keep_nothing(void *ctx, uint64_t key, const struct progress_mark *mark)
{
    (void)ctx;
    (void)key;
    (void)mark;
}

static bool recall_nothing(void *ctx, uint64_t key, struct progress_mark *mark)
{
    (void)ctx;
    (void)key;
    (void)mark;
    return false;
}

static bool say_yes(void *ctx)
{
    (void)ctx;
    return true;
}

/* A batch is durable, or elsewhere, if all of its receipts are: this one leaves it to the others.
 */
static const struct receipt_store neutral = {
    .keep = keep_nothing, .recall = recall_nothing, .is_elsewhere = say_yes};

void receipt_set_neutral(struct receipt *receipt)
{
    receipt_set_durable(receipt, &neutral);
}

bool receipt_is_durable(const struct receipt *receipt)
{
    return receipt->store;
}

void receipt_share_out(struct receipt *receipt, size_t exporters)
{
    if (receipt->store && receipt->store->delivered)
        receipt->shares = shares_new(exporters);
}

bool receipt_is_shared_out(const struct receipt *receipt)
{
    return receipt->shares;
}

void receipt_set_awaited(struct receipt *receipt, struct receipt *held)
{
    receipt->awaited = true;
    receipt->held = held;
}

bool receipt_is_awaited(const struct receipt *receipt)
{
    return receipt->awaited;
}

struct receipt *receipt_of_held(struct receipt *receipt)
{
    return receipt->awaited ? receipt->held : receipt;
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

bool receipt_is_left(const struct outcome *outcome)
{
    return is_left_behind(outcome) ||
           (outcome->verdict == VERDICT_RETRY && outcome->cause == CAUSE_MEMORY);
}

void receipt_note(struct receipt *receipt, const struct outcome *outcome)
{
    receipt_note_of(receipt, outcome, 0);
}

void receipt_note_of(struct receipt *receipt, const struct outcome *outcome, uint64_t exporter)
{
    pthread_mutex_lock(&receipt->lock);
    if (receipt->shares && receipt_is_left(outcome))
        shares_leave(receipt->shares, exporter);
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
