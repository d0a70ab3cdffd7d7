#include "pipeline/delivery/dispatch.h"

#include "pipeline/batch_parts.h"
#include "pipeline/batch_veto.h"
#include "pipeline/delivery/retry.h"
#include "pipeline/otlp_form.h"

#include <stdlib.h>
#include <string.h>

/* Each halving causes two more sends. A delivered part restores REGAINED halvings. */
enum { MAX_HALVINGS = 31, REGAINED = 2 };

/* Resets the attempts for a part that is new at the front. */
static void begin_tries(struct queue_element *element)
{
    element->attempt = 0;
    memset(element->limited, 0, sizeof element->limited);
}

static void begin_part(struct queue_element *element)
{
    begin_tries(element);
    element->progress = (struct progress){0};
}

static void next_part(struct queue_element *element)
{
    struct batch_part *part = element->rest;
    element->batch = part ? part->batch : NULL;
    element->rest = part ? part->next : NULL;
    begin_part(element);
    free(part);
}

static void dispatch_note(const struct batch *batch, const struct outcome *outcome)
{
    for (size_t i = 0; i < batch->receipt_count; i++)
        receipt_note_of(batch->receipts[i], outcome, batch->exporter);
}

/* Whether it is in the journal, so that a stop leaves it to the next process. */
static bool is_durable(const struct batch *batch)
{
    bool durable = batch->receipt_count > 0;
    for (size_t i = 0; i < batch->receipt_count; i++)
        durable &= receipt_is_durable(batch->receipts[i]);
    return durable;
}

/* Whether a client waits for the outcome: nothing of it was acknowledged. */
static bool is_awaited(const struct dispatcher *dispatcher, const struct batch *batch)
{
    bool awaited = false, durable = false;
    for (size_t i = 0; dispatcher->waits && i < batch->receipt_count; i++) {
        awaited |= receipt_is_awaited(batch->receipts[i]);
        durable |= receipt_is_durable(batch->receipts[i]);
    }
    return awaited && !durable;
}

static void dispatch_lose(struct dispatcher *dispatcher, const struct batch *batch, uint32_t items,
                          const struct outcome *why)
{
    meter_add(dispatcher->meter, METER_LOST, batch->signal, 1);
    meter_drop(dispatcher->meter, why->cause, batch->signal, items);
    if (items == batch->items)
        meter_drop(dispatcher->meter, why->cause, COUNTED_SAMPLES, batch->samples);
    loss_log_add(&dispatcher->losses, batch->signal, items, why);
}

/* Counts items that a backend refused, of which a waiting client is told. */
static void dispatch_pass_on(struct dispatcher *dispatcher, enum signal signal, uint32_t items,
                             uint64_t samples, enum cause cause)
{
    meter_pass_refusal(dispatcher->meter, cause, signal, items);
    meter_pass_refusal(dispatcher->meter, cause, COUNTED_SAMPLES, samples);
}

/* Notes a refusal; a waiting client is answered once all parts have been tried. */
static void dispatch_refuse(struct queue_element *element, const struct outcome *why)
{
    batch_unref(element->last_refused);
    element->last_refused = element->batch;
    element->refused += element->batch->items;
    element->refused_samples += element->batch->samples;
    if (element->worst.verdict != VERDICT_RETRY)
        element->worst = *why;
}

static void drop_current(struct dispatcher *dispatcher, struct queue_element *element,
                         const struct outcome *why)
{
    struct batch *batch = element->batch;
    if (is_awaited(dispatcher, batch)) {
        loss_log_refused(&dispatcher->losses, why);
        dispatch_refuse(element, why);
    } else {
        bool kept = why->cause == CAUSE_SHUTDOWN || why->cause == CAUSE_REVOKED;
        if (!kept || !is_durable(batch))
            dispatch_lose(dispatcher, batch, batch->items, why);
        dispatch_note(batch, why);
        batch_unref(batch);
    }
    next_part(element);
}

static void answer_waiting(struct dispatcher *dispatcher, struct queue_element *element)
{
    struct batch *batch = element->last_refused;
    struct outcome outcome = element->worst;
    if (!batch)
        return;
    if (element->delivered_any && outcome.verdict == VERDICT_REJECT) {
        /* If the whole request were refused, the client would assume the delivered parts were lost
         * too. */
        outcome.verdict = VERDICT_OK;
        outcome.rejected = element->refused;
    }
    dispatch_pass_on(dispatcher, batch->signal, element->refused, element->refused_samples,
                     outcome.cause);
    dispatch_note(batch, &outcome);
    element->last_refused = NULL;
    batch_unref(batch);
}

struct outcome dispatch_ended(const struct dispatcher *dispatcher)
{
    return outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "%s",
                      dispatcher->removed ? "the exporter was removed by a reload"
                                          : "shutting down");
}

void dispatch_give_up(struct dispatcher *dispatcher, struct queue_element *element,
                      const struct outcome *why)
{
    while (element->batch)
        drop_current(dispatcher, element, why);
    answer_waiting(dispatcher, element);
}

/* Puts parts in the place of the current one, in front of what follows it. */
static void replace_current(struct queue_element *element, struct batch_part *parts)
{
    struct batch_part *last = parts;
    while (last->next)
        last = last->next;
    last->next = element->rest;
    element->rest = parts;
    batch_unref(element->batch);
    next_part(element);
}

/* Cuts the current part. False: it is one piece, or no memory; nothing changed. */
static bool dispatch_split(struct queue_element *element, uint32_t max_items, size_t max_bytes)
{
    /* If each part repeats much, not all are made at once. */
    size_t enough = max_items ? 1 : element->batch->payload->size;
    struct batch_part *parts = batch_cut(element->batch, max_items, max_bytes, enough);
    if (parts)
        replace_current(element, parts);
    return parts;
}

static bool halve(struct queue_element *element)
{
    uint32_t items = element->batch->items;
    return items > 1 && dispatch_split(element, (items + 1) / 2, 0);
}

static void delivered(struct dispatcher *dispatcher, struct queue_element *element,
                      const struct outcome *outcome)
{
    struct batch *batch = element->batch;
    uint32_t rejected = outcome->rejected < batch->items ? outcome->rejected : batch->items;
    meter_add(dispatcher->meter, METER_SENT, batch->signal, batch->items - rejected);
    if (batch->samples && !rejected)
        meter_add(dispatcher->meter, METER_SENT, COUNTED_SAMPLES, batch->samples);
    element->delivered_any = true;
    element->halvings -= element->halvings < REGAINED ? element->halvings : REGAINED;
    if (rejected) {
        struct outcome partial = *outcome;
        partial.cause = CAUSE_INVALID;
        partial.rejected = rejected;
        if (is_awaited(dispatcher, batch))
            dispatch_pass_on(dispatcher, batch->signal, rejected,
                             rejected == batch->items ? batch->samples : 0, partial.cause);
        else
            dispatch_lose(dispatcher, batch, rejected, &partial);
        loss_log_partial(&dispatcher->losses, &partial, batch->items);
        dispatch_note(batch, &partial);
    } else {
        loss_log_success(&dispatcher->losses);
    }
    batch_unref(batch);
    next_part(element);
}

static void rejected(struct dispatcher *dispatcher, struct queue_element *element,
                     const struct outcome *outcome)
{
    bool smaller = false;
    if (outcome->cause == CAUSE_TOO_LARGE)
        smaller = halve(element);
    if ((outcome->cause == CAUSE_INVALID || outcome->part_may_pass) &&
        element->halvings < MAX_HALVINGS) {
        smaller = halve(element);
        element->halvings++;
    }
    if (!smaller)
        drop_current(dispatcher, element, outcome);
}

static double draw(struct dispatcher *dispatcher)
{
    uint64_t x = atomic_fetch_add(&dispatcher->random, UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

/* Whether answers of this cause have come as often as they allow; those of other causes do not
 * count. */
static bool is_exhausted(struct queue_element *element, const struct outcome *outcome)
{
    return outcome->max_tries && ++element->limited[outcome->cause] >= outcome->max_tries;
}

/* Decides what follows when a part was answered RETRY. */
static bool waits_for_retry(struct dispatcher *dispatcher, struct queue_element *element,
                            const struct outcome *outcome, uint64_t *due)
{
    const struct retry_settings *settings = &dispatcher->settings.retry;
    struct retry_settings within = *settings;
    uint64_t now = clock_mono(dispatcher->clock);
    double random = draw(dispatcher);
    if (outcome->retry_within_ns && outcome->retry_within_ns < within.max_interval)
        within.max_interval = outcome->retry_within_ns;
    uint64_t own = retry_wait(&within, element->attempt, random, 0);
    uint64_t wait = retry_wait(&within, element->attempt, random, outcome->retry_after_ns);
    element->attempt++;
    bool stopping = dispatcher->stopping;
    if (is_exhausted(element, outcome) || dispatcher->aborted ||
        (stopping && is_awaited(dispatcher, element->batch)) || !settings->enabled)
        return false;
    if (!stopping && !retry_allowed(settings, now - element->first_try, wait))
        return false;
    if (stopping && !dispatcher->lingers && wait > DISPATCH_STOPPING_WAIT_NS)
        wait = DISPATCH_STOPPING_WAIT_NS;
    meter_add(dispatcher->meter, METER_RETRIES, element->batch->signal, 1);
    loss_log_retry(&dispatcher->losses, outcome, wait);
    element->own_due = now + own;
    element->probe_due = wait > settings->max_interval ? now + settings->max_interval : 0;
    *due = now + wait;
    return true;
}

/* Cuts a batch larger than max_request_bytes. Each part of a profiles request repeats the
 * dictionary, so profiles are halved, each half keeping only what it needs. False: it is one
 * piece. */
static bool shrink(struct queue_element *element, size_t most)
{
    struct batch *batch = element->batch;
    if (batch->signal != SIGNAL_PROFILES)
        return dispatch_split(element, 0, most);
    struct batch *replacement = otlp_pruned(batch);
    if (replacement) {
        element->batch = replacement;
        batch_unref(batch);
    }
    return element->batch->payload->size <= most || halve(element);
}

static bool dispatch_fits(struct dispatcher *dispatcher, struct queue_element *element)
{
    size_t most = (size_t)dispatcher->settings.max_request_bytes;
    if (most == 0 || element->batch->encoding != BATCH_OTLP ||
        element->batch->payload->size <= most)
        return true;
    if (!shrink(element, most)) {
        struct outcome outcome = outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                                            "a single item exceeds max_request_bytes (%zu)", most);
        drop_current(dispatcher, element, &outcome);
    }
    return false;
}

/* Replaces a pprof by parts, when all of it makes a request of `made` bytes and only `most` may be
 * sent. False: it cannot be cut; nothing changed. */
static bool split_pprof(struct queue_element *element, size_t made, size_t most)
{
    double share = 0.8 * (double)most / (double)made;
    size_t size = (size_t)((double)element->batch->payload->size * share);
    struct batch_part *parts = pprof_parts(element->batch, 0, size ? size : 1);
    if (parts)
        replace_current(element, parts);
    return parts;
}

/* Converts the current part to an encoding that the exporter accepts. */
static struct outcome convert(struct dispatcher *dispatcher, struct queue_element *element)
{
    size_t most = (size_t)dispatcher->settings.max_request_bytes;
    bool takes_pprof = dispatcher->component->encodings & BATCH_BIT(BATCH_PPROF);
    struct outcome why = OUTCOME_OK;
    while (!takes_pprof && element->batch->encoding == BATCH_PPROF) {
        struct batch *replacement = otlp_form(element->batch, &why);
        if (!replacement)
            break;
        size_t made = replacement->payload->size;
        if (most && made > most && split_pprof(element, made, most)) {
            batch_unref(replacement);
            continue;
        }
        batch_unref(element->batch);
        element->batch = replacement;
    }
    return why;
}

/* The memory is already charged: the sender reserved it for this attempt. */
static struct outcome in_one_run(struct dispatcher *dispatcher, struct queue_element *element)
{
    struct batch *replacement = element->batch;
    if (dispatcher->component->gathers || !replacement->payload->parts)
        return OUTCOME_OK;
    replacement = batch_flat(replacement);
    if (!replacement)
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    batch_unref(element->batch);
    element->batch = replacement;
    return OUTCOME_OK;
}

static bool same_mark(const struct progress_mark *a, const struct progress_mark *b)
{
    return a->items == b->items && a->samples == b->samples && a->beyond == b->beyond;
}

static void note_stall(void *ctx, const struct batch *batch, const struct outcome *why)
{
    struct dispatcher *dispatcher = ctx;
    meter_add(dispatcher->meter, METER_RETRIES, batch->signal, 1);
    loss_log_refused(&dispatcher->losses, why);
}

static void begin_try(struct dispatcher *dispatcher, struct queue_element *element)
{
    struct progress *progress = &element->progress;
    progress->batch = element->batch;
    progress->exporter = dispatcher->losses.id;
    progress->crowded = dispatcher->crowded;
    progress->ctx = dispatcher->ctx;
    progress->stalls = note_stall;
    progress->stall_ctx = dispatcher;
    progress->yielded = false;
}

/* An attempt that delivered some of a batch sent in parts counts as a success: the rest has all its
 * attempts left. */
static void end_try(struct dispatcher *dispatcher, struct queue_element *element,
                    const struct progress_mark *before)
{
    element->delivered_any |= element->progress.delivered;
    if (same_mark(before, &element->progress.mark))
        return;
    begin_tries(element);
    element->first_try = clock_mono(dispatcher->clock);
    loss_log_progress(&dispatcher->losses);
}

static struct outcome try_once(struct dispatcher *dispatcher, struct queue_element *element)
{
    const struct component *component = dispatcher->component;
    struct progress_mark before = element->progress.mark;
    if (!component->send_on)
        return component->send(dispatcher->self, element->batch);
    begin_try(dispatcher, element);
    struct outcome outcome =
        component->send_on(dispatcher->self, element->batch, &element->progress);
    end_try(dispatcher, element, &before);
    return outcome;
}

static struct outcome timed_try(struct dispatcher *dispatcher, struct queue_element *element)
{
    uint64_t began = clock_mono(dispatcher->clock);
    loss_log_begin(&dispatcher->losses);
    struct outcome outcome = try_once(dispatcher, element);
    loss_log_end(&dispatcher->losses);
    uint64_t took = clock_mono(dispatcher->clock) - began;
    outcome.took_ns = took;
    bool slow =
        took >= LOSS_LOG_SLOW_NS && dispatcher->crowded && dispatcher->crowded(dispatcher->ctx);
    if (outcome.verdict == VERDICT_OK)
        loss_log_took(&dispatcher->losses, slow ? took : 0);
    return outcome;
}

/* Brings the current part into the form in which it is sent; *outcome: whether it has one. False:
 * it was dropped or replaced. */
static bool prepare(struct dispatcher *dispatcher, struct queue_element *element,
                    struct outcome *outcome)
{
    if (batch_is_elsewhere(element->batch)) {
        const struct outcome revoked =
            outcome_of(VERDICT_RETRY, CAUSE_REVOKED, "another process delivers it");
        drop_current(dispatcher, element, &revoked);
        return false;
    }
    *outcome = convert(dispatcher, element);
    if (outcome->verdict == VERDICT_OK && !dispatch_fits(dispatcher, element))
        return false;
    if (outcome->verdict == VERDICT_OK)
        *outcome = in_one_run(dispatcher, element);
    if (element->attempt == 0)
        element->first_try = clock_mono(dispatcher->clock);
    return true;
}

/* answer: of an attempt with the current part that was already made; NULL: none was. */
static enum dispatch_result run(struct dispatcher *dispatcher, struct queue_element *element,
                                const struct outcome *answer, uint64_t *due)
{
    while (element->batch && (answer || !dispatcher->aborted)) {
        struct outcome outcome;
        if (answer)
            outcome = *answer;
        else if (!prepare(dispatcher, element, &outcome))
            continue;
        else if (outcome.verdict == VERDICT_OK)
            outcome = timed_try(dispatcher, element);
        answer = NULL;
        if (element->progress.yielded)
            return DISPATCH_YIELD;
        if (outcome.verdict == VERDICT_OK)
            delivered(dispatcher, element, &outcome);
        else if (outcome.cause == CAUSE_REVOKED)
            continue; /* withheld by batch_veto: prepare() drops it */
        else if (outcome.verdict == VERDICT_REJECT)
            rejected(dispatcher, element, &outcome);
        else if (waits_for_retry(dispatcher, element, &outcome, due))
            return DISPATCH_WAIT;
        else if (dispatcher->stopping && (dispatcher->removed || is_durable(element->batch)))
            break;
        else
            dispatch_give_up(dispatcher, element, &outcome);
    }
    struct outcome stopped = dispatch_ended(dispatcher);
    dispatch_give_up(dispatcher, element, &stopped);
    return DISPATCH_DONE;
}

enum dispatch_result dispatch_run(struct dispatcher *dispatcher, struct queue_element *element,
                                  uint64_t *due)
{
    return run(dispatcher, element, NULL, due);
}

/* Whether the current part can be sent now; if not, run() finds out why again. */
static bool is_ready(struct dispatcher *dispatcher, struct queue_element *element)
{
    struct outcome outcome = OUTCOME_OK;
    while (element->batch && !dispatcher->aborted)
        if (prepare(dispatcher, element, &outcome))
            return outcome.verdict == VERDICT_OK;
    return false;
}

void dispatch_run_together(struct dispatcher *dispatcher, struct queue_element *const *elements,
                           size_t count, struct dispatch_end *ends)
{
    struct joint_send sends[DISPATCH_TOGETHER];
    struct progress_mark before[DISPATCH_TOGETHER];
    size_t of[DISPATCH_TOGETHER], ready = 0;
    if (count == 1) {
        ends->result = dispatch_run(dispatcher, *elements, &ends->due);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct queue_element *element = elements[i];
        of[i] = SIZE_MAX;
        if (!is_ready(dispatcher, element))
            continue;
        begin_try(dispatcher, element);
        before[ready] = element->progress.mark;
        sends[ready] = (struct joint_send){.batch = element->batch, .progress = &element->progress};
        of[i] = ready++;
    }
    loss_log_begin(&dispatcher->losses);
    if (ready > 0)
        dispatcher->component->send_together(dispatcher->self, sends, ready);
    loss_log_end(&dispatcher->losses);
    for (size_t i = 0; i < count; i++)
        if (of[i] != SIZE_MAX)
            end_try(dispatcher, elements[i], &before[of[i]]);
    /* What is finished does not wait for what is left of the others. */
    for (int left = 0; left < 2; left++)
        for (size_t i = 0; i < count; i++) {
            const struct joint_send *send = of[i] == SIZE_MAX ? NULL : &sends[of[i]];
            bool finished = send && send->finished;
            if (finished == !left)
                ends[i].result =
                    run(dispatcher, elements[i], finished ? &send->outcome : NULL, &ends[i].due);
        }
}
