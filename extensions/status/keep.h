/*
 * Forwarded requests in wire form. When space runs short they are compressed, then evicted, oldest
 * first; also when the memory budget runs short. Traces requests are collected in blocks. Unlinked
 * traces are evicted before linked traces and profiles while they have more than a quarter of the
 * ceiling. Any thread.
 */
#ifndef EXTENSIONS_STATUS_KEEP_H
#define EXTENSIONS_STATUS_KEEP_H

#include "lib/base/buffer.h"
#include "lib/wire/pprof/series.h"

#include <pthread.h>

/* In the order of eviction. */
enum kept_class { KEPT_UNLINKED, KEPT_LINKED, KEPT_CLASSES };

/* FIGURES: the extension's own: numbers of spans, behind one another. */
enum kept_kind { KEPT_TRACES, KEPT_PPROF, KEPT_PROFILES, KEPT_OPAQUE, KEPT_FIGURES };

static inline bool kept_is_profile(enum kept_kind kind)
{
    return kind != KEPT_TRACES && kind != KEPT_FIGURES;
}

/* Refcounted and immutable, except that its bytes are compressed in place while the keep has the
 * only reference, and that the current block grows. */
struct kept {
    _Atomic unsigned refs;
    enum kept_kind kind;
    enum kept_class class;
    uint64_t serial;  /* from 1, larger than that of older ones */
    uint64_t arrived; /* wall; of the newest request in it */
    uint64_t first;   /* the same of the oldest */
    size_t requests, spans;
    size_t plain; /* bytes */
    bool packed;
    struct series *series; /* PPROF; NULL: none */
    char *query, *content; /* OPAQUE; and of a PPROF that came by /ingest its
                            * sample_type_config as query; NULL: none */
    bool by_ingest;        /* PPROF */
    uint64_t starts; /* PPROF: its window, where its time says something else; 0: it does not */
    struct budget *budget;
    size_t charged;
    struct bytes bytes;
};

void kept_unref(struct kept *kept); /* may be NULL */

/* The plain content, appended to out. False: no memory. */
bool kept_open(const struct kept *kept, struct bytes *out);

/* What is kept of a class. */
struct keep_ring {
    struct kept **ring; /* from oldest on, `count` of them */
    size_t capacity, oldest, count;
    size_t looked;      /* of these, the oldest that were tried to be compressed */
    size_t size;        /* bytes charged for them and the block */
    struct kept *block; /* traces requests behind one another; NULL: none */
};

/* How far back it reaches. Times are wall time of arrival, ns. */
struct keep_reach {
    uint64_t oldest;         /* of the kept traces; 0: none are kept; ... */
    uint64_t oldest_profile; /* ... of the kept profiles */
    uint64_t whole_since;    /* nothing that arrived later was evicted; 0: nothing was at all */
    uint64_t requests;       /* that were evicted; ... */
    uint64_t spans;          /* ... the spans in them; ... */
    uint64_t for_memory;     /* ... of these, since the memory budget was short */
    uint64_t profiles;       /* arrival of the newest profile that was evicted; 0: none was */
    uint64_t linked_traces;  /* the same of the traces with linked spans */
    uint64_t figures;        /* the same of figures, evicted or refused */
    uint64_t refused;        /* requests that were never kept: no room or no memory, ... */
    uint64_t refused_spans;  /* ... and the spans in them */
};

struct keep {
    struct budget *budget;
    size_t max;
    pthread_mutex_t lock; /* guards the rest */
    struct keep_ring rings[KEPT_CLASSES];
    struct kept *figures; /* a block of them, charged to the ring of linked; NULL: none */
    size_t size;          /* bytes of all */
    uint64_t serial;      /* the newest given */
    uint64_t refused, refused_spans;
    uint64_t freed;          /* bytes that it shrank by: compressed, or evicted FOR_MEMORY */
    struct keep_reach reach; /* but for oldest and what was refused */
};

void keep_init(struct keep *keep, size_t max, struct budget *budget);
void keep_release(struct keep *keep);

/* Adds a traces request with so many spans. */
void keep_traces(struct keep *keep, enum kept_class class, struct view request, size_t spans,
                 uint64_t arrived);

/* Adds figures, which give way as linked traces do. KEEP_FIGURES is a multiple of the size of one:
 * none is divided. */
enum { KEEP_FIGURES = 16000 };
void keep_figures(struct keep *keep, struct view figures, uint64_t arrived);

/* Adds a profiles request, whose kind, arrival, series, query and content type are in head and are
 * taken over. A large one is compressed at once, and refused if it then has more than a quarter of
 * the ceiling. False: it was not added; counted as refused. */
bool keep_profile(struct keep *keep, const struct kept *head, struct view content);

/* Whether more than 7/8 of the ceiling is used, so that something should be compressed. */
bool keep_is_tight(struct keep *keep);

/* Compresses the oldest uncompressed request. Slow: not for data threads. One thread at a time.
 * False: there is nothing left to compress. */
bool keep_pack(struct keep *keep);

/* Returns references to everything with a serial from `from` on, in order of serial; the current
 * blocks are copied. NULL: none, or no memory. Free with keep_list_free. */
struct kept **keep_list(struct keep *keep, uint64_t from, size_t *count);
void keep_list_free(struct kept **list, size_t count);

/* The serial of the oldest of a class that has traces; larger than all given: none has. */
uint64_t keep_oldest_block(struct keep *keep, enum kept_class class);

struct keep_reach keep_reach(struct keep *keep);

/* Says how many requests were not kept, and what to do: those that were refused, and those that the
 * caller skipped. Writes "" if there are none. */
enum { KEEP_TEXT = 1000 };
void keep_text(const struct keep_reach *reach, uint64_t skipped, uint64_t skipped_spans,
               char out[KEEP_TEXT]);

/* Evicts the oldest until at most `size` bytes are left, for the memory budget. */
void keep_shrink(struct keep *keep, size_t size);

#endif
