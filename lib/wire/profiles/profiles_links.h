/* The link table of an OTLP profiles request as label texts. Pure. */
#ifndef LIB_WIRE_PROFILES_PROFILES_LINKS_H
#define LIB_WIRE_PROFILES_PROFILES_LINKS_H

#include "lib/wire/profiles/otlp_profiles.h"

struct profiles_links {
    struct view *spans, *traces; /* per link, in lowercase hex; empty: none, or all zero */
    size_t count;
};

/* Reads the link table of an open dictionary. False: the arena has no room. */
bool profiles_links_open(struct profiles_links *links, const struct otlp_dictionary *dictionary,
                         struct arena *arena);

#endif
