/*
 * The dictionary of a request made from a pprof. The tables of functions, locations and mappings
 * follow the pprof's own order from index 1; those of stacks, links and attributes grow as samples
 * name their entries. Pure. For lib/wire/profiles/pprof_to_profiles.c only.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_DICTIONARY_H
#define LIB_WIRE_PROFILES_PROFILES_DICTIONARY_H

#include "lib/wire/pprof/pprof.h"
#include "lib/wire/profiles/profiles_attributes.h"
#include "lib/wire/proto/proto_write.h"
#include "lib/wire/proto/view_set.h"

struct profiles_id {
    uint64_t id;
    uint32_t index;
};

struct profiles_ids {
    struct profiles_id *of; /* by id; of equal ones, the first in the profile leads */
    size_t count;
};

struct profiles_dictionary {
    const struct pprof *pprof;
    struct arena *arena;
    struct profiles_ids mappings, locations, functions;
    struct view_set stacks, links, attributes; /* contents of their entries; the first is empty */
    struct view_set keys;                      /* strings that the pprof does not have */
    struct bytes scratch;                      /* one entry on its way into a table */
    const char *fault;                         /* sticks: why the dictionary is not whole */
};

/* False: no room. Released in both cases. */
bool profiles_dictionary_open(struct profiles_dictionary *dictionary, const struct pprof *pprof,
                              struct arena *arena, const struct bytes *limits);
void profiles_dictionary_release(struct profiles_dictionary *dictionary);

/* Indices of what a sample has; 0 on failure. */
uint32_t profiles_dictionary_stack(struct profiles_dictionary *dictionary, struct view sample);
uint32_t profiles_dictionary_link(struct profiles_dictionary *dictionary, const uint8_t trace[16],
                                  const uint8_t span[8]);

/* Attributes: of a label of the pprof, key and text being indices of its strings; of the same with
 * a number; and those of the semantic conventions. */
uint32_t profiles_dictionary_text(struct profiles_dictionary *dictionary, uint64_t key,
                                  uint64_t text);
uint32_t profiles_dictionary_number(struct profiles_dictionary *dictionary, uint64_t key,
                                    int64_t number, uint64_t unit);
uint32_t profiles_dictionary_named(struct profiles_dictionary *dictionary,
                                   enum profiles_attribute_kind kind, struct view text);
uint32_t profiles_dictionary_flag(struct profiles_dictionary *dictionary,
                                  enum profiles_attribute_kind kind, bool flag);
/* A list of strings, by their indices in the pprof, packed or not. */
uint32_t profiles_dictionary_comments(struct profiles_dictionary *dictionary);

/* Writes the whole dictionary as field 2 of a request. */
void profiles_dictionary_write(struct profiles_dictionary *dictionary, struct proto_write *write);

#endif
