/* What a sender reports about its queue and its backend. */
#include "pipeline/delivery/sender_internal.h"

const char *sender_id(const struct sender *sender)
{
    return sender->dispatcher.losses.id;
}

uint64_t sender_pending(struct sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    uint64_t items =
        queue_items(&sender->queue) + sender->jobs.items + batching_items(&sender->batching);
    pthread_mutex_unlock(&sender->lock);
    return items;
}

struct sender_figures sender_figures(const struct sender *sender, enum signal signal)
{
    const struct queue *queue = &sender->queue;
    uint64_t used = atomic_load_explicit(&queue->used_by[signal], memory_order_relaxed);
    uint64_t held = atomic_load_explicit(&queue->held_by[signal], memory_order_relaxed);
    uint64_t queued = atomic_load_explicit(&queue->queued_by[signal], memory_order_relaxed);
    return (struct sender_figures){used, held > queued ? held - queued : 0};
}

uint64_t sender_capacity(const struct sender *sender)
{
    return sender->dispatcher.settings.queue.enabled ? sender->queue.size : 0;
}

const struct histogram *sender_enqueued_items(const struct sender *sender)
{
    return &sender->enqueued_items;
}

const struct histogram *sender_enqueued_bytes(const struct sender *sender)
{
    return &sender->enqueued_bytes;
}

const struct histogram *sender_taken_items(const struct sender *sender)
{
    return sender->batching.settings ? &sender->taken_items : NULL;
}

const struct histogram *sender_taken_bytes(const struct sender *sender)
{
    return sender->batching.settings ? &sender->taken_bytes : NULL;
}

void sender_explain(struct sender *sender, struct bytes *out)
{
    pthread_mutex_lock(&sender->lock);
    bytes_printf(out, "%s: queue holds ", sender->dispatcher.losses.id);
    queue_explain(&sender->queue, out);
    if (sender->waiting)
        bytes_printf(out, ", %zu wait for room", sender->waiting);
    bytes_printf(out, "\n");
    pthread_mutex_unlock(&sender->lock);
}

struct sender_state sender_state(struct sender *sender)
{
    struct sender_state state = {.delivery = loss_log_state(&sender->dispatcher.losses)};
    pthread_mutex_lock(&sender->lock);
    uint64_t due, oldest = queue_oldest(&sender->queue, &due);
    pthread_mutex_unlock(&sender->lock);
    uint64_t now = clock_mono(sender->dispatcher.clock);
    state.oldest_ns = oldest < now ? now - oldest : 0;
    state.retry_ns = due > now ? due - now : 0;
    return state;
}
