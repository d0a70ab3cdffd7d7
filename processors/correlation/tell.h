/* What is told to who watches (pipeline/watch.h): what passes, decisions, uploads, and what waits.
 */
#ifndef PROCESSORS_CORRELATION_TELL_H
#define PROCESSORS_CORRELATION_TELL_H

#include "processors/correlation/correlation.h"

struct context;
struct candidate;
struct decision;
struct upload;

/* Hands a batch on, unless only its ids are wanted; what was taken is told. linked: as for
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

/* Both while somebody watches, under the instance's lock. */
void tell_decision(const struct context *context, const struct candidate *candidate,
                   const struct decision *decision);
void tell_upload(const struct context *context, const struct upload *upload);

/* watch_holder.waits of an instance. */
bool correlation_waits(void *self, uint64_t span_id, struct watch_waiting *waiting);

#endif
