/*
 * Converts OTLP profiles to pprofs with series labels as Pyroscope does, so that they can be sent
 * by Push (reference: Pyroscope's OTLP ingest). Unlike the server it does not lose data: references
 * into the dictionary are resolved, several values of a sample are summed, and an original_payload
 * is used. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_TO_PPROF_H
#define LIB_WIRE_PROFILES_PROFILES_TO_PPROF_H

#include "lib/base/bytes.h"
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/profiles/pprof_make.h"
#include "lib/wire/profiles/profiles_series.h"

struct profiles_policy {
    bool
        trace_ids; /* write trace_id labels; only for servers that do not make them series labels */
    uint64_t now_ns; /* time for profiles that have none; 0: leave it unset */
};

/* One resulting pprof: all samples of one OTLP Profile with the same service. */
struct profiles_part {
    struct series *series; /* one reference, owned by the caller */
    uint32_t profile;      /* index in the request, from 0 */
    uint32_t samples;
    bool original; /* out holds the original_payload */
};

struct profiles_sample {
    struct view body;
    uint32_t next; /* index + 1 of the next sample with the same service; 0: none */
};

struct profiles_to_pprof {
    struct profiles_policy policy;
    struct otlp_dictionary dictionary;
    struct profiles_attributes attributes;
    struct pprof_make make;
    struct arena *arena;
    struct otlp_walk walk;
    struct profiles_labels *labels;
    size_t limit;       /* limit on the total work for the request */
    size_t work;        /* bytes written so far */
    const char *broken; /* why no further part is possible */
    uint32_t profile;   /* profiles begun so far */
    struct otlp_profile at;
    struct view payload;             /* the last one used in this scope; data NULL: none */
    struct profiles_sample *samples; /* of the current profile */
    uint32_t *first, *last;          /* by service: index + 1 into samples */
    uint32_t *services;              /* services left in the current profile */
    uint32_t service_count, service_at;
};

/* Starts converting a checked request (layout 1.10), which is borrowed. The arena needs about 40
 * bytes per dictionary entry, 100 per attribute and link, and 24 per sample of the largest profile.
 * False: *reason (static text). */
bool profiles_to_pprof_begin(struct profiles_to_pprof *conversion, struct view request,
                             const struct profiles_policy *policy, struct arena *arena,
                             const char **reason);

/* Writes the next pprof to out (cleared first), in the request's order. False with *reason NULL: no
 * more. False with a reason: the profile part->profile has no (further) pprof, and the next call
 * continues with the next one. If many profiles each repeat so much of the dictionary that the
 * request would multiply, the conversion ends with a reason. A Profile without samples has no
 * pprof, and a sample without values and timestamps is left out. A valid original_payload in format
 * pprof (gzip or not) is used unless the samples have links or services that it lacks; if the next
 * profile of the scope has the same payload it is skipped, since the payload has all types of the
 * profile. */
bool profiles_to_pprof_next(struct profiles_to_pprof *conversion, struct profiles_part *part,
                            struct bytes *out, const char **reason);

#endif
