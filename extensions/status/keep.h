/*
 * Requests that passed, in wire form: compressed where room gets scarce, then the oldest give way
 * to newer ones, and all to the memory budget. Traces requests are joined to blocks. Linked traces
 * and profiles give way last: others do first, unless these have a quarter of the room or less. Any
 * thread.
 */
#ifndef EXTENSIONS_STATUS_KEEP_H
#define EXTENSIONS_STATUS_KEEP_H

#include "lib/base/buffer.h"
#include "lib/wire/pprof/series.h"

#include <pthread.h>

/* By what gives way first. */
enum kept_class { KEPT_UNLINKED, KEPT_LINKED, KEPT_CLASSES };

enum kept_kind { KEPT_TRACES, KEPT_PPROF, KEPT_PROFILES, KEPT_OPAQUE };

/* Refcounted; immutable but for its bytes, which are replaced by the same ones compressed while
 * nobody else has a reference, and grow while it is the block. */
struct kept {
    _Atomic unsigned refs;
    enum kept_kind kind;
    enum kept_class class;
    uint64_t serial;  /* from 1, larger than that of older ones */
    uint64_t arrived; /* wall; of the newest request in it */
    size_t plain;     /* bytes */
    bool packed;
    struct series *series; /* PPROF; NULL: none */
    char *query, *content; /* OPAQUE; and of a PPROF that came by /ingest its
                            * sample_type_config as query; NULL: none */
    bool by_ingest;        /* PPROF */
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

struct keep {
    struct budget *budget;
    size_t max;
    pthread_mutex_t lock; /* guards the rest */
    struct keep_ring rings[KEPT_CLASSES];
    size_t size;     /* bytes of all */
    uint64_t serial; /* the newest given */
    uint64_t evicted, refused;
};

void keep_init(struct keep *keep, size_t max, struct budget *budget);
void keep_release(struct keep *keep);

/* Adds a traces request. */
void keep_traces(struct keep *keep, enum kept_class class, struct view request, uint64_t arrived);

/* Adds what is to be kept of a profiles request: kind, arrived and what stands beside it are set;
 * all of it is taken over. */
void keep_profile(struct keep *keep, const struct kept *head, struct view content);

/* Whether it has come so near to its ceiling that something is to be compressed. */
bool keep_is_tight(struct keep *keep);

/* Compresses the oldest that is not: not on a thread that data need. One thread at a time. False:
 * there is nothing left to compress. */
bool keep_pack(struct keep *keep);

/* What is there with a serial from `from` on, by serial, a reference to each; blocks come as
 * copies. NULL: none, or no memory. Ended by keep_list_free. */
struct kept **keep_list(struct keep *keep, uint64_t from, size_t *count);
void keep_list_free(struct kept **list, size_t count);

/* The serial of the oldest of a class that has traces; larger than all given: none has. */
uint64_t keep_oldest_block(struct keep *keep, enum kept_class class);

/* Lets the oldest go until no more than so many bytes are left. */
void keep_shrink(struct keep *keep, size_t size);

#endif
