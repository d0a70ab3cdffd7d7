/* Passes batches to the next open processor or, at the end, to the queues. */
#include "pipeline/env.h"

#include "lib/base/clock.h"
#include "pipeline/addressees.h"
#include "pipeline/batch_pass.h"
#include "pipeline/graph/graph.h"

static size_t reserve_branches(const struct outlet *end, const struct batch *batch)
{
    size_t reserved = 0;
    while (reserved < end->branch_count &&
           sender_reserve(end->branches[reserved], sender_places(end->branches[reserved], batch)))
        reserved++;
    return reserved;
}

static void release_branches(const struct outlet *end, const struct batch *batch, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sender_release(end->branches[i], sender_places(end->branches[i], batch));
}

static void outlet_put(struct sender *branch, struct batch *batch)
{
    uint64_t key = sender_key(branch);
    if (addressees_has(batch->delivered_to, key))
        return;
    if (!(sender_takes(branch) & BATCH_BIT(batch->encoding))) {
        sender_pass(branch, batch);
        return;
    }
    struct batch *own = batch_for(batch, key);
    sender_put(branch, own);
    batch_unref(own);
}

static enum verdict fan_out(const struct outlet *end, struct batch *batch)
{
    if (batch->ids_only)
        return VERDICT_OK;
    size_t reserved = batch->admitted ? 0 : reserve_branches(end, batch);
    bool taken = batch->admitted || reserved == end->branch_count;
    for (size_t i = 0; taken && i < end->branch_count; i++)
        outlet_put(end->branches[i], batch);
    release_branches(end, batch, reserved);
    return taken ? VERDICT_OK : VERDICT_RETRY;
}

/* Time that this thread spent in stages after the current one, ns. */
static _Thread_local uint64_t downstream;

/* ---- steps that share a pass ---- */

struct chain {
    struct instance *processors[PASS_STEPS_MAX];
    struct meter *producers[PASS_STEPS_MAX]; /* of the outlets that lead to them */
    struct pass_step steps[PASS_STEPS_MAX];
    size_t count;
    struct outlet *next; /* behind the last one */
};

static bool make_step(const struct instance *processor, const struct batch *batch,
                      struct pass_step *step)
{
    const struct component *component = processor->component;
    *step = (struct pass_step){.self = processor->self};
    return batch->encoding == BATCH_OTLP && component->step &&
           component->step(processor->self, batch, step);
}

/* The processors from this outlet on whose steps join. None: its processor is no step. */
static void find_chain(struct outlet *outlet, const struct batch *batch, struct chain *chain)
{
    chain->count = 0;
    for (chain->next = outlet; outlet->processor; outlet = chain->next) {
        struct pass_step *step = &chain->steps[chain->count];
        if (outlet->processor->closed || !make_step(outlet->processor, batch, step) ||
            (chain->count && !pass_joins(chain->steps, chain->count, step)))
            return;
        chain->processors[chain->count] = outlet->processor;
        chain->producers[chain->count++] = outlet->producer;
        chain->next = outlet->next;
        if (chain->count == PASS_STEPS_MAX)
            return;
    }
}

/* As if each had handed the batch on to the next. */
static void count_between(const struct chain *chain, const struct batch *batch)
{
    uint32_t items = batch_counted(batch);
    for (size_t i = 1; i < chain->count; i++) {
        meter_add(chain->processors[i]->meter, METER_INCOMING, batch->signal, items);
        if (chain->producers[i])
            meter_add(chain->producers[i], METER_OUTGOING, batch->signal, items);
    }
}

static enum verdict run_chain(struct chain *chain, struct batch *batch)
{
    struct batch *result;
    struct pass_drops drops;
    enum pass_result done = batch_pass_run(batch, chain->steps, chain->count, &result, &drops);
    enum verdict verdict = done == PASS_NO_ROOM   ? VERDICT_RETRY
                           : done == PASS_ABORTED ? VERDICT_REJECT
                           : done == PASS_EMPTY   ? VERDICT_OK
                                                  : outlet_push(chain->next, result);
    batch_unref(result);
    if (verdict != VERDICT_OK)
        return verdict;
    count_between(chain, batch);
    pass_drops_tell(&drops, &chain->steps[chain->count - 1], batch);
    return verdict;
}

static enum verdict run(struct chain *chain, struct outlet *outlet, struct batch *batch)
{
    const struct instance *processor = outlet->processor;
    return chain->count > 1
               ? run_chain(chain, batch)
               : component_consume(processor->component, processor->self, batch, outlet->next);
}

/* The time of a shared pass, walk included, counts for each processor by its part of what was
 * sampled of their steps. */
static void share_duration(const struct chain *chain, enum signal signal, uint64_t taken)
{
    double sum = 0, count = (double)chain->count;
    for (size_t i = 0; i < chain->count; i++)
        sum += (double)chain->steps[i].sampled_ns;
    for (size_t i = 0; i < chain->count; i++) {
        double part = sum > 0 ? (double)chain->steps[i].sampled_ns / sum : 1 / count;
        histogram_add(&chain->processors[i]->durations[signal], &histogram_durations,
                      (uint64_t)((double)taken * part));
    }
}

static enum verdict timed(struct chain *chain, struct outlet *outlet, struct batch *batch)
{
    uint64_t before = downstream, began = clock_mono(&clock_system);
    downstream = 0;
    chain->steps->timed = true;
    enum verdict verdict = run(chain, outlet, batch);
    uint64_t taken = clock_mono(&clock_system) - began;
    if (chain->count > 1)
        share_duration(chain, batch->signal, taken - downstream);
    else
        histogram_add(&outlet->processor->durations[batch->signal], &histogram_durations,
                      taken - downstream);
    downstream = before + taken;
    return verdict;
}

/* Merged data were already accepted: the flat copy may exceed the budget. What is not taken comes
 * again, in parts perhaps, or is lost at the instance that holds it, so it is not counted. */
static enum verdict consume(struct outlet *outlet, struct batch *batch)
{
    struct instance *processor = outlet->processor;
    const struct component *component = processor->component;
    struct batch *flat = component->gathers ? batch_ref(batch) : batch_flat(batch);
    if (!flat)
        return VERDICT_RETRY;
    struct chain chain;
    find_chain(outlet, flat, &chain);
    enum verdict verdict =
        metric_wanted(METRIC_DETAILED) ? timed(&chain, outlet, flat) : run(&chain, outlet, flat);
    batch_unref(flat);
    if (verdict == VERDICT_OK)
        meter_add(processor->meter, METER_INCOMING, batch->signal, batch_counted(batch));
    return verdict;
}

struct part_pace *outlet_pace(struct outlet *outlet)
{
    return outlet->pace;
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
