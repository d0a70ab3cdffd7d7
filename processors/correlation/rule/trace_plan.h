/*
 * One traces request taken apart, and what is to become of each of its spans. The plan is read and
 * carried out without the instance's lock; traces.c decides in between. Everything lives in the
 * plan's arena, and the request is borrowed.
 */
#ifndef PROCESSORS_CORRELATION_RULE_TRACE_PLAN_H
#define PROCESSORS_CORRELATION_RULE_TRACE_PLAN_H

#include "processors/correlation/rule/waiting.h"

struct span_row {
    struct proto_field field;   /* the Span field */
    uint64_t start_ns, end_ns;  /* wall; 0: not told */
    struct candidate candidate; /* its times with span_row_time */
    struct decision decision;   /* WAIT: goes into the hold */
    bool is_root;
    bool marked;   /* has the attribute */
    bool is_child; /* waits for its parent */
    bool counted;  /* the decision is one that services count */
};

/* Only those with spans. */
struct scope_plan {
    struct scope_plan *next;
    struct proto_field field; /* ScopeSpans */
    size_t first, end;        /* rows */
    uint32_t waiting;
};

/* Only those with spans. */
struct resource_plan {
    struct resource_plan *next;
    struct proto_field field; /* ResourceSpans */
    struct view name;         /* of its service */
    struct view bare;         /* all but the scopes ... */
    struct view header;       /* ... and that remapped */
    struct scope_plan *scopes, *last;
    size_t first, end; /* rows */
    uint32_t waiting;
    struct service *service; /* NULL: not looked up, or there is no room for one */
    struct process *process; /* NULL: no span was to wait, or there is no room for one */
    unsigned version;        /* of the service when its spans were decided */
    struct segment *segment; /* those that wait */
};

struct trace_plan {
    struct arena arena;
    struct view request;
    struct view notes;  /* of the batch */
    struct view tenant; /* empty where tenants are not told apart */
    struct resource_plan *resources, *last;
    struct span_row *rows;
    size_t count, capacity;
    uint32_t waiting;
    uint64_t cut; /* rows for which the whole hold is too small */
};

/* Reads a checked request. False: no memory, or far more of it is needed than the request is long.
 * Release in both cases. */
bool trace_plan_read(struct trace_plan *plan, const struct correlation *self,
                     const struct batch *batch);
void trace_plan_release(struct trace_plan *plan);

/* Sets the times by which a row is judged. */
void span_row_time(struct span_row *row, const struct correlation *self, struct judge_now now);

/* Counts the rows that wait anew, in every level. */
void trace_plan_count(struct trace_plan *plan);

/* Copies the waiting spans into segments, one for each resource. Where there is no room, they go on
 * as they came. may_force: also past the budget. */
void trace_plan_hold(struct trace_plan *plan, struct correlation *self, struct origin *origin,
                     bool may_force);

/* The request as it goes on now: edits made, waiting spans left out, resources remapped. The same
 * buffer (referenced) where nothing changes. NULL: no memory. */
struct buffer *trace_plan_rewrite(struct trace_plan *plan, const struct correlation *self,
                                  struct buffer *payload);

#endif
