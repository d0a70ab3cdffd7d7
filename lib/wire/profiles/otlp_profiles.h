/*
 * OTLP profiles (opentelemetry-proto 1.10 = 1.11 layout) in wire form: the samples' links, labels,
 * values and times, for the span index. Pure.
 */
#ifndef LIB_WIRE_PROFILES_OTLP_PROFILES_H
#define LIB_WIRE_PROFILES_OTLP_PROFILES_H

#include "lib/base/arena.h"
#include "lib/wire/otlp/otlp.h"

/* The tables of a ProfilesDictionary, named as in the protocol. */
enum otlp_table {
    OTLP_TABLE_MAPPING,
    OTLP_TABLE_LOCATION,
    OTLP_TABLE_FUNCTION,
    OTLP_TABLE_LINK,
    OTLP_TABLE_STRING,
    OTLP_TABLE_ATTRIBUTE,
    OTLP_TABLE_STACK,
    OTLP_TABLES
};

struct otlp_dictionary {
    struct {
        struct view *entries; /* strings, or bodies of the entries */
        size_t count;
    } of[OTLP_TABLES];
    struct view *span_ids; /* per attribute: its text where it is span_id or profile_id */
};

struct otlp_profile {
    struct view body;
    struct view type, unit; /* of sample_type; empty where not set */
    struct view period_type, period_unit;
    int64_t period;
    uint64_t time_ns;
    uint64_t duration_ns;
    uint32_t sample_count;
};

struct otlp_profile_sample {
    struct view span_id_bytes; /* 8 bytes from the link; empty: none, or all zero */
    struct view span_id_text;  /* string attribute span_id or profile_id; data NULL: none */
    int64_t value_sum;         /* of values; without values, the number of timestamps */
    uint64_t count;            /* timestamps, else values */
    bool drawn;                /* any frame exists and has a line: Pyroscope draws no other */
};

/* Indexes the dictionary of a checked request; the request is borrowed, the index lives in the
 * arena (16 bytes an entry, 32 an attribute). False: an index refers outside its table, or no
 * room; *reason says which (static text). A request whose samples show the layout of protocol 1.8
 * or 1.9 (field 3 of a Sample LEN, or field 4 a varint where its lists are packed) is refused with
 * a reason. Index 0 means "not set" and is legal with an empty table too. */
bool otlp_dictionary_open(struct otlp_dictionary *dictionary, struct view request,
                          struct arena *arena, const char **reason);

/* The string that field `number` of a message names, the last one if it stands there twice; empty
 * for index 0 and for one outside the table. */
struct view otlp_dictionary_string(const struct otlp_dictionary *dictionary, struct view message,
                                   uint32_t number);

/* The string value of a KeyValue or KeyValueAndUnit body, inline or by reference. Data NULL: none,
 * or another type. */
struct view otlp_dictionary_value(const struct otlp_dictionary *dictionary, struct view body);

void otlp_profile_read(const struct otlp_dictionary *dictionary, struct view body,
                       struct otlp_profile *profile);

/* Walks samples: start with scan = proto_scan_begin(profile->body). */
bool otlp_profile_next_sample(const struct otlp_dictionary *dictionary,
                              const struct otlp_profile *profile, struct proto_scan *scan,
                              struct otlp_profile_sample *sample);

/* String value of an attribute of a ResourceProfiles entry's resource, references into the
 * dictionary resolved (key_strindex 0 means the inline key). Data NULL: absent, or no string. */
struct view otlp_profiles_resource_attribute(const struct otlp_dictionary *dictionary,
                                             struct view resource_entry, struct view key);

#endif
