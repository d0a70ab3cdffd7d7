/*
 * Builds pprofs from the tables of an OTLP dictionary: entries are added as samples refer to them.
 * One builder makes one pprof after the other; starting the next costs time proportional to what
 * the previous one used, rather than to the dictionary. Pure. For
 * lib/wire/profiles/profiles_to_pprof.c only.
 */
#ifndef LIB_WIRE_PROFILES_PPROF_MAKE_H
#define LIB_WIRE_PROFILES_PPROF_MAKE_H

#include "lib/wire/profiles/profiles_attributes.h"
#include "lib/wire/profiles/profiles_links.h"
#include "lib/wire/proto/proto_write.h"

struct pprof_mapping {
    uint32_t index; /* in the dictionary */
    bool symbolized, functions, filenames, lines, inlined;
};

struct pprof_make {
    const struct profiles_attributes *attributes;
    const struct otlp_dictionary *dictionary;
    struct arena *arena;
    struct proto_write write;
    bool failed; /* the arena has no room */

    /* For each entry of the dictionary its index or id in the current pprof; 0: not in it. */
    uint32_t *strings, *values, *spans, *traces, *functions, *locations, *mappings;
    struct profiles_links links;
    uint32_t span_key, trace_key;

    uint32_t **touched; /* the non-zero ones, for clearing */
    size_t touched_count, touched_room;
    struct view *texts; /* the strings after "" */
    size_t text_count, text_room;
    struct pprof_mapping *made_mappings;
    size_t mapping_count, mapping_room;
    uint32_t function_count, location_count;
    size_t work; /* bytes of stacks and tables read so far, over all pprofs */
};

/* Takes 24 bytes per dictionary entry and 100 per link from the arena. False: no room. */
bool pprof_make_open(struct pprof_make *make, const struct profiles_attributes *attributes,
                     struct arena *arena);

/* Starts a pprof in out. */
void pprof_make_begin(struct pprof_make *make, struct bytes *out);

/* Returns the index of a string, adding it if needed; *id caches it (NULL: not cached). */
uint32_t pprof_make_text(struct pprof_make *make, uint32_t *id, struct view text);

/* A sample with its stack, value and labels, from an OTLP sample. */
struct pprof_make_sample {
    struct view body; /* of the OTLP Sample */
    uint64_t stack, link;
    int64_t value;
    bool trace_ids; /* add trace_id labels */
};
void pprof_make_sample(struct pprof_make *make, const struct pprof_make_sample *sample);

/* Writes the tables, which come last. NULL: success; else why the pprof is incomplete (static
 * text). */
const char *pprof_make_end(struct pprof_make *make);

#endif
