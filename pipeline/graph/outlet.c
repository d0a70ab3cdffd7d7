/* Passes batches to the next open processor or, at the end, to the queues. */
#include "pipeline/env.h"

#include "lib/base/clock.h"
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

static void outlet_put(struct sender *branch, struct batch *batch)
{
    if (sender_takes(branch) & BATCH_BIT(batch->encoding))
        sender_put(branch, batch);
    else
        sender_pass(branch, batch);
}

static enum verdict fan_out(const struct outlet *end, struct batch *batch)
{
    if (batch->ids_only)
        return VERDICT_OK;
    size_t reserved = batch->admitted ? 0 : reserve_branches(end);
    bool taken = batch->admitted || reserved == end->branch_count;
    for (size_t i = 0; taken && i < end->branch_count; i++)
        outlet_put(end->branches[i], batch);
    release_branches(end, reserved);
    return taken ? VERDICT_OK : VERDICT_RETRY;
}

/* Time that this thread spent in stages after the current one, ns. */
static _Thread_local uint64_t downstream;

static enum verdict timed(struct instance *processor, struct batch *batch, struct outlet *next)
{
    uint64_t before = downstream, began = clock_mono(&clock_system);
    downstream = 0;
    enum verdict verdict = processor->component->consume(processor->self, batch, next);
    uint64_t taken = clock_mono(&clock_system) - began;
    histogram_add(&processor->durations[batch->signal], &histogram_durations, taken - downstream);
    downstream = before + taken;
    return verdict;
}

/* Merged data were already accepted: the flat copy may exceed the budget. */
static enum verdict consume(struct outlet *outlet, struct batch *batch)
{
    struct instance *processor = outlet->processor;
    const struct component *component = processor->component;
    struct batch *flat = component->gathers ? batch_ref(batch) : batch_flat(batch);
    if (!flat)
        return VERDICT_RETRY;
    meter_add(processor->meter, METER_INCOMING, batch->signal, batch_counted(batch));
    enum verdict verdict = metric_wanted(METRIC_DETAILED)
                               ? timed(processor, flat, outlet->next)
                               : component->consume(processor->self, flat, outlet->next);
    batch_unref(flat);
    return verdict;
}

enum verdict outlet_push(struct outlet *outlet, struct batch *batch)
{
    /* If two pipelines order their processors differently, the next may already be closed. */
    struct meter *producer = outlet->producer;
    while (outlet->processor && outlet->processor->closed)
        outlet = outlet->next;
    enum verdict verdict = outlet->processor ? consume(outlet, batch) : fan_out(outlet, batch);
    if (producer && verdict == VERDICT_OK)
        meter_add(producer, METER_OUTGOING, batch->signal, batch_counted(batch));
    return verdict;
}
