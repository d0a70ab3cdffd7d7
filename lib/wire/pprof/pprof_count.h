/* How many samples of the profiler a pprof's records are, and how long. Pure. */
#ifndef LIB_WIRE_PPROF_PPROF_COUNT_H
#define LIB_WIRE_PPROF_PPROF_COUNT_H

#include "lib/wire/pprof/pprof.h"

/* No sample is longer, ns: 78 hours. */
#define PPROF_TIME_MAX ((UINT64_C(1) << 48) - 1)

/* The nanoseconds of a unit of time, such as "milliseconds"; 0: it is none. */
uint64_t pprof_time_unit(struct view unit);

/* The column of the values of a type that are times, and the nanoseconds of their unit. -1: none;
 * the unit is then 0. */
int pprof_time_column(const struct pprof *pprof, struct view type, uint64_t *unit_ns);

/* Go states the number as samples/count. Python's profiler states CPU time only, of a period each;
 * without a period of time, or with one below 10 us, each record counts as one. */
struct pprof_count {
    int column;     /* of the number, or of the time; -1: none */
    int64_t period; /* of that time, in its unit; 0: the column is the number */
};

struct pprof_count pprof_count_of(const struct pprof *pprof);

/* The samples that a record of that profile is: 0 where it states so, or less. */
static inline uint64_t pprof_count_samples(const struct pprof_count *count,
                                           const struct pprof_sample *sample)
{
    int64_t value = count->column < 0 ? 1 : sample->values[count->column];
    int64_t period = count->period;
    if (period)
        value = value > period ? value / period + (value % period >= period - period / 2) : 1;
    return value > 0 ? (uint64_t)value : 0;
}

#endif
