#include "pipeline/backlog.h"

#include "pipeline/answered.h"
#include "pipeline/pace.h"

#include <stdlib.h>
#include <time.h>

/* A reload, whose clients wait meanwhile, waits so long for room. */
#define PATIENCE (200 * NS_PER_MS)
#define POLL_NS  (10 * NS_PER_MS)

struct backlog_item {
    struct backlog_item *next;
    struct outlet *outlet;
    struct batch *batch;
};

void backlog_begin(struct backlog *backlog)
{
    pthread_mutex_init(&backlog->lock, NULL);
    backlog->first = NULL;
    backlog->end = &backlog->first;
}

static void lose(const struct backlog *backlog, struct batch *batch)
{
    const struct outcome why =
        outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "no memory to hold the batch");
    meter_drop(backlog->env->meter, why.cause, batch->signal, batch->items);
    for (size_t i = 0; i < batch->receipt_count; i++)
        receipt_note(batch->receipts[i], &why);
    batch_unref(batch);
}

void backlog_keep(struct backlog *backlog, struct outlet *outlet, struct batch *batch)
{
    struct backlog_item *item = malloc(sizeof *item);
    if (!item) {
        lose(backlog, batch);
        return;
    }
    uint64_t again = pace_again(outlet_pace(outlet), clock_mono(backlog->env->clock));
    *item = (struct backlog_item){.outlet = outlet, .batch = batch};
    pthread_mutex_lock(&backlog->lock);
    *backlog->end = item;
    backlog->end = &item->next;
    pthread_mutex_unlock(&backlog->lock);
    backlog->wake(backlog->ctx, again);
}

void backlog_push(struct backlog *backlog, struct outlet *outlet, struct batch *batch)
{
    struct batch *left = backlog->push(backlog->ctx, outlet, batch);
    if (left)
        backlog_keep(backlog, outlet, left);
}

static struct backlog_item *take_all(struct backlog *backlog)
{
    pthread_mutex_lock(&backlog->lock);
    struct backlog_item *first = backlog->first;
    backlog->first = NULL;
    backlog->end = &backlog->first;
    pthread_mutex_unlock(&backlog->lock);
    return first;
}

void backlog_offer_again(struct backlog *backlog)
{
    for (struct backlog_item *item = take_all(backlog), *next; item; item = next) {
        next = item->next;
        backlog_push(backlog, item->outlet, item->batch);
        free(item);
    }
}

bool backlog_is_empty(struct backlog *backlog)
{
    pthread_mutex_lock(&backlog->lock);
    bool empty = !backlog->first;
    pthread_mutex_unlock(&backlog->lock);
    return empty;
}

/* Whether the end may wait for room: that of a stop until its own end. */
static bool may_wait(const struct backlog *backlog, uint64_t patient)
{
    uint64_t stop_by = atomic_load(&backlog->env->stop_by);
    return clock_mono(&clock_system) < (stop_by ? stop_by : patient);
}

void backlog_end(struct backlog *backlog)
{
    uint64_t patient = clock_mono(&clock_system) + PATIENCE;
    backlog_offer_again(backlog);
    while (!backlog_is_empty(backlog) && may_wait(backlog, patient)) {
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        backlog_offer_again(backlog);
    }
    for (struct backlog_item *item = take_all(backlog), *next; item; item = next) {
        next = item->next;
        answered_give_up(backlog->env, item->batch->signal, item->batch->items,
                         item->batch->receipts, item->batch->receipt_count);
        batch_unref(item->batch);
        free(item);
    }
    pthread_mutex_destroy(&backlog->lock);
}
