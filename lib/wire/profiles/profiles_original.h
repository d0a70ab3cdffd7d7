/* The original_payload of an OTLP Profile, if it is a pprof. Pure. */
#ifndef LIB_WIRE_PROFILES_PROFILES_ORIGINAL_H
#define LIB_WIRE_PROFILES_PROFILES_ORIGINAL_H

#include "lib/base/bytes.h"
#include "lib/wire/profiles/otlp_profiles.h"

/* The payload of a Profile body, unchanged; data NULL: none, or in another format. */
struct view profiles_original(struct view profile);

struct profiles_original_use {
    uint64_t time_ns;    /* time for a payload that has none */
    bool strip_trace_id; /* drop its trace_id labels */
    bool needs_spans;    /* the Profile's samples have links: the payload must have span ids */
};

struct profiles_original_pprof {
    struct view name; /* the __name__ that the server gives a pprof; in the arena or static */
    uint32_t samples;
    size_t inflated; /* inflated size, set on failure too */
};

/* Inflates and checks a payload and writes it to out, which must be empty, as a pprof with
 * normalised label aliases. False: it cannot be used; out is empty. */
bool profiles_original_write(struct view payload, const struct profiles_original_use *use,
                             struct arena *arena, struct bytes *out,
                             struct profiles_original_pprof *made);

#endif
