/*
 * OTLP requests of every signal in wire form: the check (otlp_check.c), the walk (otlp_walk.c),
 * counting, splitting (otlp_split.c) and invalid spans (otlp_invalid.c). Field numbers:
 * opentelemetry-proto 1.11. All four requests share one skeleton (Resource* = 1 { Resource = 1,
 * Scope* = 2 { scope = 1, items = 2 } }), which is why one module serves them; profiles add a
 * dictionary = 2 beside the list. Pure.
 */
#ifndef LIB_WIRE_OTLP_OTLP_H
#define LIB_WIRE_OTLP_OTLP_H

#include "lib/base/arena.h"
#include "lib/base/buffer.h"
#include "lib/wire/otlp/otlp_attribute.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/otlp/signal.h"
#include "lib/wire/proto/proto_shape.h"
#include "lib/wire/proto/splice.h"

enum otlp_step {
    OTLP_RESOURCE,
    OTLP_SCOPE,
    OTLP_ITEM,
    OTLP_SCOPE_END,
    OTLP_RESOURCE_END,
    OTLP_END
};

/* One entry of the skeleton as a walk meets it; each level's field holds start, end and bytes. */
struct otlp_walk {
    enum signal signal;
    struct proto_scan request, resource, scope;
    struct proto_field resource_entry; /* ResourceSpans and its siblings */
    struct proto_field scope_entry;    /* ScopeSpans and its siblings */
    struct proto_field item;           /* Span, Metric, LogRecord, Profile */
    enum otlp_step at;                 /* the step answered last */
};

/* Walks a checked request: RESOURCE, then per scope SCOPE, ITEM*, SCOPE_END, then RESOURCE_END,
 * ... END. A resource or scope that comes after its children in the bytes is found with
 * proto_find on the entry's bytes. */
void otlp_walk_begin(struct otlp_walk *walk, enum signal signal, struct view request);
enum otlp_step otlp_walk_next(struct otlp_walk *walk);

/* The shape of a signal's request. */
const struct proto_shape *otlp_shape(enum signal signal);

/* The check: checks the whole request and counts its items (spans, data points, log records,
 * profile entries). False: refused, fault filled. */
bool otlp_check(enum signal signal, struct view request, uint32_t *items,
                struct proto_fault *fault);

/* The same for traces. valid: otlp_traces_drop_invalid would find nothing to drop; false says
 * nothing. notes (NULL: none) gets what was seen of each span. */
bool otlp_check_traces(struct view request, uint32_t *items, bool *valid, struct otlp_notes *notes,
                       struct proto_fault *fault);

/* Items of a checked request; of one item field (a Metric counts its data points). */
uint32_t otlp_count(enum signal signal, struct view request);
uint32_t otlp_item_count(enum signal signal, struct view item);

/* Spans that no backend takes: trace id not 16 bytes or all zero, span id not 8 bytes or all
 * zero, parent id neither 0 nor 8 bytes, or a link with an id of wrong length. Deletes them
 * through the splice and returns how many; reason names the first one's fault. Scopes and
 * resources that lose all their spans are deleted too. */
uint32_t otlp_traces_drop_invalid(struct view request, struct splice *splice, const char **reason);

/* Splits a checked request into a front of at most max_items items and max_bytes bytes (at least
 * one item in either case) and the rest, both whole requests with their resource, scope, schema
 * and unknown fields repeated; a profiles request repeats its dictionary. False: it cannot be
 * split (it is within both limits, or has one item; a Metric is not cut) or no memory. Limits of
 * 0 mean none. Where no item is left out, a resource or scope without items stays as it is.
 * Buffers are forced on the budget. */
bool otlp_split(enum signal signal, struct view request, uint32_t max_items, size_t max_bytes,
                struct budget *budget, struct buffer **front, struct buffer **rest);

#endif
