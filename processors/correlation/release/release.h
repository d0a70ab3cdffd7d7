/*
 * Writes spans that left the hold into requests, many spans to a batch, and hands them on; what the
 * next stage cannot take yet is offered again. Spans for which the budget has no room, since they
 * grow when they were compressed, stay as they are until it has, except for a little at a time
 * (ahead.h). Called without the instance's lock, on any thread.
 */
#ifndef PROCESSORS_CORRELATION_RELEASE_RELEASE_H
#define PROCESSORS_CORRELATION_RELEASE_RELEASE_H

#include "processors/correlation/correlation.h"

/* Writes the spans of a release list, in order of arrival, and hands them on. Without memory, or
 * while others wait for it, the list goes back to the instance for the next tick. */
void release_send(struct correlation *self, struct release *release);

/* Leaves it to the next tick, which it asks for, to write and hand on the spans. Under the lock. */
void release_at_tick(struct correlation *self, struct release *release);

/* Offers again what the next stage could not take, and writes what could not be written. */
void release_resume(struct correlation *self);

/* At the end: hands on what is left as there is room for it. When a stop's time is up, the rest is
 * given up, and counted unless a journal or log has it. A reload loses nothing: if the queues
 * deliver nothing for a moment, the rest takes the memory that it needs. */
void release_finish(struct correlation *self);

/* Drops all spans that wait or could not be handed on yet, without counting them as lost; their
 * receipts get the outcome. */
void release_drop(struct correlation *self, const struct outcome *outcome);

#endif
