/*
 * OTLP profiles requests of protocol 1.8 and 1.9 brought into the layout of 1.10, so that all the
 * rest of spanlink knows one layout. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_UPGRADE_H
#define LIB_WIRE_PROFILES_PROFILES_UPGRADE_H

#include "lib/base/arena.h"
#include "lib/base/bytes.h"

enum profiles_upgrade {
    PROFILES_CURRENT,  /* nothing to do: the layout of 1.10, or bytes that the check will refuse */
    PROFILES_UPGRADED, /* out holds the request in the layout of 1.10 */
    PROFILES_REFUSED   /* *reason says why */
};

/* Judges the bytes of a request (profiles_layout) before the check, and rewrites them where
 * they are old; what comes out has to pass the check like any other request. All fields keep their
 * content, unknown ones too, but for two that 1.8 alone had: comments become the attribute
 * pprof.profile.comment, and the aggregation temporality of a ValueType goes. out is empty at the
 * call and on every answer but UPGRADED. The arena holds what the judging needs, and with comments
 * 16 bytes a string of the dictionary; on failure *reason is static text. */
enum profiles_upgrade profiles_upgrade(struct view request, struct arena *arena, struct bytes *out,
                                       const char **reason);

#endif
