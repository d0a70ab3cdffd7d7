#include "processors/correlation/hold/segment.h"

#include "pipeline/addressees.h"

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
    origin->delivered_to = addressees_ref(batch->delivered_to);
    origin->receipt_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct receipt *receipt = receipt_of_held(batch->receipts[i]);
        if (receipt)
            origin->receipts[origin->receipt_count++] = receipt_ref(receipt);
    }
    return origin;
}

void origin_unref(struct origin *origin)
{
    if (!origin || atomic_fetch_sub_explicit(&origin->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < origin->receipt_count; i++)
        receipt_unref(origin->receipts[i]);
    metadata_unref(origin->metadata);
    addressees_unref(origin->delivered_to);
    free(origin);
}

static bool segment_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool origin_matches(const struct origin *a, const struct origin *b)
{
    const struct metadata *x = a->metadata, *y = b->metadata;
    return a == b || (a->outlet == b->outlet && addressees_same(a->delivered_to, b->delivered_to) &&
                      (x == y || (x && y && segment_same_text(x->tenant, y->tenant) &&
                                  segment_same_text(x->authorization, y->authorization))));
}

/* Returns the bytes of memory that a segment takes. */
static size_t segment_memory(const struct segment_size *size)
{
    return sizeof(struct segment) + size->spans * sizeof(struct held) +
           size->scopes * sizeof(struct interned *) + size->bytes;
}

/* Few messages are stored after the segment; many in an allocation of their own, which can shrink
 * (pack.h). */
static struct segment *segment_allocate(const struct segment_size *size, uint8_t **bytes)
{
    size_t memory = segment_memory(size), apart = size->bytes < SEGMENT_APART ? 0 : size->bytes;
    struct segment *segment = malloc(memory - apart);
    *bytes = apart ? malloc(apart) : (uint8_t *)segment + memory - size->bytes;
    if (segment && *bytes)
        return segment;
    free(segment);
    return NULL;
}

struct segment *segment_new(const struct segment_size *size, struct interner *interner,
                            struct interned *resource, bool may_force)
{
    size_t memory = segment_memory(size);
    uint8_t *bytes;
    bool forced = !budget_take(interner->budget, memory);
    if (forced && !may_force)
        return NULL;
    if (forced)
        budget_force(interner->budget, memory);
    struct segment *segment = segment_allocate(size, &bytes);
    if (!segment) {
        budget_give(interner->budget, memory);
        return NULL;
    }
    *segment = (struct segment){
        .interner = interner,
        .charged = memory,
        .count = size->spans,
        .live = size->spans,
        .size = size->bytes,
        .forced = forced,
        .resource = resource,
        .scope_count = size->scopes,
        .bytes = bytes,
    };
    atomic_init(&segment->unwritten, size->spans);
    segment->spans = (struct held *)(segment + 1);
    segment->scopes = (struct interned **)(segment->spans + size->spans);
    for (uint32_t i = 0; i < size->scopes; i++)
        segment->scopes[i] = NULL;
    return segment;
}

void segment_free(struct segment *segment)
{
    if (!segment)
        return;
    for (uint32_t i = 0; i < segment->scope_count; i++)
        interner_put(segment->interner, segment->scopes[i]);
    interner_put(segment->interner, segment->resource);
    origin_unref(segment->origin);
    budget_give(segment->interner->budget, segment->charged);
    if (segment->size >= SEGMENT_APART)
        free(segment->bytes);
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

static bool comes_first(const struct held *a, const struct held *b)
{
    const struct segment *x = segment_of(a), *y = segment_of(b);
    return x == y ? a < b : x->order < y->order;
}

/* Sorts and detaches the first count spans of a list; *rest: those after them. */
static struct held *sort_front(struct held *list, size_t count, struct held **rest)
{
    if (count == 1) {
        *rest = list->next;
        list->next = NULL;
        return list;
    }
    struct held *a = sort_front(list, count / 2, rest);
    struct held *b = sort_front(*rest, count - count / 2, rest);
    struct held *first, **end = &first;
    while (a && b) {
        struct held **from = comes_first(b, a) ? &b : &a;
        *end = *from;
        end = &(*from)->next;
        *from = *end;
    }
    *end = a ? a : b;
    return first;
}

void release_sort(struct release *release)
{
    struct held *rest;
    if (release->count < 2)
        return;
    release->first = sort_front(release->first, release->count, &rest);
    struct held *last = release->first;
    while (last->next)
        last = last->next;
    release->end = &last->next;
}
