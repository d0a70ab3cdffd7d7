/*
 * Requests that wait for room in a full queue, unanswered and on no thread
 * (sending_queue.block_on_overflow). They wait outside the gate, with the queue that had no room,
 * and are charged to the memory budget. Once their places are free, they go on as any request; so
 * they do after a reload, through the pipelines that exist then. When their time is up, or at a
 * stop, they are answered RETRY.
 */
#ifndef PIPELINE_GRAPH_OVERFLOW_H
#define PIPELINE_GRAPH_OVERFLOW_H

#include "pipeline/delivery/sender_wait.h"
#include "pipeline/graph/graph.h"
#include "pipeline/intake.h"

/* Lets a request wait that found no room with this sender, or go on if there is room now. Inside
 * the gate. False: it may not wait, or there is no memory; nothing has changed. Otherwise the gate
 * is left and done is called, now or later. */
bool overflow_begin(struct intake *intake, struct batch *batch, const struct sender *full,
                    intake_done_fn *done, void *ctx);

/* Lets requests go on for which there is room, and answers those that no longer wait: a
 * sender_serve_fn. ctx: the gate. Does nothing while that is closed. */
void overflow_serve(void *ctx, struct sender *sender);

/* Offers requests again that a reload took out of the queues. The gate is open; on the thread that
 * closes it. */
void overflow_offer_again(struct gate *gate, struct sender_waiters *waiters);

#endif
