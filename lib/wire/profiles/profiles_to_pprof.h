/*
 * OTLP profiles as pprofs with series labels, as Pyroscope makes them of an OTLP request, so that
 * they can go by Push (reference: Pyroscope's OTLP ingest). Where the server is known to lose data,
 * this does not: references into the dictionary are resolved, several values of a sample are
 * summed, and an original_payload is used. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_TO_PPROF_H
#define LIB_WIRE_PROFILES_PROFILES_TO_PPROF_H

#include "lib/base/bytes.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/profiles/pprof_make.h"
#include "lib/wire/profiles/profiles_series.h"

struct profiles_policy {
    bool trace_ids;  /* write trace_id labels: only servers that keep them out of the series */
    uint64_t now_ns; /* the time of profiles that have none; 0: they stay so */
};

/* A pprof of a request: all samples of one OTLP Profile that name one service. */
struct profiles_part {
    struct series *series; /* one reference, the caller's */
    uint32_t profile;      /* of the request, from 0 */
    uint32_t samples;
    bool original; /* out holds the original_payload */
};

struct profiles_sample {
    struct view body;
    uint32_t next; /* of the same service, 1 past its place; 0: none */
};

struct profiles_to_pprof {
    struct profiles_policy policy;
    struct otlp_dictionary dictionary;
    struct profiles_attributes attributes;
    struct pprof_make make;
    struct arena *arena;
    struct otlp_walk walk;
    struct profiles_labels *labels;
    size_t limit;       /* of all the work on the request */
    size_t work;        /* bytes written so far */
    const char *broken; /* why no part can follow */
    uint32_t profile;   /* profiles begun */
    struct otlp_profile at;
    struct view payload;             /* that was used last in this scope; data NULL: none */
    struct profiles_sample *samples; /* of the profile at hand */
    uint32_t *first, *last;          /* by service: places, 1 past */
    uint32_t *services;              /* those of the profile at hand that are left */
    uint32_t service_count, service_at;
};

/* Opens a checked request (layout 1.10); it is borrowed and the rest lives in the arena: per entry
 * of the dictionary some 40 bytes, per attribute and link 100, 24 for each sample of the largest
 * profile. False: *reason (static text). */
bool profiles_to_pprof_begin(struct profiles_to_pprof *conversion, struct view request,
                             const struct profiles_policy *policy, struct arena *arena,
                             const char **reason);

/* Writes the next pprof to out (cleared first), in the request's order. False with *reason NULL:
 * there are no more. False with a reason: the profile part->profile has no (further) pprof, and
 * another call goes on with the next one. Where each of many profiles repeats too much of the
 * dictionary, so that the request would multiply, it ends with a reason.
 * A Profile without samples has no pprof, nor has a sample without values and timestamps.
 * original_payload is used where its format is pprof and it is a valid one (plain or gzip), unless
 * the samples have links or services that it lacks; the same payload again in the next profile of
 * the scope is passed over, since it holds all types of the profile at once. */
bool profiles_to_pprof_next(struct profiles_to_pprof *conversion, struct profiles_part *part,
                            struct bytes *out, const char **reason);

#endif
