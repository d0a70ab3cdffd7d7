#include "processors/correlation/hold.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct origin *origin_new(const struct batch *batch, struct outlet *outlet)
{
    size_t count = batch->receipt_count;
    struct origin *origin = malloc(sizeof *origin + count * sizeof origin->receipts[0]);
    if (!origin)
        return NULL;
    atomic_init(&origin->refs, 1);
    origin->outlet = outlet;
    origin->metadata = batch->metadata ? metadata_ref(batch->metadata) : NULL;
    origin->receipt_count = count;
    for (size_t i = 0; i < count; i++)
        origin->receipts[i] = receipt_ref(batch->receipts[i]);
    return origin;
}

void origin_unref(struct origin *origin)
{
    if (!origin || atomic_fetch_sub_explicit(&origin->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < origin->receipt_count; i++)
        receipt_unref(origin->receipts[i]);
    metadata_unref(origin->metadata);
    free(origin);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool origin_same_way(const struct origin *a, const struct origin *b)
{
    const struct metadata *x = a->metadata, *y = b->metadata;
    return a == b ||
           (a->outlet == b->outlet && (x == y || (x && y && same_text(x->tenant, y->tenant) &&
                                                  same_text(x->authorization, y->authorization))));
}

size_t segment_memory(const struct segment_size *size)
{
    return sizeof(struct segment) + size->spans * sizeof(struct held) +
           size->scopes * sizeof(struct run *) + size->bytes;
}

struct segment *segment_new(const struct segment_size *size, struct runs *runs,
                            struct run *resource, bool may_force)
{
    size_t memory = segment_memory(size);
    bool forced = !budget_take(runs->budget, memory);
    if (forced && !may_force)
        return NULL;
    if (forced)
        budget_force(runs->budget, memory);
    struct segment *segment = malloc(memory);
    if (!segment) {
        budget_give(runs->budget, memory);
        return NULL;
    }
    *segment = (struct segment){
        .runs = runs,
        .charged = memory,
        .count = size->spans,
        .live = size->spans,
        .forced = forced,
        .resource = resource,
        .scope_count = size->scopes,
    };
    atomic_init(&segment->unwritten, size->spans);
    segment->spans = (struct held *)(segment + 1);
    segment->scopes = (struct run **)(segment->spans + size->spans);
    segment->bytes = (uint8_t *)(segment->scopes + size->scopes);
    for (uint32_t i = 0; i < size->scopes; i++)
        segment->scopes[i] = NULL;
    return segment;
}

void segment_free(struct segment *segment)
{
    if (!segment)
        return;
    for (uint32_t i = 0; i < segment->scope_count; i++)
        runs_put(segment->runs, segment->scopes[i]);
    runs_put(segment->runs, segment->resource);
    origin_unref(segment->origin);
    budget_give(segment->runs->budget, segment->charged);
    free(segment);
}

void segment_written(struct segment *segment, uint32_t n)
{
    uint32_t before = atomic_fetch_sub_explicit(&segment->unwritten, n, memory_order_acq_rel);
    assert(before >= n);
    if (before == n)
        segment_free(segment);
}

void release_join(struct release *release, struct release *more)
{
    if (!more->first)
        return;
    *(release->first ? release->end : &release->first) = more->first;
    release->end = more->end;
    release->count += more->count;
    *more = (struct release){0};
}

void hold_put(struct hold *hold, struct segment *segment)
{
    struct service *service = segment->service;
    segment->older = hold->newest;
    *(hold->newest ? &hold->newest->newer : &hold->oldest) = segment;
    hold->newest = segment;
    segment->service_older = service->newest;
    *(service->newest ? &service->newest->service_newer : &service->oldest) = segment;
    service->newest = segment;
    hold->bytes += segment->charged;
    hold->spans += segment->live;
    if (segment->due < service->due)
        service->due = segment->due;
}

void hold_replace(struct hold *hold, struct segment *old, struct segment *segment)
{
    struct service *service = old->service;
    segment->service = service;
    segment->older = old->older;
    segment->newer = old->newer;
    segment->service_older = old->service_older;
    segment->service_newer = old->service_newer;
    *(old->older ? &old->older->newer : &hold->oldest) = segment;
    *(old->newer ? &old->newer->older : &hold->newest) = segment;
    *(old->service_older ? &old->service_older->service_newer : &service->oldest) = segment;
    *(old->service_newer ? &old->service_newer->service_older : &service->newest) = segment;
    hold->bytes += segment->charged - old->charged;
}

void hold_remove(struct hold *hold, struct segment *segment)
{
    struct service *service = segment->service;
    *(segment->older ? &segment->older->newer : &hold->oldest) = segment->newer;
    *(segment->newer ? &segment->newer->older : &hold->newest) = segment->older;
    *(segment->service_older ? &segment->service_older->service_newer : &service->oldest) =
        segment->service_newer;
    *(segment->service_newer ? &segment->service_newer->service_older : &service->newest) =
        segment->service_older;
    hold->bytes -= segment->charged;
}

void hold_take(struct hold *hold, struct held *held, const struct edit *edit,
               struct release *release)
{
    struct segment *segment = segment_of(held);
    assert(!(held->flags & HELD_GONE));
    held->flags |= HELD_GONE;
    held->fate = (uint8_t)edit->fate;
    if (edit->fate == FATE_LINK) {
        held->flags |= edit->inherited ? HELD_INHERITED : 0;
        held->own = edit->figures.id;
        held->end = edit->figures.cpu_ns;
        held->samples = edit->figures.samples;
    }
    held->next = NULL;
    struct release one = {held, &held->next, 1};
    release_join(release, &one);
    hold->spans--;
    if (--segment->live == 0)
        hold_remove(hold, segment);
}

struct held *hold_oldest(const struct hold *hold)
{
    struct segment *segment = hold->oldest;
    if (!segment)
        return NULL;
    while (segment->spans[segment->oldest_live].flags & HELD_GONE)
        segment->oldest_live++;
    return &segment->spans[segment->oldest_live];
}

bool hold_over(const struct hold *hold, uint64_t spans, size_t bytes)
{
    return bytes > hold->max_bytes || hold->bytes > hold->max_bytes - bytes ||
           (hold->max_spans && hold->spans + spans > hold->max_spans);
}
