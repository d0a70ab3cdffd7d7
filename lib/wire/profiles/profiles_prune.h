/*
 * A profiles request without what its dictionary holds for others: a part of a request that was
 * split needs little of it. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_PRUNE_H
#define LIB_WIRE_PROFILES_PROFILES_PRUNE_H

#include "lib/wire/proto/splice.h"

/* Empties through the splice, which stands at the start of a checked request, each entry of the
 * dictionary that no field known here refers to; the others keep their index. False: the arena has
 * no room (19 bytes an entry, and what an edit takes for each that is emptied). */
bool profiles_prune(struct view request, struct splice *splice);

#endif
