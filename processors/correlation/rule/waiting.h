/*
 * The spans in the hold: who is judged when. What is due is found by time, what has a sample by its
 * id; nothing looks at all spans. All under the instance's lock.
 */
#ifndef PROCESSORS_CORRELATION_RULE_WAITING_H
#define PROCESSORS_CORRELATION_RULE_WAITING_H

#include "processors/correlation/rule/decide.h"

/* So many spans leave at once, about; then the lock is given back for a moment. */
enum { WAITING_AT_ONCE = 4096 };

/* A span id that came in a sample. */
struct sighting {
    uint64_t id;
    struct timeline *timeline; /* of the window; NULL: it counts as none */
    uint32_t serial;           /* of its sequence; 0: none */
    uint64_t window_start;     /* local time; 0: not told */
};

/* Links the held spans of an id that came, and learns from one that left before. */
void waiting_link(const struct context *context, const struct sighting *sighting,
                  struct release *release);

/* Judges what is due; returns the monotonic time at which something is due next (not past: there is
 * more). */
uint64_t waiting_judge_due(struct correlation *self, struct judge_now now, struct release *release);

/* What the service's spans are judged by has changed: says anew when they are due. */
void waiting_reconsider(struct context *context);

/* A segment was put into the hold; again: the index may have changed since its spans were asked. */
void waiting_add(struct context *context, struct segment *segment, bool again,
                 struct release *release);

/* Lets the oldest spans of the hold go as they came until so many more fit. */
void waiting_make_room(struct correlation *self, const struct segment *coming, struct judge_now now,
                       struct release *release);

/* Empties the hold at the end: linked, judged by rule 2, else as it came. */
void waiting_judge_all(struct correlation *self, struct judge_now now, struct release *release);

#endif
