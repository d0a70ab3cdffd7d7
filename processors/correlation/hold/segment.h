/*
 * Spans that await a decision, copied out of their requests in wire form. A segment is what one
 * request held of one resource, or several small ones (gather.h); its spans share the headers of
 * their resource and scopes.
 *
 * A span leaves through a release list, from which release.h makes batches. Its segment lives until
 * the last of its spans was written.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_SEGMENT_H
#define PROCESSORS_CORRELATION_HOLD_SEGMENT_H

#include "lib/base/pairing_heap.h"
#include "pipeline/component.h"
#include "processors/correlation/hold/edit.h"
#include "processors/correlation/hold/interned.h"

struct process;

/* Of the request that held spans came with. */
struct origin {
    _Atomic unsigned refs;
    struct outlet *outlet; /* borrowed */
    struct metadata *metadata;
    size_t receipt_count;
    struct receipt *receipts[];
};

/* NULL: no memory. */
struct origin *origin_new(const struct batch *batch, struct outlet *outlet);
void origin_unref(struct origin *origin); /* NULL is legal */

/* Whether spans of both may stand in one request: equal outlet and metadata. */
bool origin_same_way(const struct origin *a, const struct origin *b);

enum held_flag {
    HELD_ROOT = 1,
    HELD_CHILD = 4, /* waits for its parent; `named` is the parent's id */
    HELD_INHERITED = 8,
    HELD_GONE = 16,     /* in a release list or written */
    HELD_FORGOTTEN = 32 /* its samples may have come before it and be forgotten */
};

struct held {
    uint64_t own;        /* span id; once linked, the id of the link */
    uint64_t named;      /* id that its attribute names; 0: none that is one */
    uint64_t end;        /* local time; once linked, the CPU time known */
    struct held *next;   /* in a chain of held_ids.h, then in a release list */
    struct held *before; /* in that chain */
    uint32_t back;       /* bytes from the segment's start to here */
    uint32_t at, size;   /* its message in the segment's bytes */
    uint32_t scope;
    uint32_t samples; /* once linked */
    uint8_t flags;    /* enum held_flag */
    uint8_t action;   /* enum action */
    uint16_t early;   /* as asked.early */
};

struct segment {
    struct segment *older, *newer;                 /* of all */
    struct segment *process_older, *process_newer; /* of its process */
    struct heap_node ends; /* in its process's: when its first live span ended, children aside */
    struct process *process;
    struct origin *origin;
    struct interner *interner;
    size_t charged;
    uint64_t order;   /* larger than that of older ones */
    uint64_t arrived; /* mono; of the newest span */
    _Atomic uint32_t unwritten;
    uint32_t live, count;
    uint32_t children;    /* live ones that wait for their parents */
    uint32_t oldest_live; /* no span before it is live */
    uint32_t scope_count;
    uint32_t size;             /* of all messages */
    uint32_t packed;           /* of what they are compressed to; 0: they are not */
    bool packing;              /* pack.h is at it, or was in vain */
    bool forced;               /* the budget had no room for it */
    struct interned *resource; /* all of ResourceSpans but its ScopeSpans */
    struct interned **scopes;  /* all of ScopeSpans but its spans */
    struct held *spans;
    uint8_t *bytes; /* the messages, one after the other */
};

/* Bytes of messages from which on they have memory of their own. */
enum { SEGMENT_APART = 2048 };

/* What a segment is to have room for. */
struct segment_size {
    uint32_t spans;
    uint32_t scopes;
    uint32_t bytes;
};

/* Bytes of memory that a segment takes. */
size_t segment_memory(const struct segment_size *size);

/* An empty segment, charged to the budget (past its limit only where may_force). Takes over the
 * reference to resource; its maker fills scopes, spans and bytes. NULL: no room; resource kept. */
struct segment *segment_new(const struct segment_size *size, struct interner *interner,
                            struct interned *resource, bool may_force);

/* Frees one that was never put into the hold. NULL is legal. */
void segment_free(struct segment *segment);

/* Notes that n of its spans were written and handed on; the last one frees it. Any thread. */
void segment_written(struct segment *segment, uint32_t n);

static inline struct segment *segment_of(const struct held *held)
{
    return (struct segment *)(void *)((char *)held - held->back);
}

/* Spans on their way out, in order. */
struct release {
    struct held *first;
    struct held **end; /* NULL while empty */
    size_t count;
};

/* Moves all of more behind what is there; more is empty then. */
void release_join(struct release *release, struct release *more);

/* Orders spans as they came, those of a segment one after the other. */
void release_sort(struct release *release);

#endif
