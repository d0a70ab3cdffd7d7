/*
 * Spans that wait for a decision, copied from their requests in wire form. A segment is what was
 * held of one resource of one request, or several small ones merged (gather.h); its spans share the
 * headers of their resource and scopes.
 *
 * A span leaves through a release list, from which release.h makes batches. Its segment exists
 * until its last span was written.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_SEGMENT_H
#define PROCESSORS_CORRELATION_HOLD_SEGMENT_H

#include "lib/base/pairing_heap.h"
#include "pipeline/component.h"
#include "processors/correlation/hold/edit.h"
#include "processors/correlation/hold/interned.h"

struct process;

/* The request that held spans came from. */
struct origin {
    _Atomic unsigned refs;
    struct outlet *outlet; /* borrowed */
    struct metadata *metadata;
    struct addressees *delivered_to;
    size_t receipt_count;
    struct receipt *receipts[]; /* receipt_of_held */
};

/* NULL: no memory. */
struct origin *origin_new(const struct batch *batch, struct outlet *outlet);
void origin_unref(struct origin *origin); /* may be NULL */

/* Whether spans of both may be sent in one request: same outlet, metadata and
 * delivered_to. */
bool origin_matches(const struct origin *a, const struct origin *b);

enum held_flag {
    HELD_ROOT = 1,
    HELD_MARKED = 2, /* has the attribute, whatever its value */
    HELD_CHILD = 4,  /* waits for its parent; `named` is the parent's id */
    HELD_INHERITED = 8,
    HELD_GONE = 16,      /* in a release list, or written */
    HELD_FORGOTTEN = 32, /* its samples may have arrived before it and been forgotten */
    HELD_AHEAD = 64      /* by its clock, it ended long after it arrived */
};

struct held {
    uint64_t own;        /* span id; once linked, the id of the link */
    uint64_t named;      /* id in its attribute; 0: none, or not a valid one */
    uint64_t end;        /* local time; once linked, the known CPU time */
    struct held *next;   /* in a chain of held_ids.h, later in a release list */
    struct held *before; /* in that chain */
    uint32_t back;       /* bytes from the segment's start to this struct */
    uint32_t at, size;   /* its message within the segment's bytes */
    uint32_t scope;
    uint32_t samples; /* known samples, once linked */
    uint8_t flags;    /* enum held_flag */
    uint8_t action;   /* enum action */
    uint16_t early;   /* as candidate.early */
};

struct segment {
    struct segment *older, *newer;                 /* in the hold */
    struct segment *process_older, *process_newer; /* in its process */
    struct heap_node ends; /* in its process: when its first live span ended, not children */
    struct process *process;
    struct origin *origin;
    struct interner *interner;
    size_t charged;
    uint64_t order;   /* larger than that of older ones */
    uint64_t arrived; /* mono; arrival of the newest span */
    _Atomic uint32_t unwritten;
    uint32_t live, count;
    uint32_t children;    /* live spans that wait for their parents */
    uint32_t oldest_live; /* no span before it is live */
    uint32_t scope_count;
    uint32_t size;             /* of all messages, bytes */
    uint32_t packed;           /* of the compressed messages; 0: not compressed */
    bool packing;              /* pack.h works on it, or tried in vain */
    bool forced;               /* charged past the budget's limit */
    struct interned *resource; /* ResourceSpans without its ScopeSpans */
    struct interned **scopes;  /* ScopeSpans without its spans */
    struct held *spans;
    uint8_t *bytes; /* the messages, one after another */
};

/* From this many bytes of messages on, they have an allocation of their own. */
enum { SEGMENT_APART = 2048 };

/* What a segment must have room for. */
struct segment_size {
    uint32_t spans;
    uint32_t scopes;
    uint32_t bytes;
};

/* Makes an empty segment, charged to the budget (past its limit only with may_force). Takes over
 * the reference to resource; the caller fills scopes, spans and bytes. NULL: no memory; resource is
 * kept by the caller. */
struct segment *segment_new(const struct segment_size *size, struct interner *interner,
                            struct interned *resource, bool may_force);

/* Frees a segment that was never put into the hold. May be NULL. */
void segment_free(struct segment *segment);

/* Notes that n of its spans were written and handed on; frees it with the last one. Any thread. */
void segment_written(struct segment *segment, uint32_t n);

static inline struct segment *segment_of(const struct held *held)
{
    return (struct segment *)(void *)((char *)held - held->back);
}

/* Spans that leave the hold, in order. */
struct release {
    struct held *first;
    struct held **end; /* NULL while empty */
    size_t count;
};

/* Appends all of more, which is empty afterwards. */
void release_join(struct release *release, struct release *more);

/* Sorts spans by arrival, so that those of a segment are adjacent. */
void release_sort(struct release *release);

#endif
