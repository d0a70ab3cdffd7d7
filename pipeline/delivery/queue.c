#include "pipeline/delivery/queue.h"

#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

struct queue_element *queue_element_new(struct batch *batch)
{
    struct queue_element *element = calloc(1, sizeof *element);
    if (element) {
        element->batch = batch_ref(batch);
        element->signal = batch->signal;
    }
    return element;
}

void queue_element_free(struct queue_element *element)
{
    if (!element)
        return;
    batch_unref(element->batch);
    batch_unref(element->last_refused);
    while (element->rest) {
        struct batch_part *part = element->rest;
        element->rest = part->next;
        batch_unref(part->batch);
        free(part);
    }
    free(element);
}

uint64_t queue_element_items(const struct queue_element *element)
{
    uint64_t items = element->batch ? element->batch->items : 0;
    for (const struct batch_part *part = element->rest; part; part = part->next)
        items += part->batch->items;
    return items;
}

static void queue_append(struct queue_list *list, struct queue_element *element)
{
    element->next = NULL;
    if (list->tail)
        list->tail->next = element;
    else
        list->head = element;
    list->tail = element;
}

static struct queue_element *pop(struct queue_list *list)
{
    struct queue_element *element = list->head;
    if (!element)
        return NULL;
    list->head = element->next;
    if (!list->head)
        list->tail = NULL;
    element->next = NULL;
    return element;
}

/* Only one thread writes at a time. */
static void change(_Atomic uint64_t *figure, int by)
{
    uint64_t now = atomic_load_explicit(figure, memory_order_relaxed);
    atomic_store_explicit(figure, now + (uint64_t)(int64_t)by, memory_order_relaxed);
}

static void append_fresh(struct queue *queue, struct queue_element *element)
{
    queue_append(&queue->fresh, element);
    queue->queued++;
    change(&queue->queued_by[element->signal], 1);
}

static struct queue_element *pop_fresh(struct queue *queue)
{
    struct queue_element *element = pop(&queue->fresh);
    if (element) {
        queue->queued--;
        change(&queue->queued_by[element->signal], -1);
    }
    return element;
}

bool queue_reserve(struct queue *queue, size_t n)
{
    if (!queue->unbounded && !queue->drop_oldest &&
        queue_used(queue) + queue->reserved + n > queue->size)
        return false;
    queue->reserved += n;
    return true;
}

void queue_release(struct queue *queue, size_t n)
{
    queue->reserved -= n;
}

struct queue_element *queue_put(struct queue *queue, struct queue_element *element)
{
    struct queue_element *displaced = NULL;
    bool full = queue_used(queue) >= queue->size;
    if (queue->drop_oldest && full && !queue->unbounded && queue->queued > 0) {
        displaced = pop_fresh(queue);
        change(&queue->used_by[displaced->signal], -1);
    }
    append_fresh(queue, element);
    change(&queue->used_by[element->signal], 1);
    return displaced;
}

struct queue_element *queue_take(struct queue *queue)
{
    struct queue_element *element = pop(&queue->ready);
    if (element || queue->active >= queue->consumers)
        return element;
    element = pop_fresh(queue);
    if (element)
        queue->active++;
    return element;
}

size_t queue_takeable(const struct queue *queue)
{
    size_t count = 0;
    for (const struct queue_element *element = queue->ready.head; element; element = element->next)
        count++;
    size_t room = queue->active < queue->consumers ? queue->consumers - queue->active : 0;
    return count + (queue->queued < room ? queue->queued : room);
}

void queue_park(struct queue *queue, struct queue_element *element, uint64_t due)
{
    element->due = due;
    if (element->probe_due > queue->probe_at)
        queue->probe_at = element->probe_due;
    queue_append(&queue->parked, element);
    if (element->progress.in_parts) {
        queue->active--;
        queue->aside++;
    }
}

void queue_yield(struct queue *queue, struct queue_element *element)
{
    queue->active--;
    append_fresh(queue, element);
}

/* Makes a parked element ready again. */
static void resume(struct queue *queue, struct queue_element *element)
{
    if (!element->progress.in_parts) {
        queue_append(&queue->ready, element);
        return;
    }
    queue->aside--;
    append_fresh(queue, element);
}

void queue_put_back(struct queue *queue, struct queue_element *element)
{
    element->next = queue->ready.head;
    queue->ready.head = element;
    if (!queue->ready.tail)
        queue->ready.tail = element;
}

/* Takes the first parked element for which the server asked a long wait; NULL: there is none. */
static struct queue_element *take_probe(struct queue *queue)
{
    struct queue_list parked = queue->parked;
    struct queue_element *element, *probe = NULL;
    queue->parked = (struct queue_list){0};
    while ((element = pop(&parked)))
        if (!probe && element->probe_due && element->probe_due < element->due)
            probe = element;
        else
            queue_append(&queue->parked, element);
    return probe;
}

/* Makes due elements ready; returns when the next one is due. */
static uint64_t resume_due(struct queue *queue, uint64_t now, size_t *parked)
{
    struct queue_list waiting = queue->parked;
    struct queue_element *element;
    uint64_t next = TIME_NEVER;
    queue->parked = (struct queue_list){0};
    while ((element = pop(&waiting))) {
        if (element->due <= now) {
            resume(queue, element);
            continue;
        }
        queue_append(&queue->parked, element);
        *parked += !element->progress.in_parts;
        if (element->due < next)
            next = element->due;
    }
    return next;
}

uint64_t queue_wake(struct queue *queue, uint64_t now)
{
    size_t parked = 0;
    uint64_t next = resume_due(queue, now, &parked);
    bool all_wait = queue->active == parked && queue_takeable(queue) == 0;
    if (next == TIME_NEVER || queue->probe_every == 0 || queue->probe_at == 0)
        return next;
    if (all_wait && queue->probe_at <= now) {
        struct queue_element *probe = take_probe(queue);
        if (probe)
            resume(queue, probe);
        queue->probe_at = probe ? now + queue->probe_every : 0;
    }
    return queue->probe_at > now && queue->probe_at < next ? queue->probe_at : next;
}

uint64_t queue_wake_parked(struct queue *queue)
{
    uint64_t next = TIME_NEVER;
    for (struct queue_element *element = queue->parked.head; element; element = element->next) {
        if (element->own_due < element->due)
            element->due = element->own_due;
        if (element->due < next)
            next = element->due;
    }
    return next;
}

void queue_finish(struct queue *queue, enum signal signal)
{
    queue->active--;
    change(&queue->used_by[signal], -1);
}

struct queue_element *queue_clear(struct queue *queue)
{
    struct queue_list all = {0};
    struct queue_element *element;
    queue_wake(queue, TIME_NEVER);
    while ((element = pop(&queue->ready))) {
        queue->active--;
        change(&queue->used_by[element->signal], -1);
        queue_append(&all, element);
    }
    while ((element = pop_fresh(queue))) {
        change(&queue->used_by[element->signal], -1);
        queue_append(&all, element);
    }
    return all.head;
}

void queue_take_over(struct queue *queue, struct queue_element *list)
{
    while (list) {
        struct queue_element *element = list;
        list = element->next;
        element->attempt = 0;
        memset(element->limited, 0, sizeof element->limited);
        append_fresh(queue, element);
        change(&queue->used_by[element->signal], 1);
    }
}
