/*
 * Converts a pprof with its series labels to an OTLP profiles request (layout of 1.10 and 1.11) for
 * any OTLP backend. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PPROF_TO_PROFILES_H
#define LIB_WIRE_PROFILES_PPROF_TO_PROFILES_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/series.h"

struct pprof_source {
    const struct pprof *pprof; /* open */
    const struct series *series;
    bool by_ingest; /* the label __name__ is the application's name rather than the type's */
};

/* Writes one request to out, which must be empty: a resource with service.name (from the label
 * service_name, else the application's name, else absent) and the other labels that are not private
 * (__x__); one Profile per sample type, in order, with the samples whose value of that type is not
 * 0; all tables with index 0 as "not set", and the pprof's strings with unchanged indices. A sample
 * with a span id of 16 hex digits, not all 0 (label span_id, else profile_id) gets a Link, with the
 * trace id of 32 hex digits from trace_id, else 16 zero bytes. Its other labels, and invalid ids,
 * become attributes: strings as they are, numbers with their unit. Comments, drop_frames,
 * keep_frames and the URL become pprof.profile.* attributes of each Profile; build id, symbol flags
 * and is_folded become those of the semantic conventions. Unknown fields and default_sample_type
 * cannot be represented. False: *reason (static text), out is empty. The arena needs about 64 bytes
 * per sample, 40 per table entry, and the tables that are made. */
bool pprof_to_profiles(const struct pprof_source *source, struct arena *arena, struct bytes *out,
                       const char **reason);

#endif
