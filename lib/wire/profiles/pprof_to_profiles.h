/*
 * A pprof with its series labels as an OTLP profiles request (layout 1.10 = 1.11), so that profiles
 * can go to any OTLP backend. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PPROF_TO_PROFILES_H
#define LIB_WIRE_PROFILES_PPROF_TO_PROFILES_H

#include "lib/base/bytes.h"
#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/series.h"

struct pprof_source {
    const struct pprof *pprof; /* open */
    const struct series *series;
    bool by_ingest; /* the label __name__ is the application's name, not the type's */
};

/* Writes one request to out (empty at the call): a resource with service.name (from the label
 * service_name, else the application's name, else absent) and the other labels that are not
 * private (__x__); one Profile for each sample type, in order, with the samples whose value of it
 * is not 0; all tables with index 0 as "not set", and the pprof's strings under their own indices.
 * A sample with a span id of 16 hex digits, not all 0 (labels span_id, else profile_id) gets a
 * Link, with the trace id of 32 hex digits in trace_id, else of 16 zero bytes; its other labels,
 * and ids that are none, become attributes: strings as they are, numbers with their unit. Comments,
 * frames to drop and keep and the URL become pprof.profile.* attributes of each Profile, the build
 * id, symbol flags and is_folded those of the semantic conventions. Unknown fields and
 * default_sample_type have no place there. False: *reason (static text), out is empty. The arena
 * takes some 64 bytes a sample, 40 a table entry, and the tables that are made. */
bool pprof_to_profiles(const struct pprof_source *source, struct arena *arena, struct bytes *out,
                       const char **reason);

#endif
