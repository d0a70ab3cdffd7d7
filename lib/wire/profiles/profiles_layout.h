/*
 * Which version of the protocol an OTLP profiles request was written in. Versions 1.8 to 1.11 share
 * one path and one service name and differ in field numbers only, so that the bytes have to tell:
 *
 *   Sample    1.8, 1.9    values = 2, attribute_indices = 3, link_index = 4
 *             from 1.10   attribute_indices = 2, link_index = 3, values = 4
 *   Profile   1.8         comment_strindices = 7, then profile_id = 8 ... attribute_indices = 12
 *             from 1.9    profile_id = 7 ... attribute_indices = 11
 *   ValueType 1.8         aggregation_temporality = 3
 *
 * Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_LAYOUT_H
#define LIB_WIRE_PROFILES_PROFILES_LAYOUT_H

#include "lib/base/arena.h"
#include "lib/wire/proto/proto_scan.h"

enum profiles_layout {
    PROFILES_LAYOUT_NONE, /* no version that is known, or several */
    PROFILES_LAYOUT_1_8,
    PROFILES_LAYOUT_1_9,
    PROFILES_LAYOUT_1_10 /* and 1.11 */
};

/* Where the entries of a request stand in the bytes, whatever the version. The request may be any
 * bytes: the walk goes as far as its framing holds. */
struct profiles_walk {
    struct proto_scan request, resource, scope;
};
struct profiles_walk profiles_walk_begin(struct view request);
bool profiles_walk_next(struct profiles_walk *walk, struct proto_field *profile);

/* Judges a whole request before the check. What no reading contradicts and no difference
 * shows is 1.10; so is what is malformed in a way that the check names better. NONE: *reason
 * (static text) says why. The arena holds a byte for each attribute of the dictionary, seldom. */
enum profiles_layout profiles_layout(struct view request, struct arena *arena, const char **reason);

#endif
