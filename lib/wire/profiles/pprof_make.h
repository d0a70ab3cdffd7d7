/*
 * A pprof made from the tables of an OTLP dictionary: entries get into it as samples name them. One
 * maker makes one pprof after the other; what it costs to begin anew is what the last one used, not
 * the size of the dictionary. Pure. For lib/wire/profiles/profiles_to_pprof.c only.
 */
#ifndef LIB_WIRE_PROFILES_PPROF_MAKE_H
#define LIB_WIRE_PROFILES_PPROF_MAKE_H

#include "lib/wire/profiles/profiles_attributes.h"
#include "lib/wire/profiles/profiles_links.h"
#include "lib/wire/proto/proto_write.h"

struct pprof_mapping {
    uint32_t index; /* of the dictionary */
    bool symbolized, functions, filenames, lines, inlined;
};

struct pprof_make {
    const struct profiles_attributes *attributes;
    const struct otlp_dictionary *dictionary;
    struct arena *arena;
    struct proto_write write;
    bool failed; /* the arena has no room */

    /* Index or id in the pprof at hand of each entry of the dictionary; 0: it is not in there. */
    uint32_t *strings, *values, *spans, *traces, *functions, *locations, *mappings;
    struct profiles_links links;
    uint32_t span_key, trace_key;

    uint32_t **touched; /* those that are set */
    size_t touched_count, touched_room;
    struct view *texts; /* the strings behind "" */
    size_t text_count, text_room;
    struct pprof_mapping *made_mappings;
    size_t mapping_count, mapping_room;
    uint32_t function_count, location_count;
    size_t work; /* bytes of stacks and tables gone through so far, in all */
};

/* 24 bytes an entry of the dictionary, 100 a link. False: the arena has no room. */
bool pprof_make_open(struct pprof_make *make, const struct profiles_attributes *attributes,
                     struct arena *arena);

/* Begins a pprof in out. */
void pprof_make_begin(struct pprof_make *make, struct bytes *out);

/* The index of a text; *id keeps it for the next time (NULL: no one asks again). */
uint32_t pprof_make_text(struct pprof_make *make, uint32_t *id, struct view text);

/* A string of the dictionary. */
uint32_t pprof_make_string(struct pprof_make *make, uint64_t index);

/* Writes a sample with this stack, value and the labels of these fields of an OTLP sample. */
struct pprof_make_sample {
    struct view body; /* of the OTLP Sample */
    uint64_t stack, link;
    int64_t value;
    bool trace_ids; /* whether trace_id labels are wanted */
};
void pprof_make_sample(struct pprof_make *make, const struct pprof_make_sample *sample);

/* Writes the tables that come last. NULL: the pprof is whole; else why not (static text). */
const char *pprof_make_end(struct pprof_make *make);

#endif
