/*
 * Detects the protocol version of an OTLP profiles request. Versions 1.8 to 1.11 share one path and
 * one service name and differ only in field numbers, so it must be detected from the bytes:
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
    PROFILES_LAYOUT_NONE, /* no known version, or a mixture */
    PROFILES_LAYOUT_1_8,
    PROFILES_LAYOUT_1_9,
    PROFILES_LAYOUT_1_10 /* and 1.11 */
};

/* Iterates over the profiles of a request of any version. The request may be any bytes: the
 * iteration stops where the framing is broken. */
struct profiles_walk {
    struct proto_scan request, resource, scope;
};
struct profiles_walk profiles_walk_begin(struct view request);
bool profiles_walk_next(struct profiles_walk *walk, struct proto_field *profile);

/* Detects the layout of a whole request before otlp_check. A request that fits every version is
 * 1.10; so is a malformed one for which otlp_check gives a better error. NONE: *reason (static
 * text). In rare cases the arena needs a byte per attribute of the dictionary. */
enum profiles_layout profiles_layout(struct view request, struct arena *arena, const char **reason);

#endif
