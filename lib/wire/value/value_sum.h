/* Sums of values, by which they can be looked up: the same for what value_equal calls equal, but
 * that 0 and -0 differ, and for nothing else. Pure. */
#ifndef LIB_WIRE_VALUE_VALUE_SUM_H
#define LIB_WIRE_VALUE_VALUE_SUM_H

#include "lib/base/siphash.h"
#include "lib/wire/value/value.h"

/* Of an AnyValue's body. NaNs with the same bits are the same. */
struct siphash_sum value_sum(const struct siphash_key *key, struct view any);

/* Of the key of an attribute, and of one with that key's sum. */
struct siphash_sum value_key_sum(const struct siphash_key *key, struct view name);
struct siphash_sum value_attribute_sum(const struct siphash_key *key, struct siphash_sum name,
                                       struct view any);

#endif
