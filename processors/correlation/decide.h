/*
 * The rules applied to spans as they arrive and while they wait. All under the instance's lock.
 */
#ifndef CORRELATION_DECIDE_H
#define CORRELATION_DECIDE_H

#include "processors/correlation/correlation.h"

/* A service as the rules see it at one moment. */
struct hearing {
    struct correlation *self;
    struct service *service;
    struct judge_service known;
    unsigned kinds; /* that confirm */
    struct judge_now now;
    uint32_t second;
};

void hearing_open(struct hearing *hearing, struct correlation *self, struct service *service,
                  struct judge_now now);

/* A span as it is decided. */
struct asked {
    uint64_t own;
    uint64_t named;  /* id that its attribute names; 0: none that is one */
    uint64_t parent; /* children only */
    struct judge_span times;
};

struct ruling {
    struct edit edit;
    enum judge_reason reason; /* unless WAIT or LINK */
    uint64_t due;             /* WAIT: mono */
};

/* Whether the index has the id that the span's attribute names, else its own, either also in
 * reversed byte order. */
bool decide_lookup(const struct hearing *hearing, const struct asked *asked,
                   struct span_figures *figures);

/* Says that the span is looked up soon. So many at a time hide the wait for memory behind one
 * another: with 1e7 ids in the index a span takes 0.36 us from the door to here, without it 0.46
 * us. */
enum { DECIDE_AHEAD = 16 };
void decide_expect(const struct hearing *hearing, const struct asked *asked);

/* Rules 1 to 3. look: the index may have changed since the span was last asked about. */
void decide_candidate(const struct hearing *hearing, const struct asked *asked, bool look,
                      struct ruling *ruling);

/* A child of a local root, with `children: inherit`. */
void decide_child(const struct hearing *hearing, const struct asked *asked, struct ruling *ruling);

/* With `children: inherit`: notes what became of a local root. */
void decide_note_root(const struct hearing *hearing, uint64_t own, const struct edit *edit);

/* Adds a decided span to its service's counts. */
void decide_count(const struct hearing *hearing, const struct ruling *ruling);

/* Judges the service's spans in the hold again, all (look) or those that are due. */
void decide_waiting(struct correlation *self, struct service *service, bool look,
                    struct release *release);

/* Lets the oldest spans of the hold go as they came until so many more fit. */
void decide_make_room(struct correlation *self, const struct segment *coming,
                      struct release *release);

/* Empties the hold at the end: linked, judged by rule 2, else as it came. */
void decide_all(struct correlation *self, struct release *release);

#endif
