/*
 * A flame graph: samples of any number of profiles as one tree of functions, and that tree as JSON,
 * folded text, pprof or SVG. Bounded: of more than FLAME_NODES nodes those that come last count for
 * their parents. Not thread-safe.
 */
#ifndef EXTENSIONS_STATUS_FLAME_H
#define EXTENSIONS_STATUS_FLAME_H

#include "extensions/status/json.h"
#include "extensions/status/names.h"
#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/series.h"

enum { FLAME_NODES = 600000, FLAME_TYPES = 32, FLAME_TYPE_SIZE = 256 };

struct flame_node {
    uint32_t parent, name;
    uint32_t next; /* in its bucket, number + 1 */
    int64_t self, total;
};

/* Which samples are wanted. */
struct flame_filter {
    const uint64_t *ids; /* ascending; NULL: whatever span they name, or none */
    size_t id_count;
    const char *service; /* NULL: of any */
    const char *type;    /* "process_cpu:cpu:nanoseconds:cpu:nanoseconds"; "": what is best */
    uint64_t from, to;   /* wall; of the profile's time */
};

struct flame {
    struct budget *budget;
    struct flame_filter filter;
    struct names names;
    struct bytes nodes; /* struct flame_node; parents before children, the first is the root */
    uint32_t *buckets;
    size_t capacity;
    char type[FLAME_TYPE_SIZE];               /* that is drawn; "": none was found */
    int rank;                                 /* of it */
    char types[FLAME_TYPES][FLAME_TYPE_SIZE]; /* that there are */
    size_t type_count;
    uint64_t samples;
    uint64_t start, end; /* wall; of the profiles that had any; 0: none told */
    int64_t period;
    bool truncated; /* a node or a frame was left out */
    bool failed;    /* no memory */
};

void flame_init(struct flame *flame, const struct flame_filter *filter, struct budget *budget);
void flame_release(struct flame *flame);

/* What a pprof stands for. */
struct flame_source {
    struct view raw;
    const struct series *series; /* NULL: none */
    bool by_ingest;
    const char *sample_type_config; /* NULL: none */
    uint64_t arrived;               /* wall */
};

/* Adds the samples of a checked pprof that the filter takes. */
void flame_add_pprof(struct flame *flame, const struct flame_source *source);

/* The same of a checked OTLP profiles request. */
void flame_add_otlp(struct flame *flame, struct view request, uint64_t arrived);

/* The same of a body for /ingest: folded text and JFR. */
void flame_add_ingest(struct flame *flame, const char *query, const char *content_type,
                      struct view body, uint64_t arrived);

/* Sums up; before any of these is written. */
void flame_finish(struct flame *flame);

void flame_json(struct flame *flame, struct json *json);
bool flame_folded(struct flame *flame, struct bytes *out);
bool flame_pprof(struct flame *flame, struct bytes *out); /* plain, without gzip */
bool flame_svg(struct flame *flame, struct view title, struct bytes *out);

/* For the flame*.c files. */

static inline struct flame_node *flame_nodes(const struct flame *flame)
{
    return (struct flame_node *)(void *)flame->nodes.data;
}

static inline size_t flame_count(const struct flame *flame)
{
    return flame->nodes.size / sizeof(struct flame_node);
}

/* The node of a name below another, made where it is new. */
uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t name);

/* Whether values of a type are to be added; it counts as one that there is. What was added of one
 * that is not as good is taken back. */
bool flame_takes(struct flame *flame, const char *type);

/* The second part, ':' behind the third, of a type. */
void flame_unit(const struct flame *flame, char *type, char *unit, size_t size);

/* Whether the filter takes samples with this id; 0: none. */
bool flame_wants_id(const struct flame *flame, uint64_t id);

#endif
