/*
 * Converts OTLP profiles requests of protocol 1.8 and 1.9 to the layout of 1.10, so that the rest
 * of spanlink only handles one layout. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_UPGRADE_H
#define LIB_WIRE_PROFILES_PROFILES_UPGRADE_H

#include "lib/base/arena.h"
#include "lib/base/bytes.h"

enum profiles_upgrade {
    PROFILES_CURRENT,  /* nothing to do: the layout of 1.10, or bytes that otlp_check will refuse */
    PROFILES_UPGRADED, /* out holds the request in the layout of 1.10 */
    PROFILES_REFUSED   /* *reason says why */
};

/* Detects the layout of a request (profiles_layout) before otlp_check, and converts old ones; the
 * result must pass otlp_check like any other request. All fields keep their content, unknown ones
 * too, except two that only 1.8 has: comments become the attribute pprof.profile.comment, and a
 * ValueType's aggregation temporality is dropped. out must be empty, and stays empty unless
 * UPGRADED. The arena holds what the detection needs, and if there are comments, 16 bytes per
 * dictionary string. On failure *reason is static text. */
enum profiles_upgrade profiles_upgrade(struct view request, struct arena *arena, struct bytes *out,
                                       const char **reason);

#endif
