/* The original_payload of an OTLP Profile where that is a pprof. Pure. */
#ifndef LIB_WIRE_PROFILES_PROFILES_ORIGINAL_H
#define LIB_WIRE_PROFILES_PROFILES_ORIGINAL_H

#include "lib/base/bytes.h"
#include "lib/wire/profiles/otlp_profiles.h"

/* The payload of a Profile's body as it stands there; data NULL: none, or in another format. */
struct view profiles_original(struct view profile);

struct profiles_original_use {
    uint64_t time_ns;    /* of a payload without a time */
    bool strip_trace_id; /* drop its trace_id labels */
    bool needs_spans;    /* the Profile's samples have links: use only one with span ids */
};

struct profiles_original_pprof {
    struct view name; /* __name__, as the server gives it to a pprof; in the arena or static */
    uint32_t samples;
    size_t inflated; /* bytes that inflating came to, set on failure too */
};

/* Inflates a payload, checks it and writes it to out (empty at the call) as a pprof with its
 * aliases normalised. False: it cannot be used, out is empty. */
bool profiles_original_write(struct view payload, const struct profiles_original_use *use,
                             struct arena *arena, struct bytes *out,
                             struct profiles_original_pprof *made);

#endif
