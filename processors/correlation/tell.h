/* Reports of correlation to watchers (pipeline/watch.h): forwarded batches, decisions, uploads and
 * held spans. */
#ifndef PROCESSORS_CORRELATION_TELL_H
#define PROCESSORS_CORRELATION_TELL_H

#include "processors/correlation/correlation.h"

struct context;
struct candidate;
struct decision;
struct upload;

/* Pushes a batch, unless only its ids are wanted, and reports it if it was accepted. linked: as for
 * watch_passed. */
static inline enum verdict tell_push(const struct correlation *self, struct batch *batch,
                                     struct outlet *next, bool linked)
{
    if (batch->ids_only)
        return VERDICT_OK;
    enum verdict verdict = outlet_push(next, batch);
    if (verdict == VERDICT_OK)
        watch_passed(self->env->watch, batch, linked);
    return verdict;
}

/* The word of a reason, the same for watchers and metrics; static. */
const char *tell_word(enum judge_reason reason);

/* Call both only if watch_on, with the instance's lock held. */
void tell_decision(const struct context *context, const struct candidate *candidate,
                   const struct decision *decision);
void tell_upload(const struct context *context, const struct upload *upload, bool confirms);

/* Implements watch_holder.waits. self: a struct correlation. */
bool correlation_waits(void *self, uint64_t span_id, struct watch_waiting *waiting);

/* Implements watch_holder.visit. Spans that are compressed are not visited. */
bool correlation_visit(void *self, size_t *left, watch_held_fn *visit, void *visitor);

#endif
