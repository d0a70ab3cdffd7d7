/* Requests that wait for room in a full queue (sending_queue.block_on_overflow). */
#include "pipeline/delivery/sender_wait.h"

#include "pipeline/delivery/sender_internal.h"

#define GATE_NS (10 * NS_PER_MS) /* how long a reload keeps the pipelines closed, about */
#define KEEP_NS NS_PER_S         /* data that found no places come again sooner */

bool sender_blocks(const struct sender *sender)
{
    return sender->dispatcher.settings.queue.block_on_overflow;
}

void sender_on_room(struct sender *sender, sender_serve_fn *serve, void *ctx)
{
    sender->serve = serve;
    sender->serve_ctx = ctx;
}

/* After those that came at the same time; nearly always at the end. */
static void insert(struct sender_waiters *waiters, struct sender_waiter *waiter)
{
    struct sender_waiter **at = &waiters->first;
    if (*at && waiters->last->due <= waiter->due)
        at = &waiters->last->next;
    while (*at && (*at)->due <= waiter->due)
        at = &(*at)->next;
    waiter->next = *at;
    *at = waiter;
    if (!waiter->next)
        waiters->last = waiter;
}

static struct sender_waiter *pop(struct sender *sender)
{
    struct sender_waiter *first = sender->waiters.first;
    sender->waiters.first = first->next;
    sender->waiting--;
    return first;
}

/* Whether none that came before it waits. */
static bool is_first(const struct sender *sender, const struct sender_waiter *waiter)
{
    const struct sender_waiter *first = sender->waiters.first;
    return !first || (waiter->due && waiter->due < first->due);
}

static bool may_wait(const struct sender *sender)
{
    const struct dispatcher *dispatcher = &sender->dispatcher;
    return sender_blocks(sender) && !dispatcher->stopping && !dispatcher->aborted;
}

enum sender_turn sender_wait(struct sender *sender, struct sender_waiter *waiter)
{
    enum sender_turn turn = SENDER_FULL;
    pthread_mutex_lock(&sender->lock);
    if (is_first(sender, waiter) && queue_reserve(&sender->queue, waiter->places)) {
        turn = SENDER_RESERVED;
    } else if (may_wait(sender)) {
        turn = SENDER_WAITS;
        if (!waiter->due)
            waiter->due = clock_mono(sender->dispatcher.clock) + SENDER_WAIT_NS;
        insert(&sender->waiters, waiter);
        sender->waiting++;
        ticker_at(sender->ticker, &sender->entry, waiter->due);
    }
    pthread_mutex_unlock(&sender->lock);
    return turn;
}

void sender_keep_places(struct sender *sender, size_t places, bool found)
{
    if (found)
        sender->kept = 0;
    else if (places > sender->kept)
        sender->kept = places;
    sender->kept_for = clock_mono(sender->dispatcher.clock) + KEEP_NS;
}

/* Reserves places beside those that are kept. */
static bool reserve_beside(struct sender *sender, size_t places)
{
    if (sender->kept && sender->kept_for <= clock_mono(sender->dispatcher.clock))
        sender->kept = 0;
    bool reserved = queue_reserve(&sender->queue, places + sender->kept);
    if (reserved)
        queue_release(&sender->queue, sender->kept);
    else if (sender->kept)
        ticker_at(sender->ticker, &sender->entry, sender->kept_for);
    return reserved;
}

enum sender_turn sender_next(struct sender *sender, struct sender_waiter **waiter)
{
    enum sender_turn turn = SENDER_WAITS;
    pthread_mutex_lock(&sender->lock);
    const struct sender_waiter *first = sender->waiters.first;
    if (first && sender->dispatcher.stopping)
        turn = SENDER_STOPS;
    else if (first && first->due <= clock_mono(sender->dispatcher.clock))
        turn = SENDER_FULL;
    else if (first && reserve_beside(sender, first->places))
        turn = SENDER_RESERVED;
    *waiter = turn == SENDER_WAITS ? NULL : pop(sender);
    pthread_mutex_unlock(&sender->lock);
    return turn;
}

void sender_serve_later(struct sender *sender)
{
    ticker_at(sender->ticker, &sender->entry, clock_mono(sender->dispatcher.clock) + GATE_NS);
}

uint64_t sender_wait_ends(struct sender *sender, uint64_t mono_ns)
{
    pthread_mutex_lock(&sender->lock);
    uint64_t due = sender->waiters.first ? sender->waiters.first->due : TIME_NEVER;
    pthread_mutex_unlock(&sender->lock);
    return due > mono_ns ? due : TIME_NEVER;
}

void sender_take_waiters(struct sender *sender, struct sender_waiters *to)
{
    pthread_mutex_lock(&sender->lock);
    while (sender->waiters.first)
        insert(to, pop(sender));
    pthread_mutex_unlock(&sender->lock);
}
