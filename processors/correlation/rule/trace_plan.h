/*
 * A traces request, parsed, and the decision about each of its spans. The plan is read and carried
 * out without the instance's lock; traces.c decides in between. Everything is in the plan's arena,
 * and the request is borrowed.
 */
#ifndef PROCESSORS_CORRELATION_RULE_TRACE_PLAN_H
#define PROCESSORS_CORRELATION_RULE_TRACE_PLAN_H

#include "processors/correlation/rule/waiting.h"

struct span_row {
    struct proto_field field;   /* the Span field */
    uint64_t start_ns, end_ns;  /* wall; 0: not given */
    struct candidate candidate; /* times set by span_row_time */
    struct decision decision;   /* WAIT: goes into the hold */
    bool is_root;
    bool marked;   /* has the attribute */
    bool is_child; /* waits for its parent */
    bool counted;  /* counts in its service's decisions */
};

/* Only scopes with spans. */
struct scope_plan {
    struct scope_plan *next;
    struct proto_field field; /* ScopeSpans */
    size_t first, end;        /* rows */
    uint32_t waiting;
};

/* Only resources with spans. */
struct resource_plan {
    struct resource_plan *next;
    struct proto_field field; /* ResourceSpans */
    struct view name;         /* of its service */
    struct view bare;         /* ResourceSpans without its scopes ... */
    struct view header;       /* ... and the same remapped */
    struct scope_plan *scopes, *last;
    size_t first, end; /* rows */
    uint32_t waiting;
    struct service *service; /* NULL: not looked up, or no memory for one */
    struct process *process; /* NULL: no span had to wait, or no memory for one */
    unsigned version;        /* of the service, when its spans were decided */
    struct segment *segment; /* its waiting spans */
};

struct trace_plan {
    struct arena arena;
    struct view request;
    struct view notes;  /* of the batch */
    struct view tenant; /* empty: tenants are not separated */
    struct resource_plan *resources, *last;
    struct span_row *rows;
    size_t count, capacity;
    uint32_t waiting;
    uint64_t cut; /* rows that cannot wait since the whole hold is too small */
};

/* Reads a checked request. False: no memory, or it needs far more than its size. Release the plan
 * in both cases. */
bool trace_plan_read(struct trace_plan *plan, const struct correlation *self,
                     const struct batch *batch);
void trace_plan_release(struct trace_plan *plan);

/* Sets the times that the decision about a row is based on. */
void span_row_time(struct span_row *row, const struct correlation *self, struct judge_now now);

/* Counts the waiting rows again, at every level. */
void trace_plan_count(struct trace_plan *plan);

/* Copies the waiting spans into segments, one for each resource. Spans for which there is no memory
 * pass unedited. may_force: also past the budget. */
void trace_plan_hold(struct trace_plan *plan, struct correlation *self, struct origin *origin,
                     bool may_force);

/* Returns the request as it is handed on: edited, without the waiting spans, resources remapped.
 * The same buffer (referenced) if nothing changes. NULL: no memory. */
struct buffer *trace_plan_rewrite(struct trace_plan *plan, const struct correlation *self,
                                  struct buffer *payload);

#endif
