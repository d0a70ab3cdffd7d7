/*
 * When held spans are decided. What is due is found by time, what has a sample by its id; nothing
 * scans all spans. All under the instance's lock.
 */
#ifndef PROCESSORS_CORRELATION_RULE_WAITING_H
#define PROCESSORS_CORRELATION_RULE_WAITING_H

#include "processors/correlation/rule/decide.h"

/* About how many spans leave at once; then the lock is released for a moment. */
enum { WAITING_AT_ONCE = 4096 };

/* A span id found in a sample. */
struct sighting {
    uint64_t id;
    struct timeline *timeline; /* of the window; NULL: it does not confirm */
    uint32_t serial;           /* of its sequence; 0: none */
    uint64_t window_start;     /* local time; 0: not given */
};

/* Links the held spans with an id that arrived, and learns from a span that left before. */
void waiting_link(const struct context *context, const struct sighting *sighting,
                  struct release *release);

/* Decides what is due; returns the monotonic time at which something is due next (not in the
 * future: there is more). */
uint64_t waiting_judge_due(struct correlation *self, struct judge_now now, struct release *release);

/* Reschedules the service's spans after a change of what decisions are based on. */
void waiting_reconsider(struct context *context);

/* Handles a segment just put into the hold; again: the index may have changed since its spans were
 * looked up. */
void waiting_add(struct context *context, struct segment *segment, bool again,
                 struct release *release);

/* Lets the oldest spans leave the hold unedited until the new segment fits. */
void waiting_make_room(struct correlation *self, const struct segment *coming, struct judge_now now,
                       struct release *release);

/* Lets all spans of a service pass unedited, at the next tick: it is given up for a new one. self:
 * a struct correlation. Implements services.let_go. */
void waiting_give_up(void *self, struct service *service);

/* Empties the hold at the end: spans are linked, decided by rule 2, or passed unedited. Returns how
 * many passed unedited. */
uint64_t waiting_judge_all(struct correlation *self, struct judge_now now, struct release *release);

#endif
