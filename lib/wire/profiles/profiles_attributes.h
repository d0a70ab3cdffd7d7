/*
 * The attribute table of an OTLP profiles request, prepared for conversion to pprof: the meaning of
 * each entry, and its text as a label. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_ATTRIBUTES_H
#define LIB_WIRE_PROFILES_PROFILES_ATTRIBUTES_H

#include "lib/wire/profiles/otlp_profiles.h"
#include "lib/wire/proto/proto_numbers.h"

/* Kinds of attributes, by key; those of the semantic conventions for pprof have their own. */
enum profiles_attribute_kind {
    ATTRIBUTE_LABEL, /* any other key */
    ATTRIBUTE_SERVICE_NAME,
    ATTRIBUTE_SPAN_ID, /* span_id or profile_id */
    ATTRIBUTE_TRACE_ID,
    ATTRIBUTE_BUILD_ID,
    ATTRIBUTE_IS_FOLDED,
    ATTRIBUTE_HAS_FUNCTIONS, /* these four are in the order of pprof's Mapping */
    ATTRIBUTE_HAS_FILENAMES,
    ATTRIBUTE_HAS_LINE_NUMBERS,
    ATTRIBUTE_HAS_INLINE_FRAMES,
    ATTRIBUTE_DROP_FRAMES,
    ATTRIBUTE_KEEP_FRAMES,
    ATTRIBUTE_COMMENT,
    ATTRIBUTE_DOC_URL
};

struct profiles_attribute {
    enum profiles_attribute_kind kind;
    uint32_t service; /* service.name: its number, from 1; equal names share one */
    uint64_t key;     /* index into the string table */
    struct view text; /* empty: makes no label */
    bool flag;        /* the value is the bool true */
};

struct profiles_attributes {
    const struct otlp_dictionary *dictionary;
    struct profiles_attribute *of;
    size_t count;
    struct view *services; /* by number; [0] is empty */
    uint32_t service_count;
};

/* Reads the attribute table of an open dictionary. False: the arena has no room. */
bool profiles_attributes_open(struct profiles_attributes *attributes,
                              const struct otlp_dictionary *dictionary, struct arena *arena);

/* The attribute at an index; for an index outside the table that of index 0, which means none. */
const struct profiles_attribute *profiles_attribute(const struct profiles_attributes *attributes,
                                                    uint64_t index);

/* Iterates over the attributes that field `number` of a message refers to. */
struct profiles_attribute_list {
    const struct profiles_attributes *all;
    uint32_t number;
    struct proto_scan scan;
    struct proto_numbers numbers;
    uint64_t index; /* of the last attribute returned */
};
struct profiles_attribute_list
profiles_attribute_list_begin(const struct profiles_attributes *attributes, struct view message,
                              uint32_t number);
/* NULL: no more. */
const struct profiles_attribute *profiles_attribute_list_next(struct profiles_attribute_list *list);

/* The attribute key of a kind; NULL: ATTRIBUTE_LABEL. */
const char *profiles_attribute_name(enum profiles_attribute_kind kind);

#endif
