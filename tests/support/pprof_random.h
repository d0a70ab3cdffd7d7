/* Random pprof profiles that every reader accepts, the same ones for a seed. */
#ifndef TESTS_SUPPORT_PPROF_RANDOM_H
#define TESTS_SUPPORT_PPROF_RANDOM_H

#include "lib/base/view.h"

/* Tables of a few entries, samples with labels of every key that spanlink knows, packed and
 * unpacked numbers, fields in any order (strings in theirs), unknown fields at every level. Sample
 * values are positive. Valid until the process ends. */
struct view pprof_random(uint64_t seed);

#endif
