/*
 * The rules applied to a span, when it arrives or while it waits. All under the instance's lock.
 */
#ifndef PROCESSORS_CORRELATION_RULE_DECIDE_H
#define PROCESSORS_CORRELATION_RULE_DECIDE_H

#include "processors/correlation/correlation.h"

/* What the rules need to know of a service and one of its processes at one moment. */
struct context {
    struct correlation *self;
    struct service *service;
    struct process *process;  /* NULL: not looked up yet */
    struct judge_known known; /* what the decisions about its spans are based on */
    unsigned kinds;           /* of profiles that confirm spans */
    struct judge_now now;
    uint32_t second;
};

void context_open(struct context *context, struct correlation *self, struct service *service,
                  struct judge_now now);

/* Selects the process whose spans are decided next; NULL: of a resource for which there was no
 * memory. */
void context_enter(struct context *context, struct process *process);

/* A span, as the rules see it. */
struct candidate {
    uint64_t own;
    uint64_t named;   /* id in its attribute; 0: none, or not a valid one */
    uint64_t parent;  /* children only */
    uint64_t started; /* wall; 0: not given */
    uint64_t ended;   /* local time */
    uint64_t arrived; /* mono */
    uint16_t early; /* how long before anything was known it started, by its clock; in EARLY_UNIT */
    bool forgotten; /* its samples may have arrived before it and been forgotten */
    bool ahead;     /* by its clock, it ended long after it arrived, which `ended` is then */
};

#define EARLY_UNIT (100 * NS_PER_MS)

struct decision {
    struct edit edit;
    enum judge_reason reason; /* unless WAIT or LINK */
};

/* Looks up the id in the span's attribute, else its own, each also in reversed byte order. */
bool decide_lookup(const struct context *context, const struct candidate *candidate,
                   struct span_figures *figures);

/* Prefetches for a span that is looked up soon. Prefetching this many at a time overlaps the waits
 * for memory: with 1e7 ids in the index a span takes 0.36 us from the check to here, without it
 * 0.46 us. */
enum { DECIDE_AHEAD = 16 };
void decide_prefetch(const struct context *context, const struct candidate *candidate);

/* Rule 1: links a span whose samples have arrived; else notes whether they may have been
 * forgotten. */
bool decide_by_index(const struct context *context, struct candidate *candidate,
                     struct decision *decision);

/* Rules 2 and 3, for a span that the index does not have. limits: of context.known, for its
 * process. */
void decide_within(const struct context *context, const struct candidate *candidate,
                   const struct judge_limits *limits, struct decision *decision);

/* The edit that links a span to these samples. */
struct edit decide_link(const struct span_figures *figures);

/* Whether spans below local roots wait for samples of their own. */
bool decide_awaits_own(const struct context *context);

/* What becomes of spans below a local root. */
static inline enum children correlation_children(const struct correlation *self)
{
    bool waits = self->config.children == CHILDREN_NONE && self->config.link == LINK_CONFIRMED &&
                 atomic_load_explicit(&self->env->whole_traces, memory_order_relaxed);
    return waits ? CHILDREN_WAIT : (enum children)self->config.children;
}

/* Decides a child of a local root that waits with it. limits: as above. */
void decide_child(const struct context *context, const struct candidate *candidate,
                  const struct judge_limits *limits, struct decision *decision);

/* With `children: inherit`: learns from a child that leaves whether those after it have to wait for
 * samples of their own, or notes it in case such samples come later. */
void decide_learn_child(const struct context *context, const struct candidate *candidate,
                        const struct decision *decision);

/* Whether such a decision counts: not that of a span which only waited. */
bool decide_counts_child(const struct context *context, const struct decision *decision);

/* With `children: inherit`: notes the decision about a local root. */
void decide_note_root(const struct context *context, uint64_t own, const struct edit *edit);

/* Adds a decided span to its service's counts. */
void decide_count(const struct context *context, const struct candidate *candidate,
                  const struct decision *decision);

#endif
