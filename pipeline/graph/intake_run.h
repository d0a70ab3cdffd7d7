/* The steps of accepting a batch, for callers that do other work in between
 * (pipeline/graph/journaling.c) or later (pipeline/graph/overflow.c). */
#ifndef PIPELINE_GRAPH_INTAKE_RUN_H
#define PIPELINE_GRAPH_INTAKE_RUN_H

#include "pipeline/delivery/sender_wait.h"
#include "pipeline/graph/graph.h"
#include "pipeline/intake.h"

/* How a request asks for places. */
struct intake_claim {
    bool first;                   /* before requests that wait for room */
    bool kept;                    /* comes again until it is taken: no refusal is counted */
    struct sender_waiter *waiter; /* with which it waits for room; NULL: it does not */
    const struct sender *held;    /* has its places already; NULL: none */
    /* The answer, if a queue has no room. */
    struct sender *full;
    bool waits; /* there, and another thread may have answered it by now */
};

/* Checks that an exporter takes the batch and that no queue is too small for it; reserves a place
 * in every downstream queue and memory for work on it: all of it (OK), or nothing. intake_go_on
 * must follow OK. If claim->full is set, the request waits, or its refusal has to be counted by
 * intake_count_full. Only while inside the gate. */
struct outcome intake_begin(struct intake *intake, const struct batch *batch,
                            struct intake_claim *claim);
void intake_count_full(struct intake *intake, struct sender *sender, const struct batch *batch);

/* Takes a batch with reserved places through the pipelines, releases what was reserved, leaves the
 * gate and answers: all of it now, or parts later on another thread. Any thread. */
void intake_go_on(struct intake *intake, struct batch *batch, intake_done_fn *done, void *ctx);

/* The answers where the intake's mode is GATE_SHUT, and where a sender has no room. */
struct outcome intake_no_pipeline(void);
struct outcome intake_outcome_full(const struct sender *sender);

/* Reserves the same as intake_begin for data that were accepted, before requests that wait for
 * room. No refusal is counted, as they come again. intake_release must be called with the same
 * batch. Call both only while inside the gate. */
struct outcome intake_reserve(struct intake *intake, const struct batch *batch);
void intake_release(struct intake *intake, const struct batch *batch);

/* Hands a batch with reserved places to each pipeline. Once one has taken it, it is not refused any
 * more: what another cannot pass is lost there, and what has no room waits there. RETRY: the first
 * that would take it had no memory, or another had none to keep it; REJECT: all refused it. A batch
 * with a lane is refused as a whole, also where others have taken it, so they get it again. REJECT
 * with CAUSE_UNAVAILABLE: a statement cannot be evaluated. Any thread. */
struct outcome intake_run(struct intake *intake, struct batch *batch);

/* The same for a client that waits: answers when the last of the data is delivered, given up or
 * held. held: the journal's receipt, for what processors hold or take over (a reference, taken over
 * in any case; NULL: none). False: no memory, nothing is done. */
bool intake_run_waiting(struct intake *intake, struct batch *batch, struct receipt *held,
                        intake_done_fn *done, void *ctx);

/* What a client is told of an outcome of intake_run: to retry where a statement cannot be
 * evaluated, as the Collector does, since a reload may mend it. What a journal holds is not tried
 * again. */
struct outcome intake_answer_of(const struct outcome *outcome);

#endif
