/* Which fields of the messages of a profiles request are indices into which table of its dictionary
 * (opentelemetry-proto 1.11 profiles.proto). */
#ifndef LIB_WIRE_PROFILES_OTLP_REFERENCES_H
#define LIB_WIRE_PROFILES_OTLP_REFERENCES_H

#include "lib/wire/profiles/otlp_profiles.h"

/* For each field, the table that its numbers are indices into, plus one; 0: none. */
struct otlp_references {
    uint8_t to[12];
};

extern const struct otlp_references otlp_entry_references[OTLP_TABLES];
extern const struct otlp_references otlp_line_references;
extern const struct otlp_references otlp_value_type_references;
extern const struct otlp_references otlp_profile_references;
extern const struct otlp_references otlp_sample_references;

#endif
