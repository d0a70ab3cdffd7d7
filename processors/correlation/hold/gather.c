#include "processors/correlation/hold/gather.h"

#include <string.h>

/* Segments that can be merged, newest first. */
struct group {
    struct segment *members[GATHER_EACH];
    size_t count;
};

static bool is_small(const struct segment *segment)
{
    return segment->charged <= GATHER_SMALL && segment->origin->receipt_count == 0;
}

/* A span that left is in a release list by its address. */
static bool may_move(const struct segment *segment)
{
    return is_small(segment) && segment->live == segment->count && !segment->packing;
}

static bool are_alike(const struct segment *a, const struct segment *b)
{
    return a->resource == b->resource && a->scope_count == b->scope_count &&
           memcmp(a->scopes, b->scopes, a->scope_count * sizeof a->scopes[0]) == 0 &&
           origin_matches(a->origin, b->origin);
}

/* Finds the segments that arrived since the last time, newest first. */
static size_t find_small(const struct process *process, struct segment *found[GATHER_EACH])
{
    size_t count = 0;
    struct segment *each = process->newest;
    for (; each && each->arrived >= process->small_since; each = each->process_older) {
        if (count == GATHER_EACH)
            break;
        if (may_move(each))
            found[count++] = each;
    }
    return count;
}

/* Moves the segments similar to the first one into the group; returns how many are left. */
static size_t gather_split(struct segment *left[], size_t count, struct group *group)
{
    size_t others = 0;
    const struct segment *first = left[0];
    group->count = 0;
    for (size_t i = 0; i < count; i++)
        if (are_alike(left[i], first))
            group->members[group->count++] = left[i];
        else
            left[others++] = left[i];
    return others;
}

static uint32_t own_bytes(const struct segment *segment)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < segment->count; i++)
        bytes += segment->spans[i].size;
    return bytes;
}

/* Makes an empty segment with room for the group; it shares the headers of the first member. */
static struct segment *make_joint(const struct group *group)
{
    struct segment *first = group->members[0];
    struct segment_size size = {.scopes = first->scope_count};
    for (size_t i = 0; i < group->count; i++) {
        size.spans += group->members[i]->count;
        size.bytes += own_bytes(group->members[i]);
    }
    struct segment *joint = segment_new(&size, first->interner, first->resource, false);
    if (!joint)
        return NULL;
    first->resource = NULL;
    for (uint32_t i = 0; i < first->scope_count; i++) {
        joint->scopes[i] = first->scopes[i];
        first->scopes[i] = NULL;
    }
    joint->origin = first->origin;
    first->origin = NULL;
    joint->arrived = first->arrived;
    return joint;
}

/* Copies the spans of one segment after the first `count`, with bytes up to `at`. */
static void copy_spans(struct held_ids *ids, struct segment *joint, const struct segment *from,
                       uint32_t count, uint32_t at)
{
    for (uint32_t i = 0; i < from->count; i++) {
        struct held *held = &joint->spans[count + i];
        *held = from->spans[i];
        held->back = (uint32_t)((char *)held - (char *)joint);
        held->at = at;
        held_ids_moved(ids, held);
        memcpy(joint->bytes + at, from->bytes + from->spans[i].at, held->size);
        at += held->size;
    }
    joint->children += from->children;
}

static void join(struct hold *hold, const struct group *group)
{
    struct segment *joint = group->count > 1 ? make_joint(group) : NULL;
    uint32_t count = 0, at = 0;
    if (!joint)
        return;
    for (size_t i = group->count; i-- > 0;) {
        struct segment *from = group->members[i];
        copy_spans(&hold->ids, joint, from, count, at);
        count += from->count;
        at += own_bytes(from);
        if (i == group->count - 1)
            hold_replace(hold, from, joint);
        else
            hold_remove(hold, from);
        segment_free(from);
    }
    hold_order(joint);
}

static void gather_gather(struct hold *hold, struct process *process)
{
    struct segment *left[GATHER_EACH];
    struct group group;
    size_t count = find_small(process, left);
    while (count > 0) {
        count = gather_split(left, count, &group);
        join(hold, &group);
    }
    process->small = 0;
}

void gather_before(struct hold *hold, struct process *process, uint64_t mono)
{
    if (process->small > 0 && mono - process->small_since > GATHER_WITHIN)
        gather_gather(hold, process);
}

void gather_after(struct hold *hold, struct segment *segment)
{
    struct process *process = segment->process;
    if (segment->live == 0 || !is_small(segment))
        return;
    if (process->small++ == 0)
        process->small_since = segment->arrived;
    if (process->small == GATHER_EACH)
        gather_gather(hold, process);
}
