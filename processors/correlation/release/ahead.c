#include "processors/correlation/release/ahead.h"

#include <stdlib.h>

/* Outlives the instance if the batch does. */
struct ahead {
    _Atomic unsigned refs;
    _Atomic bool arrived;
};

static void ahead_unref(struct ahead *ahead)
{
    if (ahead && atomic_fetch_sub_explicit(&ahead->refs, 1, memory_order_acq_rel) == 1)
        free(ahead);
}

static void on_settled(void *ctx, const struct outcome *worst)
{
    struct ahead *ahead = ctx;
    (void)worst;
    atomic_store_explicit(&ahead->arrived, true, memory_order_release);
    ahead_unref(ahead);
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

static struct receipt *make(struct ahead **out)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);
    struct receipt *receipt = ahead ? receipt_new(on_settled, ahead) : NULL;
    if (!receipt) {
        free(ahead);
        return NULL;
    }
    atomic_init(&ahead->refs, 2);
    *out = ahead;
    return receipt;
}

static bool has_arrived(struct ahead *ahead)
{
    return !ahead || atomic_load_explicit(&ahead->arrived, memory_order_acquire);
}

struct receipt *ahead_begin(struct correlation *self, bool with_others)
{
    struct correlation *top = self->top ? self->top : self;
    struct receipt *receipt = NULL;
    struct ahead *next;
    pthread_mutex_lock(&top->lock);
    if (has_arrived(top->ahead) && (receipt = make(&next))) {
        ahead_unref(top->ahead);
        top->ahead = next;
    }
    pthread_mutex_unlock(&top->lock);
    if (receipt && with_others)
        receipt_set_durable(receipt, &neutral);
    return receipt;
}

void ahead_release(struct correlation *self)
{
    ahead_unref(self->ahead);
    self->ahead = NULL;
}
