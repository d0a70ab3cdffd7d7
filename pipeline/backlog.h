/*
 * Batches whose senders have had their answer and that could not be handed on yet: they are offered
 * again until they can. Any thread, except where noted.
 */
#ifndef PIPELINE_BACKLOG_H
#define PIPELINE_BACKLOG_H

#include "pipeline/env.h"

#include <pthread.h>

struct backlog_item;

struct backlog {
    const struct env *env; /* of the instance that has it */
    /* Hands on a batch (taken over); returns what is left, or NULL. */
    struct batch *(*push)(void *ctx, struct outlet *outlet, struct batch *batch);
    /* Asks for a call of backlog_offer_again at that time. */
    void (*wake)(void *ctx, uint64_t mono_ns);
    void *ctx;
    pthread_mutex_t lock;
    struct backlog_item *first, **end; /* under lock */
};

/* Initialises the list; the caller has set the rest. */
void backlog_begin(struct backlog *backlog);

/* Hands on a batch (taken over), or keeps what is left of it. backlog_keep keeps it at once. */
void backlog_push(struct backlog *backlog, struct outlet *outlet, struct batch *batch);
void backlog_keep(struct backlog *backlog, struct outlet *outlet, struct batch *batch);

/* Offers all that is kept once more. */
void backlog_offer_again(struct backlog *backlog);

bool backlog_is_empty(struct backlog *backlog);

/* Offers what is kept until nothing is, the stop is over or, without a stop, for 200 ms, and leaves
 * the rest to the journal (answered_give_up). No other call may follow. Blocks. */
void backlog_end(struct backlog *backlog);

#endif
