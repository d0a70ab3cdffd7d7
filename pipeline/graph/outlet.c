/* The way ahead: the next processor that is open, and at the end the queues. */
#include "pipeline/graph/graph.h"

static size_t reserve_branches(const struct outlet *end)
{
    size_t reserved = 0;
    while (reserved < end->branch_count && sender_reserve(end->branches[reserved], 1))
        reserved++;
    return reserved;
}

static void release_branches(const struct outlet *end, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sender_release(end->branches[i], 1);
}

static void put(struct sender *branch, struct batch *batch)
{
    if (sender_takes(branch) & BATCH_BIT(batch->encoding))
        sender_put(branch, batch);
    else
        sender_pass(branch, batch);
}

static enum verdict fan_out(const struct outlet *end, struct batch *batch)
{
    size_t reserved = batch->admitted ? 0 : reserve_branches(end);
    bool taken = batch->admitted || reserved == end->branch_count;
    for (size_t i = 0; taken && i < end->branch_count; i++)
        put(end->branches[i], batch);
    release_branches(end, reserved);
    return taken ? VERDICT_OK : VERDICT_RETRY;
}

/* What was merged was accepted: the copy may go past the budget. */
static enum verdict consume(struct outlet *outlet, struct batch *batch)
{
    const struct instance *processor = outlet->processor;
    const struct component *component = processor->component;
    struct batch *flat = component->gathers ? batch_ref(batch) : batch_flat(batch);
    if (!flat)
        return VERDICT_RETRY;
    enum verdict verdict = component->consume(processor->self, flat, outlet->next);
    batch_unref(flat);
    return verdict;
}

enum verdict outlet_push(struct outlet *outlet, struct batch *batch)
{
    /* Where two pipelines order their processors differently, one may be closed already. */
    while (outlet->processor && outlet->processor->closed)
        outlet = outlet->next;
    if (!outlet->processor)
        return fan_out(outlet, batch);
    return consume(outlet, batch);
}
