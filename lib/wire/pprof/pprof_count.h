/* How many samples of the profiler a pprof's records are. Pure. */
#ifndef LIB_WIRE_PPROF_PPROF_COUNT_H
#define LIB_WIRE_PPROF_PPROF_COUNT_H

#include "lib/wire/pprof/pprof.h"

/* Go states the number as samples/count. Python's profiler states CPU time only, of a period each;
 * without a period of time, each record counts as one. */
struct pprof_count {
    int column;     /* of the number, or of the time; -1: none */
    int64_t period; /* of that time, in its unit; 0: the column is the number */
};

/* The nanoseconds of a unit of time by its name in a pprof, such as "milliseconds"; 0: it is none.
 */
uint64_t pprof_time_unit(struct view unit);

struct pprof_count pprof_count_of(const struct pprof *pprof);

/* The samples that a record of that profile is: 0 where it states so, or less. */
static inline uint64_t pprof_count_samples(const struct pprof_count *count,
                                           const struct pprof_sample *sample)
{
    int64_t value = count->column < 0 ? 1 : sample->values[count->column];
    if (count->period)
        value = value > count->period ? (value - count->period / 2) / count->period + 1 : 1;
    return value > 0 ? (uint64_t)value : 0;
}

#endif
