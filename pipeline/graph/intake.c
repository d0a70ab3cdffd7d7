/* The intake (pipeline/intake.h), and its steps for journaling.c (intake_run.h). */
#include "pipeline/intake.h"

#include "lib/base/clock.h"
#include "lib/base/refusal.h"
#include "pipeline/answered.h"
#include "pipeline/graph/intake_run.h"
#include "pipeline/graph/journaling.h"
#include "pipeline/graph/overflow.h"

#include <stdlib.h>

struct waiter {
    struct intake *intake;
    intake_done_fn *done;
    void *ctx;
};

/* The places that a batch may take in a queue, where several pipelines may put it. */
static size_t places_in(const struct intake_queue *queue, const struct batch *batch)
{
    return queue->pipelines * sender_places(queue->sender, batch);
}

/* Releases the places in the first queues, and in that of one more sender (NULL: none). */
static void release(struct intake *intake, const struct batch *batch, size_t count,
                    const struct sender *more)
{
    for (size_t i = 0; i < intake->queue_count; i++)
        if (i < count || intake->queues[i].sender == more)
            sender_release(intake->queues[i].sender, places_in(&intake->queues[i], batch));
}

void intake_release(struct intake *intake, const struct batch *batch)
{
    release(intake, batch, intake->queue_count, NULL);
    budget_end_work(intake->budget, batch_work(batch));
}

static struct outcome outcome_no_exporter(const struct intake *intake, const struct batch *batch)
{
    char made[96], taken[96];
    batch_encoding_words(BATCH_BIT(batch->encoding), "", made, sizeof made);
    batch_encoding_words(intake->encodings, " and ", taken, sizeof taken);
    return outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED,
                      "no exporter takes %s; those configured take %s", made, taken);
}

/* Counts a request for which the budget has no room as refused by the memory limiters on its
 * way. */
static void count_no_memory(const struct intake *intake, const struct batch *batch)
{
    for (size_t i = 0; i < intake->head_count; i++)
        for (const struct outlet *at = intake->heads[i]; at; at = at->next)
            if (at->processor && at->processor->component->memory_limit)
                meter_add(at->processor->meter, METER_REFUSED, batch->signal, batch_counted(batch));
}

/* As if it had passed the memory limiters that come before all other processors. What the others
 * would have made of it is not known. */
void intake_count_full(struct intake *intake, struct sender *sender, const struct batch *batch)
{
    uint64_t items = batch_counted(batch);
    sender_count_full(sender, batch);
    for (size_t i = 0; i < intake->head_count; i++)
        for (const struct outlet *at = intake->heads[i];
             at && at->processor && at->processor->component->memory_limit; at = at->next) {
            meter_add(at->processor->meter, METER_INCOMING, batch->signal, items);
            meter_add(at->processor->meter, METER_OUTGOING, batch->signal, items);
        }
}

struct outcome intake_outcome_full(const struct sender *sender)
{
    return outcome_of(VERDICT_RETRY, CAUSE_FULL, "sending queue of %s is full", sender_id(sender));
}

static enum sender_turn claim_one(const struct intake_queue *queue, const struct batch *batch,
                                  struct intake_claim *claim)
{
    size_t places = places_in(queue, batch);
    bool reserved;
    if (queue->sender == claim->held)
        return SENDER_RESERVED;
    if (claim->waiter) {
        claim->waiter->places = places;
        return sender_wait(queue->sender, claim->waiter);
    }
    reserved = claim->first ? sender_reserve(queue->sender, places)
                            : sender_reserve_last(queue->sender, places);
    return reserved ? SENDER_RESERVED : SENDER_FULL;
}

/* The processors may copy what they edit, so memory for that is reserved with the request. */
static struct outcome claim_all(struct intake *intake, const struct batch *batch,
                                struct intake_claim *claim)
{
    size_t work = batch_work(batch), i = 0;
    enum sender_turn turn = SENDER_RESERVED;
    if (!budget_begin_work(intake->budget, work)) {
        release(intake, batch, 0, claim->held);
        if (!claim->kept)
            count_no_memory(intake, batch);
        return outcome_no_memory();
    }
    while (i < intake->queue_count && turn == SENDER_RESERVED) {
        turn = claim_one(&intake->queues[i], batch, claim);
        i += turn == SENDER_RESERVED;
    }
    if (turn == SENDER_RESERVED) {
        budget_pledge(intake->budget, work);
        return OUTCOME_OK;
    }
    release(intake, batch, i, claim->held);
    budget_end_work(intake->budget, work);
    claim->full = intake->queues[i].sender;
    claim->waits = turn == SENDER_WAITS;
    return intake_outcome_full(claim->full);
}

struct outcome intake_reserve(struct intake *intake, const struct batch *batch)
{
    struct intake_claim claim = {.first = true, .kept = true};
    return claim_all(intake, batch, &claim);
}

struct outcome intake_answer_of(const struct outcome *outcome)
{
    struct outcome answer = *outcome;
    if (outcome->verdict == VERDICT_REJECT && outcome->cause == CAUSE_UNAVAILABLE)
        answer.verdict = VERDICT_RETRY;
    return answer;
}

static enum verdict push_to(struct outlet *head, struct batch *batch, struct batch *taken_over)
{
    return outlet_push(head, head->taken_over ? taken_over : batch);
}

/* Gives a request that another pipeline has to this one. To refuse it would bring it to both again,
 * so what cannot pass is lost, and what has no room yet is kept. False: the log's record has no
 * room, or no memory. */
static bool push_too(struct outlet *head, struct batch *batch, struct batch *taken_over)
{
    struct batch *given =
        head->processor ? answered_batch(head->taken_over ? taken_over : batch) : NULL;
    if (!given)
        return push_to(head, batch, taken_over) == VERDICT_OK;
    const struct answered to = {.env = &head->processor->env, .outlet = head};
    struct batch *left = answered_push(&to, given);
    bool keeps = left && !left->lane;
    if (keeps)
        instance_keep(head->processor, head->next, left);
    else
        batch_unref(left);
    return !left || keeps;
}

/* As intake_run; a pipeline whose processor takes the data over gets the batch taken_over. */
static struct outcome run_each(struct intake *intake, struct batch *batch, struct batch *taken_over)
{
    char reason[REFUSAL_MAX];
    enum cause cause;
    enum verdict verdict = VERDICT_REJECT;
    struct outcome outcome = OUTCOME_OK;
    size_t first = 0; /* that takes it */
    (void)refusal_take(reason, &cause);
    for (; first < intake->head_count; first++) {
        verdict = push_to(intake->heads[first], batch, taken_over);
        if (verdict == VERDICT_RETRY)
            return outcome_no_memory();
        if (verdict == VERDICT_OK)
            break;
        struct outcome why = refusal_outcome(verdict);
        outcome = first ? outcome : why;
        if (batch->lane) /* the log's record is refused as a whole */
            return why;
    }
    if (first == intake->head_count)
        return outcome;
    bool all = true;
    for (size_t i = 0; i < intake->head_count; i++)
        if (i != first)
            all = push_too(intake->heads[i], batch, taken_over) && all;
    return all ? OUTCOME_OK : outcome_no_memory();
}

struct outcome intake_run(struct intake *intake, struct batch *batch)
{
    return run_each(intake, batch, batch);
}

static void intake_answer(void *ctx, const struct outcome *worst)
{
    struct waiter *waiter = ctx;
    struct intake *intake = waiter->intake;
    waiter->done(waiter->ctx, worst);
    free(waiter);
    atomic_fetch_sub(&intake->pending, 1);
}

/* Returns what pipelines get whose processors take the data over: without the waiting client's
 * receipt, but with that of the journal. NULL: no memory. */
static struct batch *not_awaited(const struct intake *intake, struct batch *batch,
                                 struct receipt *held)
{
    bool some = false;
    for (size_t i = 0; i < intake->head_count; i++)
        some |= intake->heads[i]->taken_over;
    if (!some)
        return batch_ref(batch);
    struct batch *copy = batch_with_payload(batch, buffer_ref(batch->payload), batch->items);
    if (!copy || !held || batch_add_receipt(copy, held))
        return copy;
    batch_unref(copy);
    return NULL;
}

bool intake_run_waiting(struct intake *intake, struct batch *batch, struct receipt *held,
                        intake_done_fn *done, void *ctx)
{
    struct waiter *waiter = malloc(sizeof *waiter);
    struct receipt *receipt = waiter ? receipt_new(intake_answer, waiter) : NULL;
    struct batch *taken_over = receipt ? not_awaited(intake, batch, held) : NULL;
    if (!taken_over || !batch_add_receipt(batch, receipt)) {
        batch_unref(taken_over);
        receipt_unref(held);
        free(receipt);
        free(waiter);
        return false;
    }
    receipt_set_awaited(receipt, held);
    *waiter = (struct waiter){intake, done, ctx};
    atomic_fetch_add(&intake->pending, 1);
    struct outcome outcome = run_each(intake, batch, taken_over);
    batch_unref(taken_over);
    outcome = intake_answer_of(&outcome);
    receipt_note(receipt, &outcome);
    receipt_unref(receipt);
    return true;
}

struct outcome intake_no_pipeline(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "no pipeline uses this receiver any more");
}

/* A batch from a log, which would come again for ever, may be larger than the queue. */
struct outcome intake_begin(struct intake *intake, const struct batch *batch,
                            struct intake_claim *claim)
{
    if (!(intake->encodings & BATCH_BIT(batch->encoding)))
        return outcome_no_exporter(intake, batch);
    for (size_t i = 0; i < intake->queue_count && !batch->lane; i++) {
        struct sender *sender = intake->queues[i].sender;
        if (sender_may_hold(sender, places_in(&intake->queues[i], batch)))
            continue;
        intake_count_full(intake, sender, batch);
        return outcome_of(VERDICT_RETRY, CAUSE_FULL,
                          "sending queue of %s is smaller than the request", sender_id(sender));
    }
    return claim_all(intake, batch, claim);
}

void intake_go_on(struct intake *intake, struct batch *batch, intake_done_fn *done, void *ctx)
{
    struct outcome outcome;
    batch->admitted = true;
    if (!batch->recorded)
        batch->recorded = clock_wall(&clock_system);
    bool kept = intake->journal && !batch->lane; /* a log keeps it already */
    if (kept && (!intake->waits || intake->holds)) {
        journaling_accept(intake, batch, done, ctx);
        return;
    }
    bool answered = false;
    if (intake->waits) {
        answered = intake_run_waiting(intake, batch, NULL, done, ctx);
        outcome = outcome_no_memory();
    } else {
        outcome = intake_run(intake, batch);
        outcome = intake_answer_of(&outcome);
    }
    intake_release(intake, batch);
    gate_leave(intake->gate);
    if (!answered)
        done(ctx, &outcome);
}

void intake_accept(struct intake *intake, struct batch *batch, intake_done_fn *done, void *ctx)
{
    struct gate *gate = intake->gate;
    struct intake_claim claim = {.first = batch->lane, .kept = batch->lane};
    bool inside = gate_enter(gate, &intake->mode);
    struct outcome outcome = inside ? intake_begin(intake, batch, &claim) : intake_no_pipeline();
    if (outcome.verdict == VERDICT_OK) {
        intake_go_on(intake, batch, done, ctx);
        return;
    }
    if (claim.full && overflow_begin(intake, batch, claim.full, done, ctx))
        return;
    if (claim.full && !claim.kept)
        intake_count_full(intake, claim.full, batch);
    if (inside)
        gate_leave(gate);
    done(ctx, &outcome);
}
