/* The original_payload of an OTLP Profile where that is a pprof. Pure. */
#ifndef WIRE_PROFILES_ORIGINAL_H
#define WIRE_PROFILES_ORIGINAL_H

#include "base/bytes.h"
#include "wire/otlp_profiles.h"

/* The payload of a Profile's body as it stands there; data NULL: none, or in another format. */
struct view profiles_original(struct view profile);

struct profiles_original_use {
    uint64_t time_ns;    /* of a payload without a time */
    bool strip_trace_id; /* drop its trace_id labels */
    bool needs_spans;    /* the Profile's samples have links: use only one with span ids */
};

/* Inflates a payload, checks it and writes it to out (empty at the call) as a pprof with its
 * aliases normalised. Sets *name to the __name__ that the server gives a pprof, in the arena or
 * static, and *samples to their number. False: it cannot be used, out is empty. */
struct profiles_original_pprof {
    struct view name;
    uint32_t samples;
};
bool profiles_original_write(struct view payload, const struct profiles_original_use *use,
                             struct arena *arena, struct bytes *out,
                             struct profiles_original_pprof *pprof);

#endif
