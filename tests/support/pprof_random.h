/* Random pprof profiles that every reader takes, always the same one for a seed. */
#ifndef TESTS_SUPPORT_PPROF_RANDOM_H
#define TESTS_SUPPORT_PPROF_RANDOM_H

#include "lib/base/view.h"

/* Tables of a few entries, samples with labels of every key that spanlink knows, numbers packed or
 * not, fields in any order (the strings in theirs), unknown fields at every level. The values of
 * samples are positive. Lives until the process ends. */
struct view pprof_random(uint64_t seed);

#endif
