/* The series labels that Pyroscope gives an OTLP profile. Pure. */
#ifndef LIB_WIRE_PROFILES_PROFILES_SERIES_H
#define LIB_WIRE_PROFILES_PROFILES_SERIES_H

#include "lib/wire/pprof/series.h"
#include "lib/wire/profiles/otlp_profiles.h"

/* Attributes beyond this number are left out; the server accepts 30 labels. */
enum { PROFILES_MAX_LABELS = 256 };

/* The labels that all profiles of one scope share. */
struct profiles_labels {
    struct series_label labels[PROFILES_MAX_LABELS];
    size_t count;
    struct view service; /* unless a sample has its own */
};

/* Reads the attributes of a ResourceProfiles and a ScopeProfiles body that make labels
 * (lib/wire/profiles/otlp_label.h): the first one with each key, the resource's before the scope's.
 * Names that the server sets itself are left out. The service is the label service_name, else
 * service.name, else unknown_service with the name of the executable. Texts are in the request or
 * the arena. False: no room. */
bool profiles_labels_read(struct profiles_labels *labels, const struct otlp_dictionary *dictionary,
                          struct view resource, struct view scope, struct arena *arena);

/* The labels of one profile. service is that of its samples; empty: the shared one. NULL: no
 * memory. */
struct series *profiles_series(const struct profiles_labels *labels, struct view name,
                               struct view service);

/* The name, type and unit of a profile, and how to scale its values. */
struct profiles_naming {
    struct view name;       /* __name__ */
    struct view type, unit; /* of its one sample type */
    int64_t factor;         /* multiplies each value */
};

/* By the server's rules: samples/count with a period of cpu/nanoseconds becomes cpu/nanoseconds in
 * process_cpu, multiplied by the period; off_cpu/nanoseconds without a period becomes off_cpu; else
 * the name is the period's type, or process_cpu if there is none. */
struct profiles_naming profiles_naming(const struct otlp_profile *profile);

#endif
