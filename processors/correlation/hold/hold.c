#include "processors/correlation/hold/hold.h"

#include <assert.h>

void hold_order(struct segment *segment)
{
    struct process *process = segment->process;
    uint64_t first = UINT64_MAX;
    if (segment->live > segment->children)
        for (uint32_t i = segment->oldest_live; i < segment->count; i++) {
            const struct held *held = &segment->spans[i];
            if (!(held->flags & (HELD_GONE | HELD_CHILD)) && held->end < first)
                first = held->end;
        }
    if (first < UINT64_MAX)
        heap_set(&process->ends, &segment->ends, first);
    else if (heap_has(&process->ends, &segment->ends))
        heap_remove(&process->ends, &segment->ends);
}

/* Indexes the spans by their ids. False: no memory; none was added. */
static bool add_ids(struct held_ids *ids, struct segment *segment)
{
    for (uint32_t i = 0; i < segment->count; i++)
        if (!held_ids_add(ids, &segment->spans[i]))
            return false; /* only the very first can fail */
    return true;
}

bool hold_put(struct hold *hold, struct segment *segment)
{
    struct process *process = segment->process;
    if (!add_ids(&hold->ids, segment))
        return false;
    segment->order = ++hold->put;
    segment->older = hold->newest;
    *(hold->newest ? &hold->newest->newer : &hold->oldest) = segment;
    hold->newest = segment;
    segment->process_older = process->newest;
    *(process->newest ? &process->newest->process_newer : &process->oldest) = segment;
    process->newest = segment;
    if (!hold->unpacked)
        hold->unpacked = segment;
    hold->bytes += segment->charged;
    hold->spans += segment->live;
    process->service->held += segment->live;
    hold_order(segment);
    return true;
}

static void leave_order(struct segment *segment)
{
    if (heap_has(&segment->process->ends, &segment->ends))
        heap_remove(&segment->process->ends, &segment->ends);
}

void hold_replace(struct hold *hold, struct segment *old, struct segment *segment)
{
    struct process *process = old->process;
    segment->process = process;
    segment->order = old->order;
    segment->older = old->older;
    segment->newer = old->newer;
    segment->process_older = old->process_older;
    segment->process_newer = old->process_newer;
    *(old->older ? &old->older->newer : &hold->oldest) = segment;
    *(old->newer ? &old->newer->older : &hold->newest) = segment;
    *(old->process_older ? &old->process_older->process_newer : &process->oldest) = segment;
    *(old->process_newer ? &old->process_newer->process_older : &process->newest) = segment;
    if (hold->unpacked == old)
        hold->unpacked = segment;
    if (hold->unvisited == old)
        hold->unvisited = segment;
    hold->bytes += segment->charged - old->charged;
    leave_order(old);
}

void hold_remove(struct hold *hold, struct segment *segment)
{
    struct process *process = segment->process;
    *(segment->older ? &segment->older->newer : &hold->oldest) = segment->newer;
    *(segment->newer ? &segment->newer->older : &hold->newest) = segment->older;
    *(segment->process_older ? &segment->process_older->process_newer : &process->oldest) =
        segment->process_newer;
    *(segment->process_newer ? &segment->process_newer->process_older : &process->newest) =
        segment->process_older;
    if (hold->unpacked == segment)
        hold->unpacked = segment->newer;
    if (hold->unvisited == segment)
        hold->unvisited = segment->older;
    hold->bytes -= segment->charged;
    leave_order(segment);
}

void hold_shrunk(struct hold *hold, struct segment *segment, size_t bytes)
{
    segment->charged -= bytes;
    hold->bytes -= bytes;
    budget_give(segment->interner->budget, bytes);
}

void hold_take(struct hold *hold, struct held *held, const struct edit *edit,
               struct release *release)
{
    struct segment *segment = segment_of(held);
    assert(!(held->flags & HELD_GONE));
    held_ids_remove(&hold->ids, held);
    held->flags |= HELD_GONE;
    held->action = (uint8_t)edit->action;
    if (edit->action == ACTION_LINK) {
        held->flags |= edit->inherited ? HELD_INHERITED : 0;
        held->own = edit->figures.id;
        held->end = edit->figures.cpu_ns;
        held->samples = edit->figures.samples;
    }
    held->next = NULL;
    struct release one = {held, &held->next, 1};
    release_join(release, &one);
    hold->spans--;
    segment->process->service->held--;
    if (held->flags & HELD_CHILD)
        segment->children--;
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
