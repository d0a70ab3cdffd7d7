/*
 * OTLP profiles (the layout of opentelemetry-proto 1.10 and 1.11) in wire format: the samples'
 * links, labels, values and times, for the span index. Pure.
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
        struct view *entries; /* the strings, or the entries' bodies */
        size_t count;
    } of[OTLP_TABLES];
    struct view *span_ids; /* per attribute: its text if it is span_id or profile_id */
};

struct otlp_profile {
    struct view body;
    struct view type, unit; /* of sample_type; empty: not set */
    struct view period_type, period_unit;
    int64_t period;
    uint64_t time_ns;
    uint64_t duration_ns;
    uint32_t sample_count;
};

/* What a Pyroscope server shows of a sample (lib/wire/pprof/pprof_frames.h). */
enum otlp_frames {
    OTLP_FRAMES_NONE,      /* nothing */
    OTLP_FRAMES_ADDRESSES, /* if it symbolizes: no frame has a function, some have an address */
    OTLP_FRAMES_NAMED
};

struct otlp_profile_sample {
    struct view span_id_bytes; /* 8 bytes from the link; empty: none, or all zero */
    struct view span_id_text;  /* the string attribute span_id or profile_id; data NULL: none */
    int64_t value_sum;         /* sum of the values; without values, the number of timestamps */
    uint64_t count;            /* number of timestamps, else of values */
    enum otlp_frames frames;
};

/* Indexes the dictionary of a checked request; the request is borrowed, the index is in the arena
 * (16 bytes per entry, 32 per attribute). False: an index outside its table, no room, or samples in
 * the layout of protocol 1.8 or 1.9 (field 3 of a Sample is LEN, or field 4 a varint although its
 * lists are packed); *reason says which (static text; no room: otlp_profiles_too_large). Index 0
 * means "not set" and is legal even with an empty table. */
bool otlp_dictionary_open(struct otlp_dictionary *dictionary, struct view request,
                          struct arena *arena, const char **reason);

extern const char otlp_profiles_too_large[];

/* The string that field `number` of a message refers to, the last one if repeated; empty for index
 * 0 and indices outside the table. */
struct view otlp_dictionary_string(const struct otlp_dictionary *dictionary, struct view message,
                                   uint32_t number);

/* The string value of a KeyValue or KeyValueAndUnit body, inline or by reference. Data NULL: none,
 * or another type. */
struct view otlp_dictionary_value(const struct otlp_dictionary *dictionary, struct view body);

void otlp_profile_read(const struct otlp_dictionary *dictionary, struct view body,
                       struct otlp_profile *profile);

/* Iterates over samples: start with scan = proto_scan_begin(profile->body). */
bool otlp_profile_next_sample(const struct otlp_dictionary *dictionary,
                              const struct otlp_profile *profile, struct proto_scan *scan,
                              struct otlp_profile_sample *sample);

/* The string value of a resource attribute of a ResourceProfiles entry, with references into the
 * dictionary resolved (key_strindex 0 means the inline key). Data NULL: absent, or not a string. */
struct view otlp_profiles_resource_attribute(const struct otlp_dictionary *dictionary,
                                             struct view resource_entry, struct view key);

#endif
