/*
 * A flame graph: merges the samples of any number of profiles into one tree of functions, and
 * writes it as JSON, folded text, pprof or SVG. Bounded: past FLAME_NODES nodes, values go to the
 * parent instead of a new node. Not thread-safe.
 */
#ifndef EXTENSIONS_STATUS_FLAME_H
#define EXTENSIONS_STATUS_FLAME_H

#include "extensions/status/json.h"
#include "extensions/status/names.h"
#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/series.h"

enum { FLAME_NODES = 600000, FLAME_TYPES = 32, FLAME_TYPE_SIZE = 256, FLAME_STATES = 256 };

struct flame_node {
    uint32_t parent, name;
    int64_t self;
};

/* A span id, and the service that profiles with samples of it must have: a hash as of left_out.h;
 * 0: any. */
struct flame_id {
    uint64_t id, service;
};

/* Selects samples. */
struct flame_filter {
    const struct flame_id *ids; /* by id, ascending; NULL: samples with any span id, or none */
    size_t id_count;
    const char *service; /* NULL: any */
    const char *type;    /* "process_cpu:cpu:nanoseconds:cpu:nanoseconds"; "": the best found */
    uint64_t from, to;   /* wall time, ns; profiles that overlap it */
};

struct flame {
    struct budget *budget;
    struct flame_filter filter;
    struct names names;
    struct bytes nodes; /* struct flame_node; parents before children, 0 is the root */
    uint32_t *buckets;  /* open addressing: index of a node + 1; 0: free */
    size_t capacity;
    int64_t *totals;                          /* by node; set by flame_finish */
    size_t total_count;                       /* of these */
    char type[FLAME_TYPE_SIZE];               /* the type drawn; "": none found */
    int rank;                                 /* of that type */
    char types[FLAME_TYPES][FLAME_TYPE_SIZE]; /* all types found */
    uint64_t type_sums[FLAME_TYPES];          /* their values, drawn or not */
    size_t type_count;
    bool is_state;     /* the type drawn is one (see flame_begin_profile) */
    uint64_t profiles; /* drawn */
    struct {
        uint64_t series, service, arrived; /* as given to flame_begin_profile */
        bool counted;
    } current;
    uint64_t states[FLAME_STATES], newest_state; /* series of those drawn; when the newest came */
    size_t state_count;
    uint64_t *added; /* hashes of the profiles that were added */
    size_t added_count, added_room;
    uint64_t samples;    /* taken by the profiler: see Samples in docs/openapi.yaml */
    bool *met;           /* of the filter's ids, those that samples have; NULL: no filter */
    size_t spans;        /* how many */
    uint64_t start, end; /* wall time, ns, of the profiles with such samples; 0: not known */
    int64_t period;
    uint64_t sum;   /* of all values */
    bool too_large; /* for their sum */
    bool merged;    /* a node or frame was left out, so that its values count for its caller */
    bool truncated; /* a profile or value was left out, or a profile could not be read */
    const char *text, *fix; /* why, and what to do about it: sentences; static; NULL: none */
    bool failed;            /* out of memory */
};

void flame_init(struct flame *flame, const struct flame_filter *filter, struct budget *budget);
void flame_release(struct flame *flame);

/* A pprof and what its upload says about it. */
struct flame_source {
    struct view raw;
    bool discards; /* raw is the caller's scratch: its pages may be discarded as they are read */
    const struct series *series; /* NULL: none */
    bool by_ingest;
    const char *sample_type_config; /* NULL: none */
    uint64_t arrived;               /* wall time, ns */
    uint64_t starts; /* wall time, ns, of its window, where its time is another; 0: it is not */
};

/* Adds the samples of a validated pprof that match the filter. */
void flame_add_pprof(struct flame *flame, const struct flame_source *source);

/* The same for a validated OTLP profiles request. */
void flame_add_otlp(struct flame *flame, struct view request, uint64_t arrived);

/* The same for the body of a request to /ingest: JFR, folded text, lines, trie, tree or speedscope;
 * only JFR has span ids. */
void flame_add_ingest(struct flame *flame, const char *query, const char *content_type,
                      struct view body, uint64_t arrived);

/* Whether CPU time is drawn, and came as values of another type too. */
bool flame_has_other_cpu(const struct flame *flame);

/* The type to draw in place of the one drawn: where that has no values, the most useful one that
 * has; where it is CPU time in ns, the type of CPU time whose values add up to most. NULL: it is
 * right. Valid until the flame graph is released. */
const char *flame_better_type(const struct flame *flame);

/* Whether a type is CPU time in ns. */
bool flame_is_cpu_time(const char *type);

/* Computes the totals and releases what only adding needs. Call it once, before a writer of
 * flame_write.h begins; nothing can be added after it, and the filter's pointers are not used any
 * more. Sets failed if there is no memory. */
void flame_finish(struct flame *flame);

/* Internal to the flame*.c files. */

static inline struct flame_node *flame_nodes(const struct flame *flame)
{
    return (struct flame_node *)(void *)flame->nodes.data;
}

static inline size_t flame_count(const struct flame *flame)
{
    return flame->nodes.size / sizeof(struct flame_node);
}

/* After flame_finish. */
static inline int64_t flame_total(const struct flame *flame, size_t node)
{
    return node < flame->total_count ? flame->totals[node] : 0;
}

/* Copies the second and third part of flame->type; each buffer has `size` bytes. */
void flame_unit(const struct flame *flame, char *type, char *unit, size_t size);

#endif
