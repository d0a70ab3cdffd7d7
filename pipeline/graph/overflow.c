#include "pipeline/graph/overflow.h"

#include "pipeline/graph/intake_run.h"

#include <stdlib.h>

struct overflow {
    struct sender_waiter waiter; /* first: has its address */
    struct intake *intake;
    struct batch *batch;
    intake_done_fn *done;
    void *ctx;
};

/* Ends the wait, inside the gate, which is left. why NULL: the request goes on. */
static void overflow_end(struct overflow *overflow, const struct outcome *why)
{
    struct overflow ended = *overflow;
    struct intake *intake = ended.intake;
    budget_give(intake->budget, sizeof *overflow);
    free(overflow);
    if (why) {
        gate_leave(intake->gate);
        ended.done(ended.ctx, why);
    } else {
        intake_go_on(intake, ended.batch, ended.done, ended.ctx);
    }
    batch_unref(ended.batch);
    atomic_fetch_sub(&intake->pending, 1);
}

/* Inside the gate, which is left. held: the sender that has reserved its places; NULL: none. Once
 * the request waits, another thread may end it. */
static void overflow_offer(struct overflow *overflow, const struct sender *held)
{
    struct intake *intake = overflow->intake;
    struct intake_claim claim = {.waiter = &overflow->waiter, .held = held};
    struct batch *batch = batch_ref(overflow->batch);
    atomic_fetch_add(&intake->pending, 1);
    struct outcome outcome = intake_begin(intake, batch, &claim);
    if (claim.full && !claim.waits)
        intake_count_full(intake, claim.full, batch);
    if (claim.waits)
        gate_leave(intake->gate);
    else
        overflow_end(overflow, outcome.verdict == VERDICT_OK ? NULL : &outcome);
    batch_unref(batch);
    atomic_fetch_sub(&intake->pending, 1);
}

bool overflow_begin(struct intake *intake, struct batch *batch, const struct sender *full,
                    intake_done_fn *done, void *ctx)
{
    struct overflow *overflow = NULL;
    if (batch->lane || !sender_blocks(full) || !budget_take(intake->budget, sizeof *overflow))
        return false;
    overflow = malloc(sizeof *overflow);
    if (!overflow) {
        budget_give(intake->budget, sizeof *overflow);
        return false;
    }
    *overflow =
        (struct overflow){.intake = intake, .batch = batch_ref(batch), .done = done, .ctx = ctx};
    atomic_fetch_add(&intake->pending, 1);
    overflow_offer(overflow, NULL);
    return true;
}

/* Answers a request that has waited with this sender. */
static void overflow_refuse(struct overflow *overflow, struct sender *sender, enum sender_turn turn)
{
    struct outcome why = outcome_of(VERDICT_RETRY, CAUSE_SHUTDOWN, "shutting down");
    if (turn == SENDER_FULL) {
        intake_count_full(overflow->intake, sender, overflow->batch);
        why = intake_outcome_full(sender);
    }
    overflow_end(overflow, &why);
}

void overflow_serve(void *ctx, struct sender *sender)
{
    struct gate *gate = ctx;
    struct sender_waiter *waiter;
    while (gate_try_enter(gate)) {
        enum sender_turn turn = sender_next(sender, &waiter);
        struct overflow *overflow = (struct overflow *)waiter;
        if (!overflow) {
            gate_leave(gate);
            return;
        }
        if (turn == SENDER_RESERVED)
            overflow_offer(overflow, sender);
        else
            overflow_refuse(overflow, sender, turn);
    }
    sender_serve_later(sender);
}

void overflow_offer_again(struct gate *gate, struct sender_waiters *waiters)
{
    static const enum gate_mode open = GATE_OPEN;
    struct outcome gone = intake_no_pipeline();
    while (waiters->first) {
        struct overflow *overflow = (struct overflow *)waiters->first;
        waiters->first = overflow->waiter.next;
        gate_enter(gate, &open);
        if (overflow->intake->mode == GATE_OPEN)
            overflow_offer(overflow, NULL);
        else
            overflow_end(overflow, &gone);
    }
}
