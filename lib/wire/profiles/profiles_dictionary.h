/*
 * Builds the dictionary of a request from a pprof. The tables of functions, locations and mappings
 * keep the pprof's order, from index 1; those of stacks, links and attributes grow as samples refer
 * to entries. Pure. For lib/wire/profiles/pprof_to_profiles.c only.
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
    struct profiles_id *of; /* sorted by id; equal ids in the profile's order */
    size_t count;
};

struct profiles_dictionary {
    const struct pprof *pprof;
    struct arena *arena;
    struct profiles_ids mappings, locations, functions;
    struct view_set stacks, links, attributes; /* encoded entries; the first is empty */
    struct view_set keys;                      /* strings not in the pprof */
    struct bytes scratch;                      /* the entry being encoded */
    const char *fault;                         /* first failure, sticks (static text); NULL: none */
};

/* False: no room. Release it in both cases. */
bool profiles_dictionary_open(struct profiles_dictionary *dictionary, const struct pprof *pprof,
                              struct arena *arena, const struct bytes *limits);
void profiles_dictionary_release(struct profiles_dictionary *dictionary);

/* Return the index of a sample's stack or link; 0 on failure. */
uint32_t profiles_dictionary_stack(struct profiles_dictionary *dictionary, struct view sample);
uint32_t profiles_dictionary_link(struct profiles_dictionary *dictionary, const uint8_t trace[16],
                                  const uint8_t span[8]);

/* Return the index of an attribute: of a pprof label with a string or a number (key, text and unit
 * are indices of its strings), or one of the semantic conventions. */
uint32_t profiles_dictionary_text(struct profiles_dictionary *dictionary, uint64_t key,
                                  uint64_t text);
uint32_t profiles_dictionary_number(struct profiles_dictionary *dictionary, uint64_t key,
                                    int64_t number, uint64_t unit);
uint32_t profiles_dictionary_named(struct profiles_dictionary *dictionary,
                                   enum profiles_attribute_kind kind, struct view text);
/* The attribute with the pprof's comments, a list of strings. */
uint32_t profiles_dictionary_comments(struct profiles_dictionary *dictionary);

/* Writes the dictionary as field 2 of a request. */
void profiles_dictionary_write(struct profiles_dictionary *dictionary, struct proto_write *write);

#endif
