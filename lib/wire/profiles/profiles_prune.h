/*
 * Removes unused entries from the dictionary of a profiles request: a part of a split request uses
 * only few. Pure.
 */
#ifndef LIB_WIRE_PROFILES_PROFILES_PRUNE_H
#define LIB_WIRE_PROFILES_PROFILES_PRUNE_H

#include "lib/wire/proto/splice.h"

/* Empties each dictionary entry that no known field refers to, so that the others keep their index,
 * through the splice, which must be at the start of a checked request. False: the arena has no room
 * (19 bytes per entry, and an edit for each emptied one). */
bool profiles_prune(struct view request, struct splice *splice);

#endif
