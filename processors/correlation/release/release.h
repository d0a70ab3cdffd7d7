/*
 * Spans on their way out of the hold: written into requests, many spans to a batch, and handed on;
 * what downstream cannot take yet is offered again. Called without the instance's lock, from any
 * thread.
 */
#ifndef PROCESSORS_CORRELATION_RELEASE_RELEASE_H
#define PROCESSORS_CORRELATION_RELEASE_RELEASE_H

#include "processors/correlation/correlation.h"

/* Writes the spans of a release list, in the order in which they came, and hands them on. Where
 * memory is short, the list goes back to the instance for the next tick. */
void release_send(struct correlation *self, struct release *release);

/* Offers again what downstream could not take, and writes what could not be written. */
void release_resume(struct correlation *self);

/* At the end: gives up what nobody took, counted. */
void release_give_up(struct correlation *self);

#endif
