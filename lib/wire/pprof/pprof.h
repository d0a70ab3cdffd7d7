/*
 * pprof profiles in wire format (github.com/google/pprof proto/profile.proto): read in place,
 * edited by splice. Pure; the index of the string table and small tables come from an arena.
 */
#ifndef LIB_WIRE_PPROF_PPROF_H
#define LIB_WIRE_PPROF_PPROF_H

#include "lib/base/arena.h"
#include "lib/wire/proto/proto_shape.h"
#include "lib/wire/proto/splice.h"

enum { PPROF_MAX_TYPES = 16 };

/* The meaning of a string as the key of a sample label. */
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

/* Where the fields with one number are: nearly always in one run. */
struct pprof_fields {
    size_t count, runs;
    const uint8_t *from, *to; /* start of the first and end of the last; NULL: none */
};

struct pprof {
    struct view raw;
    uint32_t *strings;  /* where each field of the string table starts; see pprof_string_at */
    uint8_t *keys;      /* enum pprof_key of each string; a table may repeat strings */
    unsigned keys_seen; /* bits 1 << enum pprof_key of the keys in the table */
    size_t string_count;
    struct pprof_type types[PPROF_MAX_TYPES]; /* of the values, in order */
    size_t type_count;
    struct pprof_type period_type;
    int64_t period;
    int64_t time_nanos;
    int64_t duration_nanos;
    size_t sample_count;
    struct pprof_fields fields[16]; /* by number; [0]: all numbers from 16 */
};

struct pprof_sample {
    struct proto_field field; /* the Sample field of the profile */
    size_t value_count;
    int64_t values[PPROF_MAX_TYPES]; /* in the order of types */
    struct view span_id;             /* value of span_id, else of profile_id; data NULL: none */
    struct view trace_id;            /* value of trace_id; data NULL: none */
};

/* Validates raw (inflated) bytes as a profile and indexes it; raw is borrowed, the index is in the
 * arena (5 bytes per string). False: fault is set; an exhausted arena, or 4 GiB, is reason
 * pprof_too_large.
 * Besides violations of shape_pprof it refuses what every server refuses: no sample type,
 * string_table[0] not "", a string that is not UTF-8, a string index outside the table, a location
 * or function id 0, a sample whose value count differs from the number of types. More than
 * PPROF_MAX_TYPES types are refused too. */
bool pprof_open(struct pprof *pprof, struct view raw, struct arena *arena,
                struct proto_fault *fault);

extern const char pprof_too_large[];

/* How many bytes the indices that are made to split or convert an open profile take at most: an
 * entry of the profile may have 2 bytes, and then its row in an index is many times as large. */
size_t pprof_tables_most(const struct pprof *pprof);

/* As pprof_open, without validation: for bytes that pprof_open has accepted before. False: the
 * arena has no room. */
bool pprof_reopen(struct pprof *pprof, struct view raw, struct arena *arena);

/* Whether the profile has a time. By the server's rule a time in 1970 is none (old senders used
 * other units). */
static inline bool pprof_has_time(const struct pprof *pprof)
{
    return pprof->time_nanos < 0 || pprof->time_nanos >= INT64_C(31536000000000000);
}

/* Iterate over the samples of an open profile: start with scan = pprof_samples(pprof). */
struct proto_scan pprof_samples(const struct pprof *pprof);
bool pprof_next_sample(const struct pprof *pprof, struct proto_scan *scan,
                       struct pprof_sample *sample);

/* The string with an index below string_count. */
static inline struct view pprof_string_at(const struct pprof *pprof, size_t index)
{
    const uint8_t *at = pprof->raw.data + pprof->strings[index];
    while (*at++ & 0x80)
        ; /* the tag */
    uint64_t size = *at;
    at = size < 0x80 ? at + 1 : proto_varint(at, pprof->raw.data + pprof->raw.size, &size);
    return (struct view){at, (size_t)size};
}

/* The string with an index; empty if the index is outside the table. */
struct view pprof_string(const struct pprof *pprof, uint64_t index);

/* How to normalise a profile. */
struct pprof_rewrite {
    bool strip_trace_id; /* drop trace_id labels */
    bool drop_time;      /* drop time_nanos; pprof_set_time follows */
    /* profile_id -> span_id is always renamed, and Ruby's span -> span_name on samples with either
     * of the ids */
};

/* Makes the edits of rewrite through the splice, which must be at the start of the profile. If a
 * sample has both alias and name, the alias label is dropped. Only labels with a string value are
 * considered. New key strings are appended to the string table. Nothing else changes; without
 * anything to do there are no edits. */
void pprof_rewrite_labels(const struct pprof *pprof, const struct pprof_rewrite *rewrite,
                          struct splice *splice);

/* Appends time_nanos through the splice, after everything else. An existing one must be dropped
 * first (drop_time): parsers take a second one as the start of another profile. May follow
 * pprof_rewrite_labels. */
void pprof_set_time(const struct pprof *pprof, int64_t time_nanos, struct splice *splice);

/* The name (__name__) that Pyroscope gives a pprof from /ingest, from its sample types and the
 * display names in sample_type_config (JSON; data NULL or empty: the server's own table of display
 * names). The text is in the arena, the profile or static. Data NULL: invalid configuration, or the
 * arena has no room. */
struct view pprof_series_name(const struct pprof *pprof, struct view sample_type_config,
                              struct arena *arena);

/* Whether the server would accept this sample_type_config. */
bool pprof_config_valid(struct view sample_type_config);

#endif
