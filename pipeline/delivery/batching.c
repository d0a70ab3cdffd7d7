#include "pipeline/delivery/batching.h"

#include "lib/base/clock.h"
#include "pipeline/batch_parts.h"
#include "pipeline/gathering.h"

#include <stdlib.h>

/* What is counted in items is sent before it grows past this, the largest request that a gRPC
 * server takes by default. */
enum { OPEN_BYTES = 4000000 };

/* Requests that become one element, which is made in advance: later there may be no memory. */
struct open_batch {
    struct open_batch *next;
    uint64_t due;
    struct gathering requests;
    size_t places; /* of the requests in the queue */
    struct queue_element *element;
};

static uint64_t size_of(const struct batching *batching, uint64_t items, size_t bytes)
{
    return batching->sizer == BATCHING_BYTES ? bytes : items;
}

static bool is_full(const struct batching *batching, const struct open_batch *open)
{
    bool items = batching->sizer == BATCHING_ITEMS;
    return (items && open->requests.bytes > OPEN_BYTES) ||
           size_of(batching, open->requests.items, open->requests.bytes) >=
               (uint64_t)batching->settings->min_size;
}

static struct open_batch *open_new(const struct batching *batching, const struct batch *batch,
                                   uint64_t now)
{
    struct open_batch *open = calloc(1, sizeof *open);
    struct queue_element *element = open ? calloc(1, sizeof *element) : NULL;
    if (!element) {
        free(open);
        return NULL;
    }
    element->signal = batch->signal;
    open->element = element;
    open->due = now + batching->settings->flush_timeout;
    return open;
}

static void open_free(struct open_batch *open)
{
    gathering_release(&open->requests);
    queue_element_free(open->element);
    free(open);
}

enum batching_result batching_add(struct batching *batching, struct batch *batch, uint64_t now,
                                  uint64_t *due)
{
    struct open_batch **at = &batching->open, *open;
    /* Profiles refer to their request's dictionary, so two requests cannot be concatenated. */
    if (!batching->settings || batch->encoding != BATCH_OTLP || batch->signal == SIGNAL_PROFILES)
        return BATCHING_ALONE;
    while (*at && (is_full(batching, *at) || !batch_mergeable((*at)->requests.batches[0], batch)))
        at = &(*at)->next;
    open = *at ? *at : open_new(batching, batch, now);
    if (!open || !gathering_add(&open->requests, batch)) {
        if (open && !*at)
            open_free(open);
        return BATCHING_ALONE;
    }
    *at = open;
    open->places += queue_places(batching->queue_sizer, batch);
    *due = open->due;
    return is_full(batching, open) ? BATCHING_FULL : BATCHING_OPEN;
}

/* Cuts a merged batch into parts, which are sent one after another. Without memory it stays whole.
 */
static void split(const struct batching *batching, struct queue_element *element)
{
    uint64_t most = (uint64_t)batching->settings->max_size;
    uint32_t items = batching->sizer == BATCHING_BYTES ? 0 : (uint32_t)most;
    size_t bytes = batching->sizer == BATCHING_BYTES ? (size_t)most : 0;
    struct batch *whole = element->batch;
    bool fits = !most || size_of(batching, whole->items, whole->payload->size) <= most;
    struct batch_part *first = fits ? NULL : batch_cut(whole, items, bytes, SIZE_MAX);
    if (!first)
        return;
    batch_unref(whole);
    element->batch = first->batch;
    element->rest = first->next;
    free(first);
}

/* The last part of what was cut waits for more if it is too small; NULL: it is not. It keeps its
 * places, and counts as a request. */
static struct open_batch *open_tail(const struct batching *batching, struct queue_element *element,
                                    uint64_t now)
{
    struct batch_part **at = &element->rest;
    while (*at && (*at)->next)
        at = &(*at)->next;
    const struct batch *last = *at ? (*at)->batch : NULL;
    if (!last || size_of(batching, last->items, last->payload->size) >=
                     (uint64_t)batching->settings->min_size)
        return NULL;
    struct open_batch *open = open_new(batching, last, now);
    if (!open || !gathering_add(&open->requests, (*at)->batch)) {
        if (open)
            open_free(open);
        return NULL;
    }
    batch_unref((*at)->batch);
    free(*at);
    *at = NULL;
    open->places = queue_places(batching->queue_sizer, open->requests.batches[0]);
    if (open->places > element->gathered.places)
        open->places = element->gathered.places;
    element->gathered.places -= open->places;
    element->gathered.requests--;
    element->share.places = element->gathered.places ? element->gathered.places : 1;
    element->share.requests -= element->share.requests > 1;
    return open;
}

struct queue_element *batching_flush(struct batching *batching, uint64_t now, bool all,
                                     uint64_t *next)
{
    struct open_batch **at = &batching->open, *open;
    struct queue_element *list = NULL, **end = &list;
    *next = TIME_NEVER;
    while ((open = *at)) {
        struct batch *merged = NULL;
        struct open_batch *tail = NULL;
        if (all || open->due <= now || is_full(batching, open)) {
            merged = gathering_merge(&open->requests, batching->budget);
            if (!merged)
                open->due = now + batching->settings->flush_timeout;
        }
        if (!merged) {
            *next = open->due < *next ? open->due : *next;
            at = &open->next;
            continue;
        }
        open->element->batch = merged;
        open->element->share.requests = (uint32_t)open->requests.count;
        open->element->share.places = open->places;
        open->element->gathered = open->element->share;
        split(batching, open->element);
        if (!all)
            tail = open_tail(batching, open->element, now);
        *end = open->element;
        end = &open->element->next;
        open->element = NULL;
        if (tail)
            tail->next = open->next;
        *at = tail ? tail : open->next;
        open_free(open);
    }
    return list;
}

uint64_t batching_items(const struct batching *batching)
{
    uint64_t items = 0;
    for (const struct open_batch *open = batching->open; open; open = open->next)
        items += open->requests.items;
    return items;
}

struct batch *batching_take(struct batching *batching, size_t *places)
{
    struct open_batch *open = batching->open;
    if (!open)
        return NULL;
    struct batch *batch = open->requests.batches[--open->requests.count];
    *places = open->places;
    open->places = 0;
    if (open->requests.count == 0) {
        batching->open = open->next;
        open_free(open);
    }
    return batch;
}
