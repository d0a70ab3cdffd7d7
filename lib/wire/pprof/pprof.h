/*
 * pprof profiles in wire form (github.com/google/pprof proto/profile.proto): read in place, edited
 * by splice. Pure; an index of the string table and small tables come from an arena.
 */
#ifndef LIB_WIRE_PPROF_PPROF_H
#define LIB_WIRE_PPROF_PPROF_H

#include "lib/base/arena.h"
#include "lib/wire/proto/proto_shape.h"
#include "lib/wire/proto/splice.h"

enum { PPROF_MAX_TYPES = 16 };

/* What a string means as the key of a sample label. */
enum pprof_key {
    PPROF_KEY_OTHER,
    PPROF_KEY_SPAN_ID,
    PPROF_KEY_PROFILE_ID, /* alias of span_id */
    PPROF_KEY_TRACE_ID,
    PPROF_KEY_SPAN, /* Ruby's alias of span_name */
    PPROF_KEY_SPAN_NAME
};

struct pprof_type {
    struct view type; /* e.g. "cpu" */
    struct view unit; /* e.g. "nanoseconds" */
};

/* Where the fields of one number stand: nearly always in one run. */
struct pprof_fields {
    size_t count, runs;
    const uint8_t *from, *to; /* the first's start and the last's end; NULL: there is none */
};

struct pprof {
    struct view raw;
    struct view *strings; /* the string table */
    uint8_t *keys;        /* enum pprof_key of each string: a table may hold a string twice */
    unsigned keys_seen;   /* bits 1 << enum pprof_key of those in the table */
    size_t string_count;
    struct pprof_type types[PPROF_MAX_TYPES]; /* of each value, in order */
    size_t type_count;
    struct pprof_type period_type;
    int64_t period;
    int64_t time_nanos;
    int64_t duration_nanos;
    size_t sample_count;
    struct pprof_fields fields[16]; /* by number; [0]: all of 16 and above */
};

struct pprof_sample {
    struct proto_field field; /* the Sample field of the profile */
    size_t value_count;
    int64_t values[PPROF_MAX_TYPES]; /* in the order of types */
    struct view span_id;             /* value of span_id, else of profile_id; data NULL: none */
    struct view trace_id;            /* value of trace_id; data NULL: none */
};

/* Checks raw (inflated) bytes as a profile and indexes it; raw is borrowed, the index lives in the
 * arena (17 bytes a string). False: fault says why; an exhausted arena is reason "too large".
 * Beyond shape_pprof it refuses what every server refuses: no sample type, string_table[0] not "",
 * a string that is not UTF-8, a string index outside the table, a location or function id 0, a
 * value count that is not the number of types. More than PPROF_MAX_TYPES types are refused. */
bool pprof_open(struct pprof *pprof, struct view raw, struct arena *arena,
                struct proto_fault *fault);

/* The same for bytes that were taken by pprof_open: indexed, and not checked again. False: the
 * arena has no room. */
bool pprof_reopen(struct pprof *pprof, struct view raw, struct arena *arena);

/* Whether it has a time of its own. The server's rule: one in 1970 is none (old senders wrote other
 * units). */
static inline bool pprof_has_time(const struct pprof *pprof)
{
    return pprof->time_nanos < 0 || pprof->time_nanos >= INT64_C(31536000000000000);
}

/* Walks the samples of an open profile: start with scan = pprof_samples(pprof). */
struct proto_scan pprof_samples(const struct pprof *pprof);
bool pprof_next_sample(const struct pprof *pprof, struct proto_scan *scan,
                       struct pprof_sample *sample);

/* The string of an index; empty for an index outside the table. */
struct view pprof_string(const struct pprof *pprof, uint64_t index);

/* How a profile is normalised on its way. */
struct pprof_rewrite {
    bool strip_trace_id; /* drop trace_id labels */
    bool drop_time;      /* drop time_nanos, for pprof_set_time to follow */
    /* profile_id -> span_id is always done, and Ruby's span -> span_name on samples that carry
     * either of them */
};

/* Edits through the splice, which stands at the start of the profile: as the rewrite says (where a
 * sample has both alias and name, the alias label is dropped). Only labels with a string value
 * count. New key strings are appended to the string table. Nothing else moves. No edit at all where
 * there is nothing to do. */
void pprof_rewrite_labels(const struct pprof *pprof, const struct pprof_rewrite *rewrite,
                          struct splice *splice);

/* Sets time_nanos through the splice, behind everything else. One that is there is dropped before
 * (drop_time): parsers take a second one for two profiles in a row. May follow
 * pprof_rewrite_labels. */
void pprof_set_time(const struct pprof *pprof, int64_t time_nanos, struct splice *splice);

/* The name that Pyroscope gives a pprof that came by /ingest (__name__), from its sample types and
 * the display names of sample_type_config (JSON text; data NULL or empty: none, then the server's
 * own table of display names holds). In the arena, the profile or static. Data NULL: the
 * configuration is not valid, or the arena has no room. */
struct view pprof_series_name(const struct pprof *pprof, struct view sample_type_config,
                              struct arena *arena);

/* Whether the server would take this as a sample_type_config. */
bool pprof_config_valid(struct view sample_type_config);

#endif
