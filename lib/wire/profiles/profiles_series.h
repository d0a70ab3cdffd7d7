/*
 * The series labels under which Pyroscope files an OTLP profile. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_SERIES_H
#define LIB_WIRE_PROFILES_PROFILES_SERIES_H

#include "lib/wire/pprof/series.h"
#include "lib/wire/profiles/otlp_profiles.h"

/* Past so many, attributes are left out; the server takes 30 labels. */
enum { PROFILES_MAX_LABELS = 256 };

/* What the profiles of one scope have in common. */
struct profiles_labels {
    struct series_label labels[PROFILES_MAX_LABELS];
    size_t count;
    struct view service; /* where no sample says otherwise */
};

/* Reads the attributes of a ResourceProfiles and a ScopeProfiles body: each that makes a label
 * (lib/wire/profiles/otlp_label.h), the first of a key, those of the resource first. The names that
 * the server sets itself are left out. The service is the label service_name, else service.name,
 * else unknown_service with the name of the executable. Texts lie in the request or the arena.
 * False: no room. */
bool profiles_labels_read(struct profiles_labels *labels, const struct otlp_dictionary *dictionary,
                          struct view resource, struct view scope, struct arena *arena);

/* The labels of one profile. service is that of its samples; empty: the one they have in common.
 * NULL: no memory. */
struct series *profiles_series(const struct profiles_labels *labels, struct view name,
                               struct view service);

/* How values are counted, and what they are called then. */
struct profiles_naming {
    struct view name;       /* __name__ */
    struct view type, unit; /* of the one sample type */
    int64_t factor;         /* of each value */
};

/* By the server's rules: samples/count with a period of cpu/nanoseconds is cpu/nanoseconds, times
 * the period, in process_cpu; off_cpu/nanoseconds without a period is off_cpu; else the period's
 * type gives the name, or process_cpu where there is none. */
struct profiles_naming profiles_naming(const struct otlp_profile *profile);

#endif
