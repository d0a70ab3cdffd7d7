/* A value of the configuration as one of an attribute. */
#ifndef LIB_ATTRIBUTES_GIVEN_VALUE_H
#define LIB_ATTRIBUTES_GIVEN_VALUE_H

#include "lib/settings/key.h"
#include "lib/wire/value/attributes.h"

/* Borrows texts; lists and maps are made in the arena. Of kind 0 if no value was given. */
struct value given_value(const struct key_value *given, struct arena *arena);

#endif
