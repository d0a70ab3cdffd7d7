/*
 * OTLP requests of every signal in wire format: validation (otlp_check.c), iteration (otlp_walk.c),
 * counting and invalid spans (otlp_invalid.c); splitting: otlp_split.h. Field numbers:
 * opentelemetry-proto 1.11. All four requests share one skeleton (Resource* = 1 { Resource = 1,
 * Scope* = 2 { scope = 1, items = 2 } }), so one module handles them; profiles add a dictionary = 2
 * next to the list. Pure.
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

/* An iteration over the skeleton. The field of each level describes the current entry: start, end
 * and bytes. */
struct otlp_walk {
    enum signal signal;
    struct proto_scan request, resource, scope;
    struct proto_field resource_entry; /* ResourceSpans and its siblings */
    struct proto_field scope_entry;    /* ScopeSpans and its siblings */
    struct proto_field item;           /* Span, Metric, LogRecord, Profile */
    enum otlp_step at;                 /* the last step returned */
};

/* Iterates over a checked request: RESOURCE, then per scope SCOPE, ITEM*, SCOPE_END, then
 * RESOURCE_END, ... END. Use proto_find on the entry's bytes to read a resource or scope, which may
 * follow its children. */
void otlp_walk_begin(struct otlp_walk *walk, enum signal signal, struct view request);
enum otlp_step otlp_walk_next(struct otlp_walk *walk);

/* The shape of a signal's request message. */
const struct proto_shape *otlp_shape(enum signal signal);

/* Validates the whole request and counts its items (spans, data points, log records, profile
 * entries). False: refused, fault is set. */
bool otlp_check(enum signal signal, struct view request, uint32_t *items,
                struct proto_fault *fault);

/* What a check found besides. */
struct otlp_found {
    uint32_t items;
    bool valid; /* otlp_traces_drop_invalid would drop nothing; false, of traces: it may or may not
                 */
    bool odd;   /* proto_normal is to be called */
};

/* The same, and what else there is to know. notes (NULL: none are wanted): of traces, receives one
 * about each span. */
bool otlp_check_all(enum signal signal, struct view request, struct otlp_notes *notes,
                    struct otlp_found *found, struct proto_fault *fault);

/* Number of items in a checked request, or in one item field (a Metric counts its data points). */
uint32_t otlp_count(enum signal signal, struct view request);
uint32_t otlp_item_count(enum signal signal, struct view item);

/* The field number of the data points in a Metric's data, of every kind. */
enum { OTLP_DATA_POINTS = 1 };

/* Whether a field of a Metric holds its data: gauge, sum, histogram, exponential histogram or
 * summary. */
static inline bool otlp_is_metric_data(uint32_t number)
{
    const unsigned kinds = 1u << 5 | 1u << 7 | 1u << 9 | 1u << 10 | 1u << 11;
    return number < 32 && kinds >> number & 1;
}

/* Deletes, through the splice, spans that no backend accepts: trace id not 16 bytes or all zero,
 * span id not 8 bytes or all zero, parent id neither 0 nor 8 bytes, or a link with an id of wrong
 * length. Returns their number; *reason describes the first one's fault. Scopes and resources that
 * lose all their spans are deleted too. */
uint32_t otlp_traces_drop_invalid(struct view request, struct splice *splice, const char **reason);

#endif
