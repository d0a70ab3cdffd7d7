/*
 * The classes that a chunk's metadata declares, and plans to read them. For lib/wire/jfr/jfr*.c
 * only.
 */
#ifndef LIB_WIRE_JFR_JFR_METADATA_H
#define LIB_WIRE_JFR_JFR_METADATA_H

#include "lib/wire/jfr/jfr_plan.h"

/* Limits on nested structs and arrays, and on a plan's steps; deeper nesting and cycles are
 * refused. */
enum { JFR_MAX_DEPTH = 16, JFR_MAX_STEPS = 1024 };

struct jfr_field {
    struct view name;
    uint64_t type;
    bool constant; /* holds a constant's key, whatever the type */
    bool array;
};

struct jfr_type {
    struct view name;
    uint64_t id;
    size_t first; /* index of its first field */
    size_t count;
};

struct jfr_metadata {
    const uint8_t *at;      /* the metadata event, for reporting faults */
    struct jfr_type *types; /* sorted by id; in the reading's scratch arena */
    size_t type_count;
    struct jfr_field *fields;
    size_t field_count;
    size_t work; /* fields that plans may still visit; bounds the expansion of nested structs */
};

/* Reads the metadata event at an offset in the chunk. False: refused. */
bool jfr_metadata_open(struct jfr_metadata *metadata, struct jfr_reading *reading,
                       struct view chunk, uint64_t offset);

/* NULL: no such class. The lookup by name is linear. */
const struct jfr_type *jfr_metadata_by_id(const struct jfr_metadata *metadata, uint64_t id);
const struct jfr_type *jfr_metadata_by_name(const struct jfr_metadata *metadata, struct view name);

/* A field that a plan keeps if it has the right type. */
struct jfr_wanted {
    const char *name;
    const char *type;
    bool constant;
    enum jfr_slot slot;
};

/* A request to make the plan of a class: for all of it, or (brief) up to the last wanted field. The
 * list `wanted` ends with a NULL name. jfr_metadata_plan returns false if the class is refused. */
struct jfr_plan_request {
    const struct jfr_type *type;
    const struct jfr_wanted *wanted;
    struct arena *arena; /* for the steps */
    bool brief;
};
bool jfr_metadata_plan(struct jfr_metadata *metadata, struct jfr_reading *reading,
                       const struct jfr_plan_request *request, struct jfr_plan *plan);

#endif
