/*
 * The rules applied to a span, as it arrives or while it waits. All under the instance's lock.
 */
#ifndef PROCESSORS_CORRELATION_RULE_DECIDE_H
#define PROCESSORS_CORRELATION_RULE_DECIDE_H

#include "processors/correlation/correlation.h"

/* A service as the rules see it at one moment, and one of its processes. */
struct context {
    struct correlation *self;
    struct service *service;
    struct process *process;  /* NULL: none was asked for yet */
    struct judge_known known; /* by which its spans are judged */
    unsigned kinds;           /* that confirm */
    struct judge_now now;
    uint32_t second;
};

void context_open(struct context *context, struct correlation *self, struct service *service,
                  struct judge_now now);

/* Spans of this process are judged next; NULL: of a resource that there was no memory for. */
void context_enter(struct context *context, struct process *process);

/* A span as it is decided. */
struct candidate {
    uint64_t own;
    uint64_t named;   /* id that its attribute names; 0: none that is one */
    uint64_t parent;  /* children only */
    uint64_t started; /* wall; 0: not told */
    uint64_t ended;   /* local time */
    uint64_t arrived; /* mono */
    uint16_t early;   /* started so long before anything was known, by its clock; EARLY_UNIT */
    bool forgotten;   /* its samples may have come before it and be forgotten */
};

#define EARLY_UNIT (100 * NS_PER_MS)

struct decision {
    struct edit edit;
    enum judge_reason reason; /* unless WAIT or LINK */
};

/* Whether the index has the id that the span's attribute names, else its own, either also in
 * reversed byte order. */
bool decide_lookup(const struct context *context, const struct candidate *candidate,
                   struct span_figures *figures);

/* Says that the span is looked up soon. So many at a time hide the wait for memory behind one
 * another: with 1e7 ids in the index a span takes 0.36 us from the check to here, without it 0.46
 * us. */
enum { DECIDE_AHEAD = 16 };
void decide_expect(const struct context *context, const struct candidate *candidate);

/* Rule 1: a span whose samples came already; else notes whether they may have been forgotten. */
bool decide_by_index(const struct context *context, struct candidate *candidate,
                     struct decision *decision);

/* Rules 2 and 3 for a span that the index does not have. limits: of context.known, which is that of
 * its process. */
void decide_within(const struct context *context, const struct candidate *candidate,
                   const struct judge_limits *limits, struct decision *decision);

/* What linking to these samples does. */
struct edit decide_link(const struct span_figures *figures);

/* A child of a local root, with `children: inherit`. */
void decide_child(const struct context *context, const struct candidate *candidate,
                  struct decision *decision);

/* With `children: inherit`: notes what became of a local root. */
void decide_note_root(const struct context *context, uint64_t own, const struct edit *edit);

/* Adds a decided span to its service's counts. */
void decide_count(const struct context *context, const struct candidate *candidate,
                  const struct decision *decision);

#endif
