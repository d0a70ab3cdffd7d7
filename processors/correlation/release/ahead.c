#include "processors/correlation/release/ahead.h"

#include <stdlib.h>

/* Outlives the instance if a batch does. */
struct ahead {
    _Atomic unsigned refs;
    _Atomic size_t bytes; /* of the batches on their way */
};

/* One of them. */
struct ahead_batch {
    struct ahead *ahead;
    size_t bytes;
};

static void ahead_unref(struct ahead *ahead)
{
    if (ahead && atomic_fetch_sub_explicit(&ahead->refs, 1, memory_order_acq_rel) == 1)
        free(ahead);
}

static void on_settled(void *ctx, const struct outcome *worst)
{
    struct ahead_batch *batch = ctx;
    (void)worst;
    atomic_fetch_sub_explicit(&batch->ahead->bytes, batch->bytes, memory_order_relaxed);
    ahead_unref(batch->ahead);
    free(batch);
}

/* Returns what counts the batches of all; NULL: no memory. Under the lock. */
static struct ahead *ahead_of(struct correlation *top)
{
    if (!top->ahead && (top->ahead = calloc(1, sizeof *top->ahead)))
        atomic_init(&top->ahead->refs, 1);
    return top->ahead;
}

static bool ahead_fits(const struct ahead *ahead, size_t n)
{
    size_t bytes = atomic_load_explicit(&ahead->bytes, memory_order_relaxed);
    return bytes == 0 || bytes + n <= AHEAD_MAX;
}

/* Under the lock. */
static struct receipt *ahead_add(struct ahead *ahead, size_t n)
{
    struct ahead_batch *batch = malloc(sizeof *batch);
    struct receipt *receipt = batch ? receipt_new(on_settled, batch) : NULL;
    if (!receipt) {
        free(batch);
        return NULL;
    }
    *batch = (struct ahead_batch){ahead, n};
    atomic_fetch_add_explicit(&ahead->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ahead->bytes, n, memory_order_relaxed);
    return receipt;
}

struct receipt *ahead_begin(struct correlation *self, size_t n, bool with_others)
{
    struct correlation *top = self->top ? self->top : self;
    pthread_mutex_lock(&top->lock);
    struct ahead *ahead = ahead_of(top);
    struct receipt *receipt = ahead && ahead_fits(ahead, n) ? ahead_add(ahead, n) : NULL;
    pthread_mutex_unlock(&top->lock);
    if (receipt && with_others)
        receipt_set_neutral(receipt);
    return receipt;
}

void ahead_release(struct correlation *self)
{
    ahead_unref(self->ahead);
    self->ahead = NULL;
}
