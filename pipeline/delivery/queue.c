#include "pipeline/delivery/queue.h"

#include "lib/base/bytes.h"
#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

size_t queue_places(enum queue_sizer sizer, const struct batch *batch)
{
    size_t places = 1;
    if (sizer == QUEUE_ITEMS)
        places = batch_counted(batch);
    else if (sizer == QUEUE_BYTES)
        places = batch->payload->size;
    return places ? places : 1;
}

struct queue_element *queue_element_new(enum queue_sizer sizer, struct batch *batch)
{
    struct queue_element *element = calloc(1, sizeof *element);
    if (element) {
        element->batch = batch_ref(batch);
        element->signal = batch->signal;
        element->share = (struct queue_share){1, queue_places(sizer, batch)};
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
static void change(_Atomic uint64_t *figure, int64_t by)
{
    uint64_t now = atomic_load_explicit(figure, memory_order_relaxed);
    atomic_store_explicit(figure, now + (uint64_t)by, memory_order_relaxed);
}

static void use(struct queue *queue, enum signal signal, struct queue_share share)
{
    queue->used += share.places;
    change(&queue->used_by[signal], (int64_t)share.places);
    change(&queue->held_by[signal], share.requests);
}

static void unuse(struct queue *queue, enum signal signal, struct queue_share share)
{
    queue->used -= share.places;
    change(&queue->used_by[signal], -(int64_t)share.places);
    change(&queue->held_by[signal], -(int64_t)share.requests);
}

static void append_fresh(struct queue *queue, struct queue_element *element)
{
    queue_append(&queue->fresh, element);
    queue->queued++;
    change(&queue->queued_by[element->signal], element->share.requests);
}

static struct queue_element *pop_fresh(struct queue *queue)
{
    struct queue_element *element = pop(&queue->fresh);
    if (element) {
        queue->queued--;
        change(&queue->queued_by[element->signal], -(int64_t)element->share.requests);
    }
    return element;
}

bool queue_reserve(struct queue *queue, size_t n)
{
    size_t taken = queue_used(queue) + queue->reserved;
    if (!queue->unbounded && !queue->drop_oldest && taken > 0 && taken + n > queue->size)
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
    struct queue_list displaced = {0};
    while (queue->drop_oldest && !queue->unbounded && queue->queued > 0 &&
           queue_used(queue) + element->share.places > queue->size) {
        struct queue_element *oldest = pop_fresh(queue);
        unuse(queue, oldest->signal, oldest->share);
        queue_append(&displaced, oldest);
    }
    append_fresh(queue, element);
    use(queue, element->signal, element->share);
    return displaced.head;
}

static struct queue_element *note_taken(struct queue *queue, struct queue_element *element)
{
    element->before = NULL;
    element->next = queue->taken;
    if (queue->taken)
        queue->taken->before = element;
    queue->taken = element;
    return element;
}

static void forget_taken(struct queue *queue, struct queue_element *element)
{
    if (element->before)
        element->before->next = element->next;
    else
        queue->taken = element->next;
    if (element->next)
        element->next->before = element->before;
    element->next = NULL;
}

struct queue_element *queue_take_also(struct queue *queue)
{
    struct queue_element *element = pop(&queue->ready);
    if (element)
        return note_taken(queue, element);
    element = pop_fresh(queue);
    if (!element)
        return NULL;
    queue->active++;
    return note_taken(queue, element);
}

struct queue_element *queue_take(struct queue *queue)
{
    if (!queue->ready.head && queue->active >= queue->consumers)
        return NULL;
    return queue_take_also(queue);
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
    forget_taken(queue, element);
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
    forget_taken(queue, element);
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
    forget_taken(queue, element);
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

void queue_finish(struct queue *queue, struct queue_element *element)
{
    forget_taken(queue, element);
    queue->active--;
    unuse(queue, element->signal, element->share);
}

void queue_gather(struct queue *queue, const struct batch *batch)
{
    use(queue, batch->signal, (struct queue_share){1, queue_places(queue->sizer, batch)});
    change(&queue->queued_by[batch->signal], 1);
}

void queue_ungather(struct queue *queue, enum signal signal, struct queue_share share)
{
    unuse(queue, signal, share);
    change(&queue->queued_by[signal], -(int64_t)share.requests);
}

struct queue_element *queue_clear(struct queue *queue)
{
    struct queue_list all = {0};
    struct queue_element *element;
    queue_wake(queue, TIME_NEVER);
    while ((element = pop(&queue->ready))) {
        queue->active--;
        unuse(queue, element->signal, element->share);
        queue_append(&all, element);
    }
    while ((element = pop_fresh(queue))) {
        unuse(queue, element->signal, element->share);
        queue_append(&all, element);
    }
    return all.head;
}

static size_t element_places(enum queue_sizer sizer, const struct queue_element *element)
{
    size_t places = element->batch ? queue_places(sizer, element->batch) : 0;
    if (sizer == QUEUE_REQUESTS)
        return element->share.requests;
    for (const struct batch_part *part = element->rest; part; part = part->next)
        places += queue_places(sizer, part->batch);
    return places;
}

void queue_take_over(struct queue *queue, struct queue_element *list)
{
    while (list) {
        struct queue_element *element = list;
        list = element->next;
        element->attempt = 0;
        element->share.places = element_places(queue->sizer, element);
        memset(element->limited, 0, sizeof element->limited);
        append_fresh(queue, element);
        use(queue, element->signal, element->share);
    }
}

struct queue_element *queue_join(struct queue_element *first, struct queue_element *then)
{
    struct queue_element **end = &first;
    while (*end)
        end = &(*end)->next;
    *end = then;
    return first;
}

uint64_t queue_oldest(const struct queue *queue, uint64_t *due)
{
    const struct queue_element *lists[] = {queue->ready.head, queue->parked.head, queue->taken};
    uint64_t oldest = queue->fresh.head ? queue->fresh.head->since : TIME_NEVER;
    *due = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct queue_element *at = lists[i]; at; at = at->next)
            if (at->since < oldest) {
                oldest = at->since;
                *due = i == 1 ? at->due : 0;
            }
    return oldest;
}

uint64_t queue_items(const struct queue *queue)
{
    const struct queue_list *lists[] = {&queue->fresh, &queue->ready, &queue->parked};
    uint64_t items = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct queue_element *at = lists[i]->head; at; at = at->next)
            items += queue_element_items(at);
    return items;
}

void queue_explain(const struct queue *queue, struct bytes *out)
{
    bool requests = queue->sizer == QUEUE_REQUESTS;
    bytes_printf(out, "%zu of %zu %s, %zu %sin flight", queue_used(queue), queue->size,
                 queue_sizers[queue->sizer], queue->active, requests ? "" : "requests ");
}
