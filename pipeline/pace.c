#include "pipeline/pace.h"

#include "lib/base/budget.h"
#include "lib/base/clock.h"

#include <stdlib.h>

#define PATIENCE (5 * NS_PER_S)

/* So long after memory lacked, batches pass whole again. */
#define CALM (10 * NS_PER_S)

/* Until what is left of a batch is offered again: of one that queues or memory have no room for,
 * and while parts are under way. */
#define AGAIN_NS (200 * NS_PER_MS)
#define SOON_NS  (10 * NS_PER_MS)

/* Of the limit, such a part is what several items that are forced may take past it. */
enum { FORCED_MOST = 1 << 10, FORCED_SHARE = 40 };

struct part_pace {
    _Atomic unsigned refs, under_way;
    _Atomic uint32_t size, forced_items;
    _Atomic bool forced;    /* such a part is under way */
    _Atomic size_t starved; /* bytes of the smallest part that was since one settled; 0: none */
    _Atomic bool cut;
    _Atomic uint64_t starved_at, passed_at;
};

struct part_pace *pace_new(void)
{
    struct part_pace *pace = calloc(1, sizeof *pace);
    if (pace) {
        pace->refs = 1;
        pace->forced_items = 1;
    }
    return pace;
}

void pace_unref(struct part_pace *pace)
{
    if (pace && atomic_fetch_sub(&pace->refs, 1) == 1)
        free(pace);
}

uint32_t pace_size(const struct part_pace *pace)
{
    return pace->size;
}

void pace_passed(struct part_pace *pace, uint32_t items, uint64_t mono_ns)
{
    pace->passed_at = mono_ns;
    if (mono_ns > pace->starved_at + CALM)
        pace->size = 0;
    else if (pace->size && pace->size < 2 * items)
        pace->size = 2 * items;
}

void pace_starved(struct part_pace *pace, const struct batch *part, uint32_t next, uint64_t mono_ns)
{
    size_t bytes = part->payload->size;
    pace->starved_at = mono_ns;
    if (next)
        pace->size = next;
    else if (!pace->starved || pace->starved > bytes)
        pace->starved = bytes;
}

bool pace_may_wait(const struct part_pace *pace, uint64_t mono_ns)
{
    return pace->under_way && mono_ns < pace->passed_at + PATIENCE;
}

bool pace_waits(const struct part_pace *pace, const struct batch *batch, uint64_t mono_ns)
{
    size_t starved = pace->starved;
    return starved && batch->payload->size >= starved && pace_may_wait(pace, mono_ns);
}

void pace_cut(struct part_pace *pace, uint32_t items, uint64_t mono_ns)
{
    pace->cut = true;
    if (items) {
        pace->starved_at = mono_ns;
        pace->size = items;
    }
}

uint64_t pace_again(struct part_pace *pace, uint64_t mono_ns)
{
    if (pace && atomic_exchange(&pace->cut, false))
        return mono_ns;
    return mono_ns + (pace && pace->starved && pace_may_wait(pace, mono_ns) ? SOON_NS : AGAIN_NS);
}

static void settled(void *ctx, const struct outcome *worst)
{
    struct part_pace *pace = ctx;
    (void)worst;
    atomic_store(&pace->starved, 0);
    atomic_fetch_sub(&pace->under_way, 1);
    pace_unref(pace);
}

static void forced_settled(void *ctx, const struct outcome *worst)
{
    struct part_pace *pace = ctx;
    atomic_store(&pace->forced, false);
    settled(pace, worst);
}

/* Whatever becomes of the copy, `settle` is called. */
static struct batch *with_receipt(struct part_pace *pace, const struct batch *part,
                                  receipt_settled_fn *settle)
{
    atomic_fetch_add(&pace->refs, 1);
    atomic_fetch_add(&pace->under_way, 1);
    struct receipt *receipt = receipt_new(settle, pace);
    if (!receipt) {
        settle(pace, &OUTCOME_OK);
        return NULL;
    }
    if (part->receipt_count)
        receipt_set_neutral(receipt);
    struct batch *copy = batch_with_payload(part, buffer_ref(part->payload), part->items);
    if (copy && !batch_add_receipt(copy, receipt)) {
        batch_unref(copy);
        copy = NULL;
    }
    receipt_unref(receipt);
    return copy;
}

struct batch *pace_track(struct part_pace *pace, const struct batch *part)
{
    return with_receipt(pace, part, settled);
}

struct batch *pace_force(struct part_pace *pace, const struct batch *part)
{
    if (atomic_exchange(&pace->forced, true))
        return NULL;
    struct batch *copy = with_receipt(pace, part, forced_settled);
    if (copy)
        copy->forced = true;
    return copy;
}

uint32_t pace_forced_items(const struct part_pace *pace)
{
    return pace->forced_items;
}

void pace_forced(struct part_pace *pace, const struct batch *part, size_t bytes, uint64_t mono_ns)
{
    const struct budget *budget = part->payload->budget;
    size_t most = budget ? budget->limit / FORCED_SHARE : SIZE_MAX;
    pace_starved(pace, part, 0, mono_ns);
    pace->passed_at = mono_ns;
    pace->forced_items = bytes > most / 2            ? 1
                         : part->items < FORCED_MOST ? 2 * part->items
                                                     : part->items;
}
