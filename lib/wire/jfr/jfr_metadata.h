/*
 * The classes that a chunk's metadata declares, and plans to read them. For the wire/jfr*.c files
 * only.
 */
#ifndef LIB_WIRE_JFR_JFR_METADATA_H
#define LIB_WIRE_JFR_JFR_METADATA_H

#include "lib/wire/jfr/jfr_plan.h"

/* Structs and arrays inside one another; what is deeper is refused, and so are circles. */
enum { JFR_MAX_DEPTH = 16, JFR_MAX_STEPS = 1024 };

struct jfr_field {
    struct view name;
    uint64_t type;
    bool constant; /* holds the key of a constant, whatever its type */
    bool array;
};

struct jfr_type {
    struct view name;
    uint64_t id;
    size_t first; /* of its fields */
    size_t count;
};

struct jfr_metadata {
    const uint8_t *at;      /* the metadata event, for a refusal */
    struct jfr_type *types; /* by id, in the reading's scratch */
    size_t type_count;
    struct jfr_field *fields;
    size_t field_count;
    size_t work; /* fields that plans may still go through, so that structs cannot multiply */
};

/* Reads the metadata event at a place inside the chunk. False: refused. */
bool jfr_metadata_open(struct jfr_metadata *metadata, struct jfr_reading *reading,
                       struct view chunk, uint64_t offset);

/* NULL: no such class. The second one goes through them all. */
const struct jfr_type *jfr_metadata_by_id(const struct jfr_metadata *metadata, uint64_t id);
const struct jfr_type *jfr_metadata_by_name(const struct jfr_metadata *metadata, struct view name);

/* A field that a plan keeps where it has the right type. */
struct jfr_wanted {
    const char *name;
    const char *type;
    bool constant;
    enum jfr_slot slot;
};

/* Makes the plan of a class: to its end, or (brief) as far as what is wanted goes. The list of the
 * wanted ends in a name of NULL. False: refused. */
struct jfr_plan_request {
    const struct jfr_type *type;
    const struct jfr_wanted *wanted;
    struct arena *arena; /* for the steps */
    bool brief;
};
bool jfr_metadata_plan(struct jfr_metadata *metadata, struct jfr_reading *reading,
                       const struct jfr_plan_request *request, struct jfr_plan *plan);

#endif
